#!/bin/sh
# Runs one MPI rank and writes down what only the node itself can witness: where the rank ran, on
# which CPUs, how it ended, and how far the counters of every port moved meanwhile.
#
# usage: rank.sh PROGRAM [ARG ...]
#   FABRICHECK_PIN=cyclic   bind rank r to CPU r modulo the CPUs of this machine; for systems whose
#                           scheduler doesn't bind ranks itself
#   FABRICHECK_YIELD=LIB    preload LIB where the ranks are more than this machine's CPUs, so that a
#                           rank that waits gives its CPU away (src/bench/yield_when_idle)
#   FABRICHECK_RAILS=A,B    ports that each node is to use, by names that are the same on all nodes
#                           (transports/rails.py): DEVICE:PORT, or netdev=, pci= or gid= with what
#                           fits. UCX gets them, the witness tells them, and words such as @device1@
#                           and @port1@ of PROGRAM's become those of the first one. With a single
#                           port the rank goes to the CPUs of its NUMA node, unless it is pinned.
#   FABRICHECK_GPU=VENDOR:CARD  words such as @gpu@ and @gpu_number@ of PROGRAM's become the address
#                           and the number of the vendor's GPU nearest to the first port, or the card
#   FABRICHECK_DEVICES=NAME export NAME with the RDMA devices of this node, separated by colons; for
#                           programs that take a device only by name, where each node has its own
#   FABRICHECK_DEVICE_OF_MPI=WORD  write down what the MPI library of PROGRAM was built for, a word
#                           that begins with WORD, such as ch3:nemesis
# Writes witness.RANK in the working directory, with a line "exit" when the program has come to its
# end. The first rank of a node also writes node.HOST, with ../nodes/collect.sh: what the node is and
# what its RDMA ports said before and after, and in between, as start and stop, what its CPUs did, for
# whomever. The shell's own words do all that they can: on a slow node, starting a program costs more
# than many a measurement.

# shellcheck source=src/fabricheck/nodes/collect.sh
. "${0%/*}/../nodes/collect.sh"

# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/../schedulers/job.sh"

# shellcheck source=src/fabricheck/transports/rails.sh
. "${0%/*}/rails.sh"

rank=${job_rank:-0}

counters() {
    for file in /sys/class/net/*/statistics/[rt]x_bytes /sys/class/net/*/statistics/[rt]x_packets; do
        if ! { [ -r "$file" ] && read -r value <"$file"; }; then continue; fi
        device=${file#/sys/class/net/}
        echo "netdev $1 ${device%%/*} ${file##*/} $value"
    done
    for file in /sys/class/infiniband/*/ports/*/hw_counters/sent_pkts \
        /sys/class/infiniband/*/ports/*/hw_counters/rcvd_pkts \
        /sys/class/infiniband/*/ports/*/counters/port_xmit_packets \
        /sys/class/infiniband/*/ports/*/counters/port_rcv_packets; do
        if ! { [ -r "$file" ] && read -r value <"$file"; }; then continue; fi
        device=${file#/sys/class/infiniband/}
        port=${device#*/ports/}
        echo "rdma $1 ${device%%/*}:${port%%/*} ${file##*/} $value"
    done
    # Of the two lines that begin with "Tcp:" the second has the numbers.
    while read -r name _ _ _ _ _ _ _ _ _ _ sent again _; do
        case $name$sent in
        Tcp:[0-9]*) echo "tcp $1 sockets sent $sent" && echo "tcp $1 sockets again $again" ;;
        esac
    done </proc/net/snmp
}

allowed_cpus() {
    while read -r name value; do
        if [ "$name" = Cpus_allowed_list: ]; then echo "$value"; fi
    done </proc/self/status
}

host=$(hostname)
tell() { # MOMENT GROUP ...
    if [ "${job_local_rank:-0}" -ne 0 ]; then return; fi
    moment=$1
    shift
    collect "$moment" "$host" "$@" >>"node.$host"
}

# The network interfaces below RoCE ports: on some cards they count the ports' packets too.
interfaces_of_ports() {
    for file in /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/0; do
        if ! { [ -r "$file" ] && read -r interface <"$file"; } 2>/dev/null; then continue; fi
        printf ' %s' "$interface"
    done
}

# IPoIB: ARPHRD_INFINIBAND of if_arp.h.
interfaces_of_infiniband() {
    for file in /sys/class/net/*/type; do
        if ! { [ -r "$file" ] && read -r kind <"$file"; } || [ "$kind" != 32 ]; then continue; fi
        interface=${file#/sys/class/net/}
        printf ' %s' "${interface%/type}"
    done
}

# It stands in the library, for MPI_Get_library_version.
device_of_mpi() {
    library=$(ldd "$1" | sed -n 's/^[[:space:]]*libmpi\.so[^ ]* => \([^ ]*\) .*/\1/p')
    tr '\0' '\n' <"$library" | LC_ALL=C grep -axE "${FABRICHECK_DEVICE_OF_MPI}[a-z:,]+" | head -n 1
}

cpus=0
for _ in /sys/devices/system/cpu/cpu[0-9]*; do cpus=$((cpus + 1)); done
if [ "${FABRICHECK_PIN:-}" = cyclic ]; then
    cpu=$((rank % cpus))
    taskset -pc "$cpu" $$ >/dev/null || exit 2
fi

# Where all cards run together, what they are plugged into explains their sum.
case ${FABRICHECK_RAILS:-} in *,*) cards=cards ;; *) cards= ;; esac
# shellcheck disable=SC2086 # none, or one group
tell before node ports adapters $cards log
witness="witness.$rank"
{
    echo "rank $rank"
    echo "host $host"
    echo "allocation $job_nodes"
    printf 'cpus ' && allowed_cpus
    printf 'below_ports' && interfaces_of_ports
    printf '\nipoib' && interfaces_of_infiniband
    echo
    if [ -n "${FABRICHECK_DEVICE_OF_MPI:-}" ]; then echo "device $(device_of_mpi "$1")"; fi
    if [ -n "${FI_PROVIDER:-}" ]; then echo "provider $FI_PROVIDER"; fi
    counters before
} >"$witness"

