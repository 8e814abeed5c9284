#!/bin/bash
# Other traffic between two nodes, as the OptiReduce benchmarking guide makes it: the ranks r, r+2, ...
# below SIZE of a ring allreduce of 2,048,000 floats, again and again. Start it on both nodes, with
# rank 0 on one and rank 1 on the other. The ranks meet at a Redis server; PREFIX in the environment
# is a word of the run, the same on both nodes and another one for each run.
set -euo pipefail
usage="usage: ${0##*/} -s SIZE -r STARTING_RANK -t TIME [-H REDIS_HOST] [-p REDIS_PORT] [-d DEVICE]"
help="$usage
  -s SIZE           number of processes on both nodes together
  -r STARTING_RANK  first rank of this node: 0 or 1
  -t TIME           seconds
  -H REDIS_HOST     (192.168.100.30)
  -p REDIS_PORT     (6199)
  -d DEVICE         network interface (ens17)
Environment: PREFIX (background), ALLREDUCE_LAB: the program (allreduce_lab on PATH)
Example: PREFIX=night7 $0 -s 4 -r 0 -t 3600 -H n0 -d eth0"
size='' first='' seconds='' host=192.168.100.30 port=6199 device=ens17

refuse() {
  echo "${0##*/}: $1; $usage" >&2
  exit 2
}

while getopts ':s:r:t:H:p:d:h' option; do
  case $option in
  s) size=$OPTARG ;;
  r) first=$OPTARG ;;
  t) seconds=$OPTARG ;;
  H) host=$OPTARG ;;
  p) port=$OPTARG ;;
  d) device=$OPTARG ;;
  h)
    echo "$help"
    exit 0
    ;;
  *) refuse "option -$OPTARG is unknown or lacks its value" ;;
  esac
done
shift $((OPTIND - 1))
(($# == 0)) || refuse "no argument was expected, found $1"
for each in "SIZE $size" "STARTING_RANK $first" "TIME $seconds"; do
  [[ ${each#* } =~ ^[0-9]{1,6}$ ]] || refuse "${each% *} must be a whole number, found '${each#* }'"
done
((first < size && first < 2)) || refuse "STARTING_RANK must be 0 or 1 and below SIZE, found $first"

pids=()
# Only what was started here is ended.
trap 'kill "${pids[@]}" 2>/dev/null || true' TERM INT EXIT
for ((rank = first; rank < size; rank += 2)); do
  "${ALLREDUCE_LAB:-allreduce_lab}" --size "$size" --rank "$rank" --redis-host "$host" \
    --redis-port "$port" --prefix "${PREFIX:-background}" --tcp-device "$device" \
    --elements 2048000 --time-budget "$seconds" --no-validate ring &
  pids+=($!)
done
code=0
for pid in "${pids[@]}"; do
  wait "$pid" || code=$?
done
exit "$code"
