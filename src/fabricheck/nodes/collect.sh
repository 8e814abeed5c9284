#!/bin/sh
# Prints what the kernel says of this node at one moment, one "PATH:VALUE" line for each. Nothing is
# judged here.
#
# usage: collect.sh MOMENT GROUP ...
#        . collect.sh; collect MOMENT HOST GROUP ...
#   MOMENT    a word for the reader, such as before or after
#   node      what the node is: system, processor, memory, limits of a process
#   ports     state, addresses, versions and counters of the RDMA ports, and the interfaces
#   cards     what the cards are plugged into: PCIe up to the root port, IOMMU, interrupts
#   optics    what transceivers and FEC report to root: ethtool, for each interface
#   mlxlink   what mlxlink adds for each card, to root: bit error rates; takes long
#   roce      how RoCE ports are set, as dcb, else mlnx_qos, lldptool and files tell
#   adapters  what ethtool and ibv_devinfo say of them
#   log       what the kernel's log says of cards and PCIe, the last 400 lines
#   load      what the CPUs of this machine did; starts no process
# The first line is "told MOMENT HOST UPTIME", the last one "end": without it, it was cut.
#   FABRICHECK_NODE_ROOT=DIR   read a recorded tree instead of the running system: DIR/sys, DIR/proc,
#                              DIR/etc, DIR/usr, DIR/ethtool/NETDEV (what ethtool -S NETDEV printed),
#                              DIR/ibv_devinfo, DIR/dmesg and DIR/TOOL/NETDEV
#   FABRICHECK_GID_INDEX=N     also tell GID N; the first eight are always told
#   FABRICHECK_CONTAINER=yes   leave out what an image has of its own: libraries, name of the system
#   FABRICHECK_STEAL=GLOB      where a node is emulated: the files schedstat of its emulator's
#                              threads, the second number of which is how long they waited for a CPU

# shellcheck disable=SC2030,SC2031 # what is found in here stays in here
collect() (
    cd "${FABRICHECK_NODE_ROOT:-/}" || exit
    read -r uptime _ <proc/uptime
    echo "told $1 $2 $uptime"
    shift 2
    files=
    for group in "$@"; do "tell_$group"; done
    # One grep reads all files: starting a program is what costs most on a slow node. Values have no
    # control characters; of the tables with tabs only these lines are kept.
    # Files that are not there are no failure.
    # shellcheck disable=SC2086 # the patterns are to be expanded; no name in them has a blank
    [ -z "$files" ] ||
        grep -asHE '^[^[:cntrl:]]*$|(ECT[01]|CE)Pkts|^(CapEff|Cpus_allowed_list):' $files || :
    echo end
)

tell_node() {
    # The first processor speaks for all, and there can be hundreds.
    while IFS= read -r line; do
        case $line in
        microcode* | flags*) echo "proc/cpuinfo:$line" ;;
        '') break ;;
        esac
    done <proc/cpuinfo
    # In a container these would be the image's.
    if [ -z "${FABRICHECK_CONTAINER:-}" ]; then
        for file in usr/lib/libibverbs.so.1.* usr/lib64/libibverbs.so.1.* \
            usr/lib/*-linux-gnu*/libibverbs.so.1.*; do
            [ ! -e "$file" ] || echo "$file:"
        done
        files="$files etc/os-release"
    fi
    files="$files proc/sys/kernel/osrelease proc/cmdline proc/self/status proc/self/limits
        sys/class/net/*/mtu sys/class/dmi/id/sys_vendor sys/class/dmi/id/product_name
        sys/class/dmi/id/bios_version sys/class/dmi/id/bios_date
        sys/module/mlx4_core/version sys/module/bnxt_re/version sys/module/irdma/version
        sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor
        sys/kernel/mm/transparent_hugepage/enabled
        sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages
        sys/devices/system/node/node[0-9]*/cpulist sys/devices/system/node/node[0-9]*/distance"
} 2>/dev/null

