#!/bin/bash
# Usage: rank.sh MBIT PROGRAM [OPTIONS]
# One rank of allreduce_lab: the job's Redis is the place where it meets the others (redis.sh). With
# MBIT above 0 it runs behind a link of that rate (shaped_link.sh).
set -euo pipefail
rate=$1; shift
if [[ ! -f redis.env ]]; then
  cat redis.err >&2 2>/dev/null || echo "rank.sh: expected redis.env, found none: no Redis runs" >&2
  exit 2
fi
host='' port=''
# shellcheck disable=SC1091
. ./redis.env
program=$1; shift
# Those of an mpirun come first: below it, Slurm's are the same in all ranks.
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-}}}}
if [[ -z $size || -z $rank ]]; then
  echo "rank.sh: expected rank and size of Open MPI, PMI or Slurm in the environment, found none: use another launcher" >&2
  exit 2
fi
set -- "$program" --size "$size" --rank "$rank" \
  --redis-host "$host" --redis-port "$port" --prefix "${SLURM_JOB_ID:-0}.${SLURM_RESTART_COUNT:-0}" "$@"
((rate == 0)) || exec "${0%/*}/shaped_link.sh" "$rate" "$@"
exec "$@"
