#!/bin/sh
# Runs a program as server on rank 0 and as its client on rank 1, once or several times in one job.
# The servers of all runs start at once, before the first client: starting one takes its time, and
# none may start while another run measures.
#
# usage: pair.sh PROGRAM [OPTION ...] [::: OPTION ...] ...
#   What stands before the first ::: belongs to every run, what stands after one to its own run. The
#   server gets '-p PORT' as well, the client '-p PORT SERVER'.
#   FABRICHECK_PAIR_WAIT=30    seconds that one end waits for the other to start
#   FABRICHECK_PAIR_GRACE=10   seconds that an end has to end after the other
#   FABRICHECK_PAIR_LIMIT=60   seconds that one run may take
#   FABRICHECK_PAIR_INPUT      what both ends have as standard input (/dev/null)
#   FABRICHECK_PAIR_VERSION    option that makes the program tell its version, which must be the same
#                              at both ends; without it they are not compared
#
# The client's standard output is the job's, with a line 'pair: run N of M: PROGRAM OPTION ...' above
# each run and 'pair: run N ended' below, and 'pair: version TEXT' first of all. What the servers
# said goes to server.out and server.err when all is over. Each fault is one line 'pair: ...' in the
# job's error output, and an exit code other than 0.
#
# The ends meet in a directory named after job, step and restart, so that nothing of an earlier
# attempt is read:
#   here.RANK      host name of an end that has started, and the version of its program
#   servers        run, port and host name of each server, written when all of them listen
#   out.N, err.N   what the server of run N says
#   client.N       exit code of the client of run N
#   gone.RANK      last words of an end that is over
#   verdict.RANK   why the watch of this end has ended its program

# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/../schedulers/job.sh"

rank=${job_rank:-0}
other=$((1 - rank))
meeting=pair.$job.$job_step.$job_restarts
patience=${FABRICHECK_PAIR_WAIT:-30}
grace=${FABRICHECK_PAIR_GRACE:-10}
limit=${FABRICHECK_PAIR_LIMIT:-60}
input=${FABRICHECK_PAIR_INPUT:-/dev/null}
# A container may have no terminals.
(: <"$input") 2>/dev/null || input=/dev/null
host=$(hostname)
child=
watcher=
servers=
at=
said=
complained=

# Below the ports that the kernel gives out itself (32768 and up), each job in a range of its own.
first_port=$((18515 + job % 300 * 40))
last_port=$((first_port + 39))
port=$first_port

# A short line is written whole; who reads it waits until the file is not empty. Starting mv for each
# would take as long as a small measurement on a slow node.
publish() { # NAME LINE
    echo "$2" >"$meeting/$1"
}

publish_lines() { # NAME LINES
    publish "$1.part.$rank" "$2" && mv "$meeting/$1.part.$rank" "$meeting/$1"
}

# A client of a network file system may believe "no such file" for half a minute; that it changes the
# directory itself makes it look again.
look_again() {
    publish_lines "looked.$rank" ''
}

leave() { # EXIT-CODE WORDS
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
    for each in $servers $child; do kill -9 "$each" 2>/dev/null; done
    # shellcheck disable=SC2086 # lists of names without blanks
    if [ -n "$said" ]; then
        cat $said >server.out
        : >server.err
        for each in $complained; do [ ! -s "$each" ] || cat "$each" >>server.err; done
    fi
    publish "gone.$rank" "$2"
    exit "$1"
}

fail() { # MESSAGE [EXIT-CODE]
    echo "pair: $1" >&2
    leave "${2:-1}" "$1"
}

words_of_server() { # RUN
    words=$(cat "$meeting/out.$1" "$meeting/err.$1" | grep -v -e '^ *$' -e '^ *-*$' | tail -n 1)
    echo "${words:-nothing}"
}

child_runs() {
    read -r stat 2>/dev/null <"/proc/$child/stat" || return 1
    case $stat in *') Z '*) return 1 ;; esac
}

# Looks at all sockets at once: sets listening, to ":PORT=INODE" of those that listen, the port in
# hexadecimal digits, and held, to what the servers have open.
look_at_sockets() {
    listening=
    while read -r _ local _ _ _ _ _ _ _ inode _; do
        listening="$listening :${local##*:}=$inode "
    done <<EOF
$(grep -h ' 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
EOF
    held=
    # shellcheck disable=SC2046,SC2086 # numbers, and paths without blanks
    [ -z "$servers" ] || held=$(ls -l $(printf '/proc/%s/fd ' $servers) 2>/dev/null)
}

is_taken() { # PORT
    case $listening in *" :$(printf '%04X' "$1")="*) return 0 ;; esac
    return 1
}

