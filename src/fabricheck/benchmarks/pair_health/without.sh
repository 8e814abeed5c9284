#!/bin/sh
# Prints the options of srun that leave out the nodes with a port that is down, as ports.sh said in
# the working directory; nothing where all are up.

up=0
down=
for file in port.*; do
    if ! { [ -r "$file" ] && read -r state _ <"$file"; }; then continue; fi
    if [ "$state" = up ]; then up=$((up + 1)); else down="$down,${file#port.}"; fi
done
if [ -n "$down" ]; then echo "--exclude=${down#,} --nodes=$up --ntasks=$up"; fi