rails=
set -f
for rail in $(echo "${FABRICHECK_RAILS:-}" | tr , ' '); do
    set +f
    find_rail "$rail"
    case $found in '' | *' '*)
        {
            echo "lacks expected one RDMA port $rail on $host, found ${found:-none} (the node has$(ports_here)): the card is gone, has another name, or lost its address with its link: see ibv_devices and rdma link there, and ports in the site file"
            echo 'exit 2'
        } | tee -a "$witness" >&2
        exit 2
        ;;
    esac
    echo "rail $rail $found" >>"$witness"
    rails="$rails $found"
done
set +f
gpu='' gpu_number=''
if [ -n "${FABRICHECK_GPU:-}" ]; then
    card=${rails# }
    card=${card:-${FABRICHECK_GPU#*:}}
    near_gpu "${card%%:*}" "${FABRICHECK_GPU%%:*}"
    if [ -z "$gpu" ]; then
        echo "lacks expected a GPU of the vendor ${FABRICHECK_GPU%%:*} on $host, found none in /sys/bus/pci: see lspci there, and gpu_vendor in the site file" | tee -a "$witness" >&2
        echo 'exit 2' >>"$witness"
        exit 2
    fi
    echo "gpu $gpu" >>"$witness"
fi
if [ -n "$rails" ]; then
    UCX_NET_DEVICES=$(echo "${rails# }" | tr ' ' ,)
    export UCX_NET_DEVICES
    case ${rails# } in *' '*) ;; *) [ -n "${FABRICHECK_PIN:-}" ] || go_to_card "${found%:*}" >>"$witness" ;; esac
fi
if [ -n "$rails$gpu" ]; then
    left=$#
    while [ "$left" -gt 0 ]; do
        name_rails "$1"
        shift
        left=$((left - 1))
        set -- "$@" "$word"
    done
fi
tell start load

if [ -n "${FABRICHECK_DEVICES:-}" ]; then
    devices=
    for device in $rails; do devices=$devices${devices:+:}${device%:*}; done
    [ -n "$rails" ] || for device in /sys/class/infiniband/*; do
        if [ -e "$device" ]; then devices=$devices${devices:+:}${device##*/}; fi
    done
    export "$FABRICHECK_DEVICES=$devices"
fi

# A scheduler that ends the job sends TERM to all: the program ends, and the ports are still looked
# at, because a dead link is what made it hang. Such a rank has not come to its end.
ended_by_force=
trap 'ended_by_force=yes' TERM

ranks=${job_ranks:-1}
read -r began _ </proc/uptime
if [ -n "${FABRICHECK_YIELD:-}" ] && [ "$ranks" -gt "$cpus" ]; then
    LD_PRELOAD=$FABRICHECK_YIELD "$@"
else
    "$@"
fi
status=$?
read -r ended _ </proc/uptime
trap '' TERM
tell stop load
# The program may have got its TERM (128 + 15) before this shell gets its own.
if [ "$status" -eq 143 ]; then ended_by_force=yes; fi

tell after ports adapters log
{
    counters after
    echo "ran $began $ended"
    # Minutes and seconds of this shell; on a second line, of the program, and of the kernel for it.
    printf 'time ' && times
    if [ -z "$ended_by_force" ]; then echo "exit $status"; fi
} >>"$witness"
exit "$status"
