#!/bin/sh
# Launches node_probe.sh on all nodes of a job, and meanwhile asks them for the time: what a node
# answers lies between two readings of the clock here.
#
# usage: survey.sh ROUNDS NODES COMMAND [ARG ...]
#   ROUNDS    how often to ask; 0 with a launcher that doesn't hand its standard input to all tasks
#   NODES     how many answers to wait for
#   COMMAND   the launcher, with node_probe.sh behind it
# Writes clock in the working directory, as clock.part until it is whole: the job's nodes, for each
# round a line 'ask NUMBER', the answers and, when all nodes have answered, 'round NUMBER BEGIN END'.
# Round 0 is the launch as a whole, whose answers are in the facts. All times in nanoseconds. The
# exit code is the launcher's.

# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/../schedulers/job.sh"

rounds=$1 nodes=$2
shift 2

directory=$(mktemp -d) || exit 2
trap 'rm -rf "$directory"' EXIT
trap 'exit 2' HUP INT TERM
mkfifo "$directory/questions" "$directory/answers" || exit 2

part=clock.part
echo "allocation ${job_nodes:--}" >"$part"
begin=$(date +%s%N)
"$@" <"$directory/questions" >"$directory/answers" &
launcher=$!
# A launcher that has ended is told by its exit code, not by a signal to whoever writes to it.
trap '' PIPE
exec 3>"$directory/questions" 4<"$directory/answers"

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    echo "ask $round" >>"$part"
    asked=$(date +%s%N)
    echo "$round" >&3 || break
    answered=0
    while [ "$answered" -lt "$nodes" ] && read -r answer <&4; do
        case $answer in
        "answer $round "*)
            answered=$((answered + 1))
            echo "$answer" >>"$part"
            ;;
        *) echo "$answer" ;;
        esac
    done
    [ "$answered" -eq "$nodes" ] || break
    date "+round $round $asked %s%N" >>"$part"
done
exec 3>&-
cat <&4
wait "$launcher"
status=$?
{
    date "+round 0 $begin %s%N"
    echo end
} >>"$part" && mv "$part" clock || exit 2
exit "$status"
