#!/bin/sh
# Prints what the kernel says of the RDMA ports of this node at one moment: state, GIDs, versions
# and every counter, one "PATH:VALUE" line for each. Nothing is judged here.
#
# usage: snapshot.sh MOMENT        MOMENT is a word for the reader, such as before or after
#        . snapshot.sh; snapshot MOMENT [HOST]
# The first line is "snapshot MOMENT HOST UPTIME", the last one "end": without it, it was cut.
#   FABRICHECK_SNAPSHOT_ROOT=DIR   read a recorded tree instead of the running system: DIR/sys,
#                                  DIR/proc, DIR/ethtool/NETDEV (what ethtool -S NETDEV printed) and
#                                  DIR/ibv_devinfo
#   FABRICHECK_GID_INDEX=N         also tell GID N; the first eight are always told

snapshot() (
    cd "${FABRICHECK_SNAPSHOT_ROOT:-/}" || exit
    read -r uptime _ <proc/uptime
    echo "snapshot $1 ${2:-$(hostname)} $uptime"
    set -- sys/class/infiniband/*
    if [ -e "$1" ]; then
        kernel_files
        for netdev in sys/class/infiniband/*/device/net/*; do
            if [ -e "$netdev" ]; then statistics "${netdev##*/}"; fi
        done
        for layer in sys/class/infiniband/*/ports/*/link_layer; do
            # Only an InfiniBand port's MTU can't be told from its network interface.
            if read -r name <"$layer" && [ "$name" = InfiniBand ]; then
                from ibv_devinfo ibv_devinfo | sed -n 's|^|ibv_devinfo:|p'
                break
            fi
        done
    fi
    echo end
)

# One grep reads all files: starting a program is what costs most on a slow node. sysfs has no
# control characters in its values; in the tables of IPv6 only the lines on ECN are kept.
kernel_files() {
    gids=
    for index in 0 1 2 3 4 5 6 7 ${FABRICHECK_GID_INDEX:-}; do
        for table in gids gid_attrs/types gid_attrs/ndevs; do
            gids="$gids sys/class/infiniband/*/ports/*/$table/$index"
        done
    done
    # shellcheck disable=SC2086 # the patterns are to be expanded; no name in them has a blank
    grep -asHE '^[^[:cntrl:]]*$|(ECT[01]|CE)Pkts' proc/sys/kernel/osrelease proc/net/netstat \
        proc/net/dev_snmp6/* sys/class/net/*/mtu sys/class/net/*/operstate \
        sys/class/net/*/speed sys/class/net/*/carrier_changes \
        sys/class/infiniband/*/fw_ver sys/class/infiniband/*/board_id \
        sys/class/infiniband/*/parent sys/class/infiniband/*/device/uevent \
        sys/module/mlx5_core/version sys/module/bnxt_en/version sys/module/ice/version \
        sys/class/infiniband/*/ports/*/state sys/class/infiniband/*/ports/*/phys_state \
        sys/class/infiniband/*/ports/*/rate sys/class/infiniband/*/ports/*/link_layer $gids \
        sys/class/infiniband/*/ports/*/counters/* sys/class/infiniband/*/ports/*/hw_counters/*
}

# The statistics of a network interface, without those of its queues, which can be thousands.
statistics() {
    from "ethtool/$1" ethtool -S "$1" | sed -nE \
        -e '/^ *(\[|[rt]x_?[0-9]|ch[0-9]|[rt]x_queue_[0-9])/d' \
        -e "s|^ *(.*): *([0-9]+)\$|ethtool/$1/\\1:\\2|p"
}

# The recorded output of a program, or the program's own. It may be missing: no line, then.
from() {
    recorded=$1
    shift
    if [ -n "${FABRICHECK_SNAPSHOT_ROOT:-}" ]; then
        cat "$recorded" 2>/dev/null
    elif command -v "$1" >/dev/null; then
        "$@" 2>/dev/null
    fi
}

case ${0##*/} in
snapshot.sh) snapshot "$@" ;;
esac