child_listens() { # PORT
    key=":$(printf '%04X' "$1")="
    for each in $listening; do
        case $each in "$key"*)
            case $held in *"socket:[${each#*=}]"*) return 0 ;; esac
            ;;
        esac
    done
    return 1
}

# Ends the child, by its PID, when its time is over. Looks every other second, to take next to
# nothing from what is measured.
watch() { # RUN ROLE FILE-OF-THE-OTHER-END
    trap 'kill "$nap" 2>/dev/null; exit' TERM
    seconds=0
    waited=0
    while :; do
        sleep 2 &
        nap=$!
        wait "$nap"
        seconds=$((seconds + 2))
        look_again
        if [ -s "$meeting/gone.$other" ]; then
            read -r words <"$meeting/gone.$other"
            waited=$((waited + 2))
        elif [ -s "$meeting/$3" ]; then
            read -r code <"$meeting/$3"
            words="exit code $code"
            waited=$((waited + 2))
            [ "$code" = 0 ] || waited=$((grace + 1))
        fi
        if [ "$waited" -gt "$grace" ]; then
            verdict="did not end within $grace s after the other end ($words)"
        elif [ "$rank" = 0 ] && [ "$seconds" -gt "$patience" ] && [ ! -s "$meeting/here.1" ]; then
            verdict="had no client within $patience s: rank 1 did not start"
        elif [ "$seconds" -gt "$limit" ]; then
            verdict="did not end within $limit s: a hang, or a fabric far slower than expected"
        else
            continue
        fi
        publish "verdict.$rank" "run $1: the $2 on $host $verdict"
        kill -9 "$child"
        exit
    done
}

# The child was waited for: its PID may be another's now.
forget() {
    rest=
    for each in $servers; do [ "$each" = "$child" ] || rest="$rest $each"; done
    servers=$rest
    child=
}

# Waits for the child below its watch; sets code.
finish() { # RUN ROLE FILE-OF-THE-OTHER-END
    watch "$@" </dev/null >/dev/null 2>&1 &
    watcher=$!
    wait "$child"
    code=$?
    forget
    kill "$watcher" 2>/dev/null
    watcher=
    if [ -s "$meeting/verdict.$rank" ]; then
        read -r words <"$meeting/verdict.$rank"
        [ "$2" = server ] || publish "client.$1" "$code"
        fail "$words"
    fi
}

# Starts the server of a run on the next free port.
offer() { # RUN PROGRAM [OPTION ...]
    run=$1
    shift
    while [ "$port" -le "$last_port" ] && is_taken "$port"; do port=$((port + 1)); done
    [ "$port" -le "$last_port" ] ||
        fail "run $run: expected a free port from $first_port to $last_port on $host, found all of them taken: end what listens there (ss -ltnp)"
    echo "pair: run $run: $* -p $port" >"$meeting/out.$run"
    "$@" -p "$port" <"$input" >>"$meeting/out.$run" 2>"$meeting/err.$run" &
    servers="$servers $!"
    said="$said $meeting/out.$run"
    complained="$complained $meeting/err.$run"
    eval "server_$run=$! port_$run=$port"
    port=$((port + 1))
}

started() { # RUN
    eval "child=\$server_$1 at=\$port_$1"
}

# Sets missing if the server of a run does not listen yet; where somebody else took its port first, it
# gets another one.
await() { # RUN PROGRAM [OPTION ...]
    started "$1"
    if child_listens "$at"; then return; fi
    missing=yes
    [ "$tenths" -lt "${patience}0" ] ||
        fail "run $1: the server $2 on $host did not listen on port $at within $patience s"
    if child_runs; then return; fi
    wait "$child"
    code=$?
    forget
    look_at_sockets
    is_taken "$at" ||
        fail "run $1: the server $2 on $host ended with exit code $code before it listened, its last words: $(words_of_server "$1")"
    offer "$@"
}

announce() { # RUN
    started "$1"
    offered="$offered$1 $at $host
"
}

