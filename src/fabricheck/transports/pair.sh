#!/bin/sh
# Runs a program as server on rank 0 and as its client on rank 1, once or several times in one job.
#
# usage: pair.sh PROGRAM [OPTION ...] [::: OPTION ...] ...
#   What stands before the first ::: belongs to every run, what stands after one to its own run. The
#   server gets '-p PORT' as well, the client '-p PORT SERVER'.
#   FABRICHECK_PAIR_WAIT=30    seconds that one end waits for the other to start
#   FABRICHECK_PAIR_GRACE=10   seconds that an end has to end after the other
#   FABRICHECK_PAIR_LIMIT=60   seconds that one run may take
#   FABRICHECK_PAIR_VERSION    option that makes the program tell its version, which must be the same
#                              at both ends; without it they are not compared
#
# The client's standard output is the job's, with a line 'pair: run N of M: PROGRAM OPTION ...' above
# each run and 'pair: run N ended' below, and 'pair: version TEXT' first of all. The server's goes to server.out and server.err. Each fault
# is one line 'pair: ...' in the job's error output, and an exit code other than 0.
#
# The ends meet in a directory named after job, step and restart, so that nothing of an earlier
# attempt is read:
#   here.RANK      host name of an end that has started, and the version of its program
#   server.N       port and host name of the server of run N, written when it listens
#   client.N       exit code of the client of run N
#   gone.RANK      last words of an end that is over
#   verdict.RANK   why the watch of this end has ended its program

rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}
other=$((1 - rank))
meeting=pair.${SLURM_JOB_ID:-0}.${SLURM_STEP_ID:-0}.${SLURM_RESTART_COUNT:-0}
patience=${FABRICHECK_PAIR_WAIT:-30}
grace=${FABRICHECK_PAIR_GRACE:-10}
limit=${FABRICHECK_PAIR_LIMIT:-60}
host=$(hostname)
child=
watcher=

# Below the ports that the kernel gives out itself (32768 and up), each job in a range of its own.
first_port=$((18515 + ${SLURM_JOB_ID:-0} % 600 * 20))
last_port=$((first_port + 19))
port=$first_port

publish() { # NAME TEXT: whole or not at all
    echo "$2" >"$meeting/$1.part.$rank" && mv "$meeting/$1.part.$rank" "$meeting/$1"
}

# A client of a network file system may believe "no such file" for half a minute; that it changes the
# directory itself makes it look again.
look_again() {
    publish "looked.$rank" ''
}

leave() { # EXIT-CODE WORDS
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
    [ -z "$child" ] || kill -9 "$child" 2>/dev/null
    publish "gone.$rank" "$2"
    exit "$1"
}

fail() { # MESSAGE [EXIT-CODE]
    echo "pair: $1" >&2
    leave "${2:-1}" "$1"
}

words_of_server() {
    words=$(cat server.out server.err 2>/dev/null | grep -v -e '^ *$' -e '^ *-*$' | tail -n 1)
    echo "${words:-nothing}"
}

child_runs() {
    read -r stat 2>/dev/null <"/proc/$child/stat" || return 1
    case $stat in *') Z '*) return 1 ;; esac
}

# The inodes of the sockets that listen on the port.
listeners() {
    hex=$(printf '%04X' "$port")
    grep -h "^ *[0-9]*: [0-9A-F]*:$hex [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        while read -r _ _ _ _ _ _ _ _ _ inode _; do echo "$inode"; done
}

child_listens() {
    for inode in $(listeners); do
        case $(ls -l "/proc/$child/fd" 2>/dev/null) in *"socket:[$inode]"*) return 0 ;; esac
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
        if [ -e "$meeting/gone.$other" ]; then
            read -r words <"$meeting/gone.$other"
            waited=$((waited + 2))
        elif [ -e "$meeting/$3" ]; then
            read -r code <"$meeting/$3"
            words="exit code $code"
            waited=$((waited + 2))
            [ "$code" = 0 ] || waited=$((grace + 1))
        fi
        if [ "$waited" -gt "$grace" ]; then
            verdict="did not end within $grace s after the other end ($words)"
        elif [ "$rank" = 0 ] && [ "$seconds" -gt "$patience" ] && [ ! -e "$meeting/here.1" ]; then
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

