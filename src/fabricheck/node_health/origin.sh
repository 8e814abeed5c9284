#!/bin/sh
# Prints what a node is: the facts that may explain why it measures something else than before.
#
# usage: origin.sh        . origin.sh; origin
# Lines 'KEY VALUE ...', '-' where the node doesn't say, and 'end' as the last: without it, it was
# cut. Starts no process: what is measured next to this must not notice it.
#   FABRICHECK_ORIGIN_ROOT=DIR   read a recorded tree instead of the running system: DIR/sys,
#                                DIR/proc, DIR/etc and DIR/usr

origin_root=${FABRICHECK_ORIGIN_ROOT:-}

origin() (
    origin_system
    origin_processor
    origin_ports
    echo end
) 2>/dev/null

# The first line of a file in $line; empty where it can't be read.
origin_read() {
    line=
    if [ -r "$1" ]; then read -r line <"$1"; fi
}

# Adds a text to the list $all, if it is not in it.
origin_add() {
    case ", $all, " in
    *", $1, "*) ;;
    *) all=$all${all:+, }$1 ;;
    esac
}

# Prints the list under a key and empties it.
origin_tell() {
    echo "$1 ${all:--}"
    all=
}

origin_system() {
    all=
    origin_read "$origin_root/proc/sys/kernel/osrelease"
    echo "kernel ${line:--}"

    # Without what names the kernel, its disk and its address: that is another on each node.
    origin_read "$origin_root/proc/cmdline"
    set -f
    for word in $line; do
        case $word in
        BOOT_IMAGE=* | initrd=* | root=* | ip=* | BOOTIF=*) ;;
        *) all=$all${all:+ }$word ;;
        esac
    done
    set +f
    origin_tell kernel_options

    if [ -r "$origin_root/etc/os-release" ]; then
        while IFS='=' read -r key value; do
            [ "$key" != PRETTY_NAME ] || all=$value
        done <"$origin_root/etc/os-release"
    fi
    all=${all#\"}
    all=${all%\"}
    origin_tell os

    for file in "$origin_root"/usr/lib/libibverbs.so.1.* "$origin_root"/usr/lib64/libibverbs.so.1.* \
        "$origin_root"/usr/lib/*/libibverbs.so.1.*; do
        [ ! -e "$file" ] || origin_add "libibverbs ${file##*/libibverbs.so.}"
    done
    origin_tell rdma_core

    # A driver of the kernel itself has no version: its version is the kernel's.
    for driver in mlx4_core mlx5_core bnxt_re irdma ice; do
        origin_read "$origin_root/sys/module/$driver/version"
        [ -z "$line" ] || origin_add "$driver $line"
    done
    origin_tell ofed
}

origin_processor() {
    for name in sys_vendor product_name bios_version bios_date; do
        origin_read "$origin_root/sys/class/dmi/id/$name"
        all=$all${line:+${all:+ }$line}
    done
    origin_tell bios

    while IFS=: read -r key value; do
        case $key in
        microcode*) all=${value# } && break ;;
        esac
    done <"$origin_root/proc/cpuinfo"
    origin_tell microcode

    for file in "$origin_root"/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do
        origin_read "$file"
        [ -z "$line" ] || origin_add "$line"
    done
    origin_tell governor
}

origin_ports() {
    for device in "$origin_root"/sys/class/infiniband/*; do
        origin_read "$device/fw_ver"
        version=$line
        origin_read "$device/board_id"
        [ -z "$version" ] || origin_add "${device##*/} $version${line:+ ($line)}"
    done
    origin_tell firmware

    for port in "$origin_root"/sys/class/infiniband/*/ports/*; do
        device=${port%/ports/*}
        origin_read "$port/rate"
        [ -z "$line" ] || origin_add "${device##*/}:${port##*/} $line"
    done
    origin_tell link

    for interface in "$origin_root"/sys/class/net/*; do
        case ${interface##*/} in
        # Those of containers come and go.
        lo | veth* | docker* | br-* | virbr*) continue ;;
        esac
        origin_read "$interface/mtu"
        [ -z "$line" ] || origin_add "${interface##*/} $line"
    done
    origin_tell mtu
}

case ${0##*/} in
origin.sh) origin ;;
esac
