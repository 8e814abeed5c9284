#!/bin/sh
# Says whether the ports of this node carry anything, in port.NODE of the working directory: "up",
# or "down" and which.
#
# usage: ports.sh sockets [INTERFACE ...]       all of these must have a carrier
#        ports.sh rdma [DEVICE[:PORT] ...]      all of these must be active; without any, one port;
#                                               or as in transports/rails.sh

kind=$1
shift
down=

if [ "$kind" = sockets ]; then
    for name in "$@"; do
        # It can't be read of an interface that is switched off.
        if [ "$(cat "/sys/class/net/$name/carrier" 2>/dev/null)" != 1 ]; then down="$down $name"; fi
    done
elif [ $# -eq 0 ]; then
    grep -qs ACTIVE /sys/class/infiniband/*/ports/*/state || down=' RDMA'
else
    # shellcheck source=src/fabricheck/transports/rails.sh
    . "${0%/*}/../../transports/rails.sh"
    for name in "$@"; do
        case $name in
        *=*)
            find_rail "$name"
            name=${found:-$name}
            ;;
        esac
        port=${name#*:}
        [ "$port" != "$name" ] || port=1
        state=/sys/class/infiniband/${name%%:*}/ports/$port/state
        grep -qs ACTIVE "$state" || down="$down $name"
    done
fi
# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/../../schedulers/job.sh"
echo "${down:+down}${down:-up}" >"port.${job_node:-$(hostname)}"
