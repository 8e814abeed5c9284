#!/bin/sh
# Prints the host of each rank, one a line, for launchers that take ranks from such a list.
#
# usage: hosts.sh NODE ...
#   NODE is the number of the node of a rank, from 0, in the order of the ranks; the nodes are those of
#   the allocation that the scheduler gave, in its order, or this host where there is none.

# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/job.sh"

hosts=$(job_hosts)
for node in "$@"; do
    host=$(echo "$hosts" | sed -n "$((node + 1))p")
    if [ -z "$host" ]; then
        echo "hosts.sh: expected a node $node in the allocation, counted from 0, found only: $(echo "$hosts" | tr '\n' ' ')" >&2
        exit 1
    fi
    echo "$host"
done