serve() { # RUN PROGRAM [OPTION ...]
    started "$1"
    finish "$1" server "client.$1"
    if [ "$code" -ne 0 ]; then
        fail "run $1: the server $2 on $host ended with exit code $code, its last words: $(words_of_server "$1")" "$code"
    fi
}

compare_versions() { # PROGRAM
    read -r server theirs <"$meeting/here.0"
    if [ "$theirs" != "$version" ]; then
        fail "expected the same version of $1 at both ends, found '$theirs' on $server and '$version' on $host: install one"
    fi
    [ -z "$version" ] || echo "pair: version $version"
}

join() { # RUN PROGRAM [OPTION ...]
    run=$1
    shift
    tenths=0
    until [ -e "$meeting/servers" ]; do
        if [ -s "$meeting/gone.0" ]; then
            read -r words <"$meeting/gone.0"
            leave 1 "no server: $words"
        fi
        if [ "$tenths" -ge "${patience}0" ]; then
            found='rank 0 did not start'
            [ ! -s "$meeting/here.0" ] || found='rank 0 has started, but none listens'
            fail "run $run: the client on $host found no server within $patience s: $found"
        fi
        tenths=$((tenths + 1))
        [ $((tenths % 10)) -ne 0 ] || look_again
        sleep 0.1
    done
    [ "$run" -ne 1 ] || compare_versions "$1"
    while read -r number_of port server && [ "$number_of" != "$run" ]; do :; done <"$meeting/servers"
    echo "pair: run $run of $runs: $*"
    "$@" -p "$port" "$server" <"$input" &
    child=$!
    finish "$run" client "gone.0"
    publish "client.$run" "$code"
    [ "$code" -eq 0 ] || fail "run $run: the client $1 on $host ended with exit code $code" "$code"
    echo "pair: run $run ended"
}

first_words() {
    while read -r words; do
        [ -z "$words" ] || break
    done
    echo "$words"
}

# Calls a function with the number of a run, the program and the options of that run.
perform() { # FUNCTION RUN PROGRAM [OPTION ...] [::: OPTION ...] ...
    what=$1
    wanted=$2
    shift 2
    list=0
    left=$#
    while [ "$left" -gt 0 ]; do
        word=$1
        shift
        left=$((left - 1))
        if [ "$word" = ::: ]; then
            list=$((list + 1))
        elif [ "$list" -eq 0 ] || [ "$list" -eq "$wanted" ]; then
            set -- "$@" "$word"
        fi
    done
    case $what in
    offer) offer "$wanted" "$@" ;;
    await) await "$wanted" "$@" ;;
    announce) announce "$wanted" ;;
    serve) serve "$wanted" "$@" ;;
    join) join "$wanted" "$@" ;;
    esac
}

for_each_run() { # FUNCTION PROGRAM [OPTION ...] [::: OPTION ...] ...
    function=$1
    shift
    number=1
    while [ "$number" -le "$runs" ]; do
        perform "$function" "$number" "$@"
        number=$((number + 1))
    done
}

trap 'leave 143 "ended by a signal"' TERM INT HUP
mkdir -p "$meeting" || exit 1
if [ -e "$meeting/here.$rank" ]; then
    echo "pair: expected a fresh $PWD/$meeting, found one of an earlier attempt: remove it" >&2
    exit 1
fi
command -v "$1" >/dev/null ||
    fail "expected the program $1 on PATH of $host, found none: install it there, or load its module"
version=
if [ -n "${FABRICHECK_PAIR_VERSION:-}" ]; then
    version=$("$1" "$FABRICHECK_PAIR_VERSION" </dev/null 2>&1 | first_words)
fi
publish "here.$rank" "$host $version"

runs=0
for word in "$@"; do
    [ "$word" != ::: ] || runs=$((runs + 1))
done
[ "$runs" -gt 0 ] || runs=1
if [ "$rank" = 0 ]; then
    look_at_sockets
    for_each_run offer "$@"
    tenths=0
    missing=yes
    while [ -n "$missing" ]; do
        sleep 0.1
        look_at_sockets
        missing=
        for_each_run await "$@"
        tenths=$((tenths + 1))
    done
    offered=
    for_each_run announce "$@"
    publish_lines servers "${offered%?}"
    for_each_run serve "$@"
else
    for_each_run join "$@"
fi
leave 0 'all runs ended'