# Waits for the child below its watch; sets code.
finish() { # RUN ROLE FILE-OF-THE-OTHER-END
    watch "$@" </dev/null >/dev/null 2>&1 &
    watcher=$!
    wait "$child"
    code=$?
    child=
    kill "$watcher" 2>/dev/null
    watcher=
    if [ -e "$meeting/verdict.$rank" ]; then
        read -r words <"$meeting/verdict.$rank"
        [ "$2" = server ] || publish "client.$1" "$code"
        fail "$words"
    fi
}

# Starts the server of a run on a free port; returns 1 where somebody else took the port first.
start_server() { # RUN PROGRAM [OPTION ...]
    run=$1
    shift
    echo "pair: run $run: $* -p $port" >>server.out
    "$@" -p "$port" </dev/null >>server.out 2>>server.err &
    child=$!
    tenths=0
    until child_listens; do
        if ! child_runs; then
            wait "$child"
            code=$?
            child=
            [ -z "$(listeners)" ] || return 1
            fail "run $run: the server $1 on $host ended with exit code $code before it listened, its last words: $(words_of_server)"
        fi
        [ "$tenths" -lt "${patience}0" ] ||
            fail "run $run: the server $1 on $host did not listen on port $port within $patience s"
        tenths=$((tenths + 1))
        sleep 0.1
    done
    publish "server.$run" "$port $host"
}

serve() { # RUN PROGRAM [OPTION ...]
    while :; do
        [ "$port" -le "$last_port" ] ||
            fail "run $1: expected a free port from $first_port to $last_port on $host, found all of them taken: end what listens there (ss -ltnp)"
        if [ -z "$(listeners)" ] && start_server "$@"; then break; fi
        port=$((port + 1))
    done
    finish "$1" server "client.$1"
    if [ "$code" -ne 0 ]; then
        fail "run $1: the server $2 on $host ended with exit code $code, its last words: $(words_of_server)" "$code"
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
    until [ -e "$meeting/server.$run" ]; do
        if [ -e "$meeting/gone.0" ]; then
            read -r words <"$meeting/gone.0"
            leave 1 "no server: $words"
        fi
        if [ "$tenths" -ge "${patience}0" ]; then
            found='rank 0 did not start'
            [ ! -e "$meeting/here.0" ] || found='rank 0 has started, but none listens'
            fail "run $run: the client on $host found no server within $patience s: $found"
        fi
        tenths=$((tenths + 1))
        [ $((tenths % 10)) -ne 0 ] || look_again
        sleep 0.1
    done
    [ "$run" -ne 1 ] || compare_versions "$1"
    read -r port server <"$meeting/server.$run"
    echo "pair: run $run of $runs: $*"
    "$@" -p "$port" "$server" </dev/null &
    child=$!
    finish "$run" client "gone.0"
    publish "client.$run" "$code"
    [ "$code" -eq 0 ] || fail "run $run: the client $1 on $host ended with exit code $code" "$code"
    echo "pair: run $run ended"
}

# Calls serve or join with the options of one run.
perform() { # RUN PROGRAM [OPTION ...] [::: OPTION ...] ...
    wanted=$1
    shift
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
    if [ "$rank" = 0 ]; then serve "$wanted" "$@"; else join "$wanted" "$@"; fi
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
    version=$("$1" "$FABRICHECK_PAIR_VERSION" </dev/null 2>&1 | grep -v '^ *$' | head -n 1)
fi
publish "here.$rank" "$host $version"

runs=0
for word in "$@"; do
    [ "$word" != ::: ] || runs=$((runs + 1))
done
[ "$runs" -gt 0 ] || runs=1
number=1
while [ "$number" -le "$runs" ]; do
    perform "$number" "$@"
    number=$((number + 1))
done
leave 0 'all runs ended'
