#!/bin/bash
# Usage: shaped_link.sh MBIT[:SHARE] PROGRAM [ARGUMENTS]
# Runs a program behind a link of its own, in a network namespace that ends with it: what it sends
# and what it receives pass a token bucket of so many Mbit/s. Its neighbours see it under an address
# in the subnet of the node's eth0, 100 above the node's own. Of the frames that it receives with 1000
# bytes or more it drops that share, at random.
set -euo pipefail
rate=${1%:*} dropped=0
[[ $1 != *:* ]] || dropped=${1#*:}
shift
outer=eth0 inner=lab$$
if ! own=$(ip -4 -o address show dev "$outer" 2>/dev/null) || [[ -z $own ]]; then
  echo "shaped_link: expected a node whose interface is $outer with an IPv4 address, found none:" \
    "take tail_link_rate from the partition's extras" >&2
  exit 2
fi
read -r _ _ _ own _ <<<"$own"
prefix=${own##*/} own=${own%/*}
address=${own%.*}.$((${own##*.} + 100))
queue="rate ${rate}mbit burst 16kb limit 256kb"
# What TCP hands over at once must fit into the bucket. If it is cut up there, each two frames of it
# get an acknowledgement, and those take 2 % of a link.
whole=12000

drops=:
if [[ $dropped != 0 ]]; then
  # A program of BPF: by its length, and by a random number of 32 bits. Each frame for itself.
  below=$(awk -v share="$dropped" 'BEGIN { printf "%d", share * 4294967296 }')
  code="6,128 0 0 0,53 0 2 1000,32 0 0 4294963256,53 0 1 $below,6 0 0 4294967295,6 0 0 2"
  drops="ip link set eth0 gso_max_segs 1; tc qdisc add dev eth0 clsact
    tc filter add dev eth0 ingress bpf bytecode \"$code\" da"
fi

exec 3<> <(:)   # the program waits until its link is there
unshare --net -- bash -c '
  read -r _ <&3; exec 3<&-
  ip -batch - <<END
link set lo up
link set lab1 name eth0
address add '"$address/$prefix"' brd + dev eth0
link set eth0 gso_max_size '"$whole"' up
END
  tc qdisc add dev eth0 root tbf '"$queue"'
  '"$drops"'
  exec "$@"' shaped_link "$@" &
program=$!
trap 'kill -TERM "$program" 2>/dev/null' TERM INT
until [[ $(readlink "/proc/$program/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do
  kill -0 "$program" && sleep 0.01
done
ip -batch - <<END
link add $inner type veth peer name lab1 netns $program
link set $inner up
route replace $address/32 dev $inner
END
# shellcheck disable=SC2086
tc qdisc add dev "$inner" root tbf $queue
# The node answers for both sides, at once.
for each in "$outer" "$inner"; do
  echo 1 >"/proc/sys/net/ipv4/conf/$each/proxy_arp"
  echo 0 >"/proc/sys/net/ipv4/neigh/$each/proxy_delay"
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo go >&3
code=0
wait "$program" || code=$?
while kill -0 "$program" 2>/dev/null; do wait "$program" || code=$?; done
ip link delete "$inner" 2>/dev/null || true  # gone with the program, in time
echo 0 >"/proc/sys/net/ipv4/conf/$outer/proxy_arp"
echo 0 >/proc/sys/net/ipv4/ip_forward
exit "$code"
