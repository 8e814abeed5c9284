#!/bin/sh
# Prints the host of each rank, one a line, for launchers that take ranks from such a list.
#
# usage: hosts.sh NODE ...
#   NODE is the number of the node of a rank, from 0, in the order of the ranks; the nodes are those of
#   the allocation that Slurm, PBS or LSF gave, in its order, or this host where there is none.

if [ -n "${SLURM_JOB_NODELIST:-}" ]; then
    hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
elif [ -n "${PBS_NODEFILE:-}" ]; then
    hosts=$(awk '!seen[$0]++' "$PBS_NODEFILE")
elif [ -n "${LSB_DJOB_HOSTFILE:-}" ]; then
    hosts=$(awk '!seen[$0]++' "$LSB_DJOB_HOSTFILE")
else
    hosts=$(hostname)
fi
for node in "$@"; do
    host=$(echo "$hosts" | sed -n "$((node + 1))p")
    if [ -z "$host" ]; then
        echo "hosts.sh: expected a node $node in the allocation, counted from 0, found only: $(echo "$hosts" | tr '\n' ' ')" >&2
        exit 1
    fi
    echo "$host"
done
