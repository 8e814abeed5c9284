#!/bin/sh
# Writes down what a node offers to MPI and RDMA programs, then tells the time as often as asked.
#
# usage: node_probe.sh [--once] [PROGRAM ...]
#   --once    read no input, which a launcher may leave open on all hosts but the first
#   PROGRAM   whose version to ask for: ucx, osu, or an MPI family with what prints it, FAMILY=FOLDER=COMMAND;
#             the folder, if one is given, comes before PATH
# Writes node.NODE in the working directory, whole or not at all: what the kernel says of the node
# (../nodes/collect.sh), and a block "told versions" with a line "PROGRAM:WORDS" for each program and
# "clock:NANOSECONDS". For each line of standard input it prints 'answer LINE NODE NANOSECONDS'.

# shellcheck source=src/fabricheck/nodes/collect.sh
. "${0%/*}/../nodes/collect.sh"

# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/../schedulers/job.sh"

# The node as the scheduler calls it.
node=$job_node
if [ -z "$node" ]; then
    read -r node </proc/sys/kernel/hostname
    node=${node%%.*}
fi

# A benchmark tells its version only as an MPI program: alone, so without what a launcher tells it.
alone() {
    env -i PATH="$PATH" HOME="${HOME:-/}" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" \
        OMPI_MCA_ess_singleton_isolated=1 "$@"
}

ask() {
    case $1 in
    ucx) ucx_info -v ;;
    osu) alone timeout 20 osu_latency --version ;;
    *=*=*)
        command=${1##*=} folder=${1#*=}
        folder=${folder%"=$command"}
        PATH=${folder:+$folder:}$PATH
        # shellcheck disable=SC2086
        $command
        ;;
    esac
}

versions() {
    for program in "$@"; do
        ask "$program" 2>/dev/null | {
            said=
            while [ -z "$said" ] && read -r said; do :; done
            echo "${program%%=*}:$said"
        }
    done
}

input=yes
if [ "${1:-}" = --once ]; then
    input=
    shift
fi
part="node.$node.part"
{
    collect facts "$node" node ports cards roce optics
    echo "told versions $node 0"
    versions "$@"
    date '+clock:%s%N'
    echo end
} >"$part" && mv "$part" "node.$node" || exit 2

while [ "$input" ] && read -r line; do
    date "+answer $line $node %s%N"
done
