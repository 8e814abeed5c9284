# Finds the RDMA ports of this node that a site names alike on all nodes (transports/rails.py): by
# device and port (mlx5_3:1), netdev=INTERFACE, pci=ADDRESS, or gid=PATTERN of the text of an address.
# shellcheck shell=sh
# shellcheck disable=SC2034 # found, word and rails are its callers' too

# Adds to found the ports of which a file has such a line.
find_in() { # PATTERN FILE ...
    pattern=$1
    shift
    for file in "$@"; do
        if ! { [ -r "$file" ] && read -r value <"$file"; } 2>/dev/null; then continue; fi
        # shellcheck disable=SC2254 # it is a pattern
        case $value in $pattern) ;; *) continue ;; esac
        device=${file#/sys/class/infiniband/}
        port=${device#*/ports/}
        each=${device%%/*}:${port%%/*}
        case " $found " in *" $each "*) ;; *) found="$found${found:+ }$each" ;; esac
    done
}

# Sets found. A port has up to hundreds of GIDs, mostly empty: those that a site means come first.
find_rail() { # RAIL
    found=
    case $1 in
    gid=*)
        find_in "${1#gid=}" /sys/class/infiniband/*/ports/*/gids/[0-9] \
            /sys/class/infiniband/*/ports/*/gids/1[0-5]
        ;;
    netdev=*) find_in "${1#netdev=}" /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/[0-9] ;;
    pci=*)
        for device in "/sys/bus/pci/devices/${1#pci=}"/infiniband/*; do
            if [ -e "$device" ]; then found=${device##*/}:1; fi
        done
        ;;
    *) if [ -e "/sys/class/infiniband/${1%:*}/ports/${1##*:}" ]; then found=$1; fi ;;
    esac
}

# Every port of this node with its state.
ports_here() {
    none=' no card'
    for file in /sys/class/infiniband/*/ports/*/state; do
        if ! { [ -r "$file" ] && read -r value <"$file"; } 2>/dev/null; then continue; fi
        device=${file#/sys/class/infiniband/}
        port=${device#*/ports/}
        none=
        printf ' %s' "${device%%/*}:${port%%/*} ${value##* }"
    done
    printf '%s' "$none"
}

# The CPUs of the card's NUMA node; a card of software has none.
go_to_card() { # DEVICE
    if ! read -r local 2>/dev/null <"/sys/class/infiniband/$1/device/local_cpulist"; then return; fi
    taskset -pc "$local" $$ >/dev/null 2>&1 || true
    echo "card_cpus $local"
}

# Sets gpu and gpu_number, in the order of PCI addresses, of the GPU whose way up has most in common
# with the card's; empty where the node has none of the vendor.
near_gpu() { # DEVICE VENDOR
    card=$(readlink -f "/sys/class/infiniband/$1/device")
    gpu='' gpu_number='' nearest=-1 count=0
    for file in /sys/bus/pci/devices/*/vendor; do
        if ! read -r value <"$file" || [ "$value" != "$2" ]; then continue; fi
        read -r value <"${file%/vendor}/class" || continue
        # Display and 3D controllers, and AMD's accelerators.
        case $value in 0x03* | 0x12*) ;; *) continue ;; esac
        one=$card/ other=$(readlink -f "${file%/vendor}")/ common=0
        while [ -n "$one" ] && [ "${one%%/*}" = "${other%%/*}" ]; do
            one=${one#*/} other=${other#*/} common=$((common + 1))
        done
        other=${file%/vendor}
        if [ "$common" -gt "$nearest" ]; then gpu=${other##*/} gpu_number=$count nearest=$common; fi
        count=$((count + 1))
    done
} 2>/dev/null

# Sets word, in which the ports in rails have replaced @device1@, @port1@ and so on, and the GPU @gpu@
# and @gpu_number@.
name_rails() { # WORD
    word=$1
    case $word in
    *@gpu@*) word=${word%%@gpu@*}$gpu${word#*@gpu@} ;;
    *@gpu_number@*) word=${word%%@gpu_number@*}$gpu_number${word#*@gpu_number@} ;;
    esac
    number=0
    # shellcheck disable=SC2154 # the caller's
    for rail in $rails; do
        number=$((number + 1))
        of_device=@device$number@
        of_port=@port$number@
        while :; do
            case $word in
            *"$of_device"*) word=${word%%"$of_device"*}${rail%:*}${word#*"$of_device"} ;;
            *"$of_port"*) word=${word%%"$of_port"*}${rail##*:}${word#*"$of_port"} ;;
            *) break ;;
            esac
        done
    done
}
