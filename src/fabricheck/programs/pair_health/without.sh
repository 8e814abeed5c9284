#!/bin/sh
# Prints the options of a launcher that leave out the nodes with a port that is down, as ports.sh said
# in the working directory; nothing where all are up.
#
# usage: without.sh FORMAT
#   FORMAT   of printf: the nodes to leave out, with commas; how many are left, twice

up=0
down=
for file in port.*; do
    if ! { [ -r "$file" ] && read -r state _ <"$file"; }; then continue; fi
    if [ "$state" = up ]; then up=$((up + 1)); else down="$down,${file#port.}"; fi
done
# shellcheck disable=SC2059 # the launcher's options
if [ -n "$down" ]; then printf -- "$1\n" "${down#,}" "$up" "$up"; fi