tell_ports() {
    files="$files sys/class/net/*/operstate"
    set -- sys/class/infiniband/*
    [ -e "$1" ] || return 0
    files="$files proc/sys/kernel/osrelease proc/net/netstat proc/net/dev_snmp6/*
        sys/class/net/*/mtu sys/class/net/*/speed
        sys/class/net/*/carrier_changes
        sys/module/mlx5_core/version sys/module/bnxt_en/version sys/module/ice/version"
    device='sys/class/infiniband/*'
    port="$device/ports/*"
    files="$files $device/fw_ver $device/board_id $device/parent
        $device/device/uevent $device/device/numa_node $device/device/net/*/mtu
        $port/state $port/phys_state $port/rate $port/link_layer $port/counters/* $port/hw_counters/*"
    for index in 0 1 2 3 4 5 6 7 ${FABRICHECK_GID_INDEX:-}; do
        for table in gids gid_attrs/types gid_attrs/ndevs; do
            files="$files $port/$table/$index"
        done
    done
}

tell_cards() {
    set -- sys/class/iommu/*
    if [ -d sys/class/iommu ] && [ ! -e "$1" ]; then echo iommu:off; fi
    for device in sys/class/infiniband/*; do
        [ -e "$device/device" ] || continue
        name=${device##*/} hop=$device/device irqs=
        files="$files $hop/iommu_group/type $hop/local_cpulist"
        for irq in "$hop"/msi_irqs/*; do
            irqs="$irqs ${irq##*/}" files="$files proc/irq/${irq##*/}/smp_affinity_list"
        done
        echo "irqs/$name:${irqs# \*}"
        way=$(readlink -f "$hop")
        echo "way/$name:$way"
        # Each device on the way up is a directory of the one above it.
        while [ -e "$hop/current_link_width" ]; do
            files="$files $hop/current_link_width $hop/current_link_speed
                $hop/max_link_width $hop/max_link_speed"
            configuration
            hop=$hop/..
        done
    done
} 2>/dev/null

tell_roce() {
    files="$files sys/class/infiniband/*/tc/*/traffic_class
        sys/kernel/config/rdma_cm/*/ports/*/default_roce_tos"
    for netdev in sys/class/infiniband/*/device/net/*; do
        if [ ! -e "$netdev" ]; then continue; fi
        name=${netdev##*/}
        files="$files sys/class/net/$name/ecn/roce_*/enable/[0-7]"
        # One that tells is enough; mlnx_qos takes the longest.
        settings dcb "$name" dcb_of "$name" ||
            settings lldptool "$name" from "lldptool/$name" lldptool -t -i "$name" -V PFC -c enabled ||
            settings mlnx_qos "$name" from "mlnx_qos/$name" mlnx_qos -i "$name" || :
    done
} 2>/dev/null

# All at once, and none longer than its time: each asks a module over its slow bus.
tell_optics() {
    for netdev in sys/class/infiniband/*/device/net/*; do
        if [ ! -e "$netdev" ]; then continue; fi
        name=${netdev##*/} device=${netdev#sys/class/infiniband/}
        place=module/${device%%/*}
        if can "module/$name" ethtool; then
            from "module/$name" timeout 2 ethtool -m "$name" |
                of_module "$place" 'Laser |Rcvr |Receiver |Transmit avg|Module temperature' &
        fi
        if can "fec/$name" ethtool; then
            from "fec/$name" timeout 2 ethtool --show-fec "$name" | of_module "$place" Active &
        fi
    done
    wait
} 2>/dev/null

tell_mlxlink() {
    for device in sys/class/infiniband/*; do
        if [ -z "${FABRICHECK_NODE_ROOT:-}" ] && ! command -v mlxlink >/dev/null; then break; fi
        name=${device##*/}
        from "mlxlink/$name" timeout 8 mlxlink -d "$name" -m -c |
            of_module "mlxlink/$name" 'FEC|Raw Phys|Effective Phys|Symbol Err|[RT]x Power C|Bias C|Temperat' &
    done
    wait
} 2>/dev/null

