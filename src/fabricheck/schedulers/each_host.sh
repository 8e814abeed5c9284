#!/bin/sh
# Runs a command on the hosts of a job, by a remote shell for each of them.
#
# usage: each_host.sh RANKS|first COMMAND [ARG ...]
#   RANKS   how many of it on each host; 'first' is one on the first host alone
#   FABRICHECK_NODES=n1,n2   the hosts
#   FABRICHECK_REMOTE_SHELL  a program that is called with a host and one word, a command for sh
# Each runs in this working directory, which all hosts must see, with this environment and its rank
# in it, and reads a copy of the standard input where it is the only one on its host. A process on
# another host notes the leader of its group in remote.HOST, for who ends the job. The exit code is
# the first one that is not 0.

quoted() {
    for word; do
        printf "'%s' " "$(printf '%s.' "$word" | sed "s/'/'\\\\''/g")" | sed "\$s/\\.' \$/' /"
    done
}

if [ "$1" = --here ]; then # FILE HOST PLACE RANKS HOSTS
    file=$2
    export FABRICHECK_NODE="$3" FABRICHECK_RANKS="$(($5 * $6))"
    echo $$ >"${file%/*}/remote.$3"
    place=$4 ranks=$5
    # shellcheck source=/dev/null
    . "$file"
    FABRICHECK_LOCAL_RANK=0
    processes=
    while [ "$FABRICHECK_LOCAL_RANK" -lt "$ranks" ]; do
        FABRICHECK_RANK=$((place * ranks + FABRICHECK_LOCAL_RANK))
        export FABRICHECK_RANK FABRICHECK_LOCAL_RANK
        [ "$ranks" -ne 1 ] || exec "$@"
        "$@" </dev/null &
        processes="$processes $!"
        FABRICHECK_LOCAL_RANK=$((FABRICHECK_LOCAL_RANK + 1))
    done
    status=0
    for process in $processes; do
        wait "$process" || status=$?
    done
    exit "$status"
fi

ranks=$1
shift
# shellcheck disable=SC2153 # for one host it is FABRICHECK_NODE
hosts=$(echo "$FABRICHECK_NODES" | tr , ' ')
if [ "$ranks" = first ]; then
    ranks=1 hosts=${hosts%% *}
fi
# shellcheck disable=SC2086 # names of hosts
count=$(set -- $hosts && echo $#)
directory=$(mktemp -d) || exit 2
file=$PWD/remote.$$
# shellcheck disable=SC2317 # below trap
forget() {
    for host in $hosts; do rm -f "$PWD/remote.$host"; done
    rm -rf "$directory" "$file"
}
trap forget EXIT
trap 'exit 143' HUP INT TERM
umask 077
{
    # What is true of this host alone.
    (unset HOSTNAME TMPDIR SSH_CLIENT SSH_CONNECTION SSH_TTY DISPLAY PWD OLDPWD && export -p)
    echo "cd $(quoted "$PWD") && set -- $(quoted "$@")"
} >"$file"

exec 3<&0
place=0 processes=
for host in $hosts; do
    mkfifo "$directory/$place" || exit 2
    here=$(quoted "$0" --here "$file" "$host" "$place" "$ranks" "$count")
    "$FABRICHECK_REMOTE_SHELL" "$host" "exec sh $here" <"$directory/$place" &
    processes="$processes $!"
    place=$((place + 1))
done
tee -p "$directory"/* <&3 >/dev/null 2>&1 &
tee=$!
status=0
for process in $processes; do
    wait "$process"
    code=$?
    [ "$status" -ne 0 ] || status=$code
done
kill "$tee" 2>/dev/null
exit "$status"
