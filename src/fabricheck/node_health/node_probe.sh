#!/bin/sh
# Writes down what a node offers to MPI and RDMA programs, then tells the time as often as asked.
#
# usage: node_probe.sh [PROGRAM ...]
#   PROGRAM   whose version to ask for: ucx, osu, or an MPI family (openmpi, mpich, mvapich2, mvapich);
#             with =FOLDER where to look for it before PATH
#   FABRICHECK_SYSFS=DIR   read DIR for /sys, for a recorded tree
# Writes facts.NODE in the working directory, whole or not at all: lines 'KEY VALUE ...', '-' where
# the node doesn't say; and in the same way origin.NODE: what the node is (origin.sh). For each line of
# standard input it prints 'answer LINE NODE NANOSECONDS'.
# A process costs a shell far more than a line that it reads itself: there are few of them here.

# shellcheck source=src/fabricheck/node_health/origin.sh
. "${0%/*}/origin.sh"

sys=${FABRICHECK_SYSFS:-/sys}

# show KEY FILE: the key and the first line of a file.
show() {
    value=
    if [ -r "$2" ]; then read -r value <"$2"; fi 2>/dev/null
    echo "$1 ${value:--}"
}

# The node as the scheduler calls it.
node=${SLURMD_NODENAME:-}
if [ -z "$node" ]; then
    read -r node </proc/sys/kernel/hostname
    node=${node%%.*}
fi

process() {
    while read -r key value; do
        case $key in
        CapEff:) echo "capabilities $value" ;;
        Cpus_allowed_list:) echo "cpus $value" ;;
        esac
    done </proc/self/status
    while read -r first second third soft _; do
        case "$first $second $third" in
        "Max locked memory") echo "memlock $soft" ;;
        esac
    done </proc/self/limits
}

machine() {
    show kernel /proc/sys/kernel/osrelease
    kind=-
    while read -r key value; do
        case $key in
        flags)
            case " $value " in
            *" hypervisor "*) kind=virtual ;;
            *) kind=physical ;;
            esac
            break
            ;;
        esac
    done </proc/cpuinfo
    echo "machine $kind"
    for file in "$sys"/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do
        [ -e "$file" ] || continue
        cpu=${file#"$sys"/devices/system/cpu/cpu}
        show "governor ${cpu%%/*}" "$file"
    done
    show transparent_hugepages "$sys/kernel/mm/transparent_hugepage/enabled"
    for directory in "$sys"/kernel/mm/hugepages/hugepages-*kB; do
        [ -d "$directory" ] || continue
        size=${directory##*/hugepages-}
        show "hugepages ${size%kB}" "$directory/nr_hugepages"
    done
    for directory in "$sys"/devices/system/node/node[0-9]*; do
        [ -d "$directory" ] || continue
        # Not from the file cpulist: it answers nothing to a shell, which reads byte by byte.
        cpus=
        for cpu in "$directory"/cpu[0-9]*; do
            [ ! -d "$cpu" ] || cpus=$cpus,${cpu##*/cpu}
        done
        cpus=${cpus#,}
        show "numa ${directory##*/node} ${cpus:--}" "$directory/distance"
    done
}

network() {
    for directory in "$sys"/class/net/*; do
        [ -r "$directory/mtu" ] || continue
        show "interface ${directory##*/}" "$directory/mtu"
    done
    for directory in "$sys"/class/infiniband/*/ports/*; do
        [ -d "$directory" ] || continue
        device=${directory%/ports/*}
        # RoCE names the interface below each GID; a card on InfiniBand has it beside the port.
        interface=
        if [ -r "$directory/gid_attrs/ndevs/0" ]; then
            read -r interface <"$directory/gid_attrs/ndevs/0"
        fi 2>/dev/null
        if [ -z "$interface" ]; then
            for beside in "$device"/device/net/*; do
                [ ! -d "$beside" ] || interface=${beside##*/}
            done
        fi
        # A device without a bus below it, such as Soft-RoCE's, is no card.
        numa=virtual
        if [ -e "$device/device" ]; then
            numa=-1
            if [ -r "$device/device/numa_node" ]; then read -r numa <"$device/device/numa_node"; fi
        fi
        show "port ${device##*/}:${directory##*/} $numa ${interface:--}" "$directory/state"
    done
}

# A benchmark tells its version only as an MPI program: alone, so without what a launcher tells it.
alone() {
    env -i PATH="$PATH" HOME="${HOME:-/}" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" \
        OMPI_MCA_ess_singleton_isolated=1 "$@"
}

ask() {
    case $1 in *=*) PATH=${1#*=}:$PATH ;; esac
    case ${1%%=*} in
    ucx) ucx_info -v ;;
    openmpi) ompi_info --version ;;
    mpich | mvapich2 | mvapich2_nemesis | mvapich) mpichversion ;;
    osu) alone timeout 20 osu_latency --version ;;
    esac
}

versions() {
    for program in "$@"; do
        ask "$program" 2>/dev/null | {
            said=
            while [ -z "$said" ] && read -r said; do :; done
            echo "version ${program%%=*} ${said:--}"
        }
    done
}

part="facts.$node.part"
{
    echo "node $node"
    process
    machine
    network
    versions "$@"
    date '+clock %s%N'
    echo end
} >"$part" && mv "$part" "facts.$node" || exit 2

origin >"origin.$node.part" && mv "origin.$node.part" "origin.$node"

while read -r line; do
    date "+answer $line $node %s%N"
done