# Lines of a module's report that begin with such words, without colours.
of_module() { # PLACE WORDS
    sed -nE -e 's/\x1b\[[0-9;]*m//g' -e 's/^[[:space:]]+//' -e "/^($2).*:/{/alarm +\(|warning +\(|: (On|Off)\$/!s|^|$1:|p}"
}

dcb_of() {
    from "dcb/$1" dcb pfc show dev "$1"
    if [ -z "${FABRICHECK_NODE_ROOT:-}" ]; then
        from - dcb -N app show dev "$1"
        from - dcb apptrust show dev "$1"
        from - dcb buffer show dev "$1"
    fi
}

# The lines of a tool, by its name and interface; fails where there are none.
settings() { # TOOL NETDEV COMMAND ...
    place=$1/$2
    can "$place" "$1" || return
    shift 2
    "$@" | awk -v place="$place" '/[[:alnum:]]/ { print place ":" $0; told = 1 } END { exit !told }'
}

# The hop's configuration space in hexadecimal, lines that repeat as *; without root 64 bytes.
configuration() {
    set -f
    # shellcheck disable=SC2046 # as words of one line
    set -- $(od -Ax -tx1 "$hop/config")
    set +f
    echo "$hop/config:$*"
}

tell_adapters() {
    for netdev in sys/class/infiniband/*/device/net/*; do
        if [ -e "$netdev" ]; then statistics "${netdev##*/}"; fi
    done
    for layer in sys/class/infiniband/*/ports/*/link_layer; do
        # Only an InfiniBand port's MTU can't be told from its network interface.
        if [ -e "$layer" ] && read -r name <"$layer" && [ "$name" = InfiniBand ]; then
            from ibv_devinfo ibv_devinfo | sed -n 's|^|ibv_devinfo:|p'
            break
        fi
    done
}

# The statistics of a network interface, without those of its queues, which can be thousands.
statistics() {
    from "ethtool/$1" ethtool -S "$1" | sed -nE \
        -e '/^ *(\[|[rt]x_?[0-9]|ch[0-9]|[rt]x_queue_[0-9])/d' \
        -e "s|^ *(.*): *([0-9]+)\$|ethtool/$1/\\1:\\2|p"
}

tell_log() {
    { from dmesg dmesg && echo read || echo unreadable; } | sed -nE \
        -e '/^\[.*(mlx[45]_core|bnxt_en|bnxt_re|irdma|ice |i40e|cxgb4|AER: |PCIe Bus Error)/s/^/kernel_log:/p' \
        -e 's/^(read|unreadable)$/log:\1/p' | tail -n 401
}

# Whether there is a recorded output, or the program: that saves, for each card, the three processes
# of a pipe that says nothing.
can() { # RECORDED PROGRAM
    if [ -n "${FABRICHECK_NODE_ROOT:-}" ]; then [ -e "$1" ]; else command -v "$2" >/dev/null; fi
}

# The recorded output of a program, or the program's own. It may be missing: no line, then.
from() {
    recorded=$1
    shift
    if [ -n "${FABRICHECK_NODE_ROOT:-}" ]; then
        cat "$recorded" 2>/dev/null
    elif command -v "$1" >/dev/null; then
        "$@" 2>/dev/null
    fi
}

tell_load() {
    while read -r line; do
        case $line in
        'cpu '*) ;;
        cpu*) echo "proc/stat:$line" ;;
        *) break ;;
        esac
    done </proc/stat
    for file in /proc/pressure/memory ${FABRICHECK_STEAL:-}; do
        if [ -r "$file" ] && read -r line <"$file"; then echo "${file#/}:$line"; fi
    done
} 2>/dev/null

case ${0##*/} in
collect.sh)
    moment=$1
    shift
    collect "$moment" "$(hostname)" "$@"
    ;;
esac
