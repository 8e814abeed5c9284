#!/bin/bash
# Usage: redis.sh start [INTERFACE] | stop
# A Redis server of this job's own, at the address of an interface of this node (without one: of the
# loopback), on the first free port from 6199 on, with a password of its own. Its place stands in
# redis.env of the working directory, which only the user can read; what went wrong, in redis.err.
set -uo pipefail

fail() {
  echo "redis.sh: $1" | tee redis.err >&2
  exit 1
}

start() {
  address=127.0.0.1
  if [[ -n ${1-} ]]; then
    read -r _ _ _ address _ < <(ip -4 -o address show dev "$1" 2>/dev/null) || address=
    address=${address%/*}
    [[ -n $address ]] || fail "expected an IPv4 address of interface $1, found none"
  fi
  command -v redis-server >/dev/null ||
    fail "expected redis-server on PATH, found none: install redis-server (Debian)"
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  umask 077
  for port in $(seq "${FABRICHECK_REDIS_PORT:-6199}" "${FABRICHECK_REDIS_LAST:-6298}"); do
    # A job that is cut off leaves none: it ends by itself.
    timeout 2h redis-server - >redis.out 2>&1 <<END &
bind $address
port $port
requirepass $password
save ""
END
    server=$!
    for _ in $(seq 100); do
      if grep -qs 'Ready to accept connections' redis.out; then
        printf 'host=%s\nport=%s\npid=%s\nexport REDISCLI_AUTH=%s\n' \
          "$address" "$port" "$server" "$password" >redis.env
        exit 0
      fi
      kill -0 "$server" 2>/dev/null || break
      sleep 0.1
    done
    kill "$server" 2>/dev/null
    grep -q 'Address already in use' redis.out || break
  done
  fail "expected a Redis at $address, found: $(sed -n 's/^.*# \(.*\(already in use\|rror\|ailed\)\)/\1/p' \
    redis.out | head -n 1)"
}

case ${1-} in
start) start "${2-}" ;;
stop)
  [[ -f redis.env ]] || exit 0
  pid=''
  # shellcheck disable=SC1091
  . ./redis.env
  kill "$pid" 2>/dev/null || true
  rm -f redis.env
  ;;
*) fail "usage: redis.sh start [INTERFACE] | stop" ;;
esac
