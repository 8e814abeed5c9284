# shellcheck shell=sh disable=SC2034 # each script takes what it needs
# What launcher and scheduler say of a job and of this rank of it: for scripts to source, and the
# one place that knows the names of their variables. A scheduler is a word in each line that it has
# one for.
#
#   job, job_step, job_restarts               numbers, 0 where nothing says them
#   job_nodes                                 as the scheduler writes them; empty without one
#   job_node                                  this node as the scheduler calls it, likewise
#   job_rank, job_local_rank, job_ranks       empty where nothing says them

job=${SLURM_JOB_ID:-${PBS_JOBID:-${LSB_JOBID:-${FABRICHECK_JOB:-}}}}
# Flux writes letters and digits; of their checksum the ports of a pair are made.
if [ -z "$job" ] && [ -n "${FLUX_JOB_ID:-}" ]; then
    job=$(printf %s "$FLUX_JOB_ID" | cksum)
fi
# Of a number such as 17.server or 17[3], which PBS gives, the first digits.
job=${job%%[!0-9]*}
job=${job:-0}
job_step=${SLURM_STEP_ID:-0}
job_restarts=${SLURM_RESTART_COUNT:-0}
job_nodes=${SLURM_JOB_NODELIST:-${FABRICHECK_NODES:-}}
job_node=${SLURMD_NODENAME:-${FABRICHECK_NODE:-}}
# A launcher's come first: below mpirun, the scheduler's are the same in all ranks. Beside Open MPI's,
# PMIx', Hydra's and Slurm's those of flux run, jsrun (JSM), PALS and each_host.sh.
job_rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${FLUX_TASK_RANK:-${JSM_NAMESPACE_RANK:-${PALS_RANKID:-${SLURM_PROCID:-${FABRICHECK_RANK:-}}}}}}}}
job_local_rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${FLUX_TASK_LOCAL_ID:-${JSM_NAMESPACE_LOCAL_RANK:-${PALS_LOCAL_RANKID:-${SLURM_LOCALID:-${FABRICHECK_LOCAL_RANK:-}}}}}}}
job_ranks=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${FLUX_JOB_SIZE:-${JSM_NAMESPACE_SIZE:-${SLURM_NTASKS:-${FABRICHECK_RANKS:-}}}}}}

# The hosts of the job in the scheduler's order, one a line; this host without a scheduler.
job_hosts() {
    if [ -n "${FABRICHECK_NODES:-}" ]; then
        echo "$FABRICHECK_NODES" | tr , '\n'
    elif [ -n "$job_nodes" ]; then
        scontrol show hostnames "$job_nodes"
    elif [ -n "${PBS_NODEFILE:-${LSB_DJOB_HOSTFILE:-}}" ]; then
        awk '!seen[$0]++' "${PBS_NODEFILE:-$LSB_DJOB_HOSTFILE}"
    elif [ -n "${FLUX_JOB_ID:-}" ]; then
        flux hostlist --expand --delimiter='
' local
    else
        hostname
    fi
}
