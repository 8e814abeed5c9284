#!/bin/bash
# Measure before and after a change, and say whether it may stay: fabricheck accept on a campaign.
#
# Usage: ci/acceptance.sh NAME [OPTION...] [-- REFRAME_OPTION...]
#   --pairs N        runs on each side at most, default 12
#   --before CMD     command that puts the fabric into the state before the change
#   --after CMD      command that puts it into the state after the change
#   --only SIDE      "before" or "after": run this side alone, where no command can switch
#   --control        change nothing: what this site finds between runs that are alike
#
# With both commands the runs take turns, A-B-B-A, and in the end the state before is restored. From
# the third pair on fabricheck accept is asked after each, and the campaign ends once it is clear. Runs
# that are in ReFrame's results database are not made again: start the script anew after whatever
# ended it, or with more pairs. What follows -- chooses the checks and their nodes, and with --system
# (or RFM_SYSTEM) the system where ReFrame would not find it by the name of this host.
#
#   ci/acceptance.sh fw28 --before 'ssh sw1 use-image 27' --after 'ssh sw1 use-image 28' \
#       -- -n MpiPointToPoint -J nodelist=c[1-2]
#   ci/acceptance.sh cables --only before; ...; ci/acceptance.sh cables --only after
#   ci/acceptance.sh as-it-is --control -- -n MpiPointToPoint
#
# Exit code: that of fabricheck accept (0 accept, 1 reject, 3 inconclusive), 2 for bad input, for a
# command that failed and for a run without result; 0 after --only before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ./setup-env.sh
# ReFrame's results database, which this script counts its runs by.
export FABRICHECK_KEEP_REPORTS=1

fail() {
  echo "acceptance: $*" >&2
  exit 2
}

name=${1-}
[[ $name =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] ||
  fail "expected a name of letters, digits, '.', '_' and '-' for the campaign, found '$name'"
shift
pairs=12 only='' control=()
declare -A switch=()
while (($#)); do
  [[ $1 != -- ]] || { shift && break; }
  [[ $1 != --control ]] || { control=("$1") && shift && continue; }
  (($# > 1)) || fail "expected a value after $1, found none: see the head of this script"
  case $1 in
    --pairs) pairs=$2 ;;
    --before | --after) switch[${1#--}]=$2 ;;
    --only) only=$2 ;;
    *) fail "expected --pairs, --before, --after, --only, --control or --, found '$1'" ;;
  esac
  shift 2
done
checks=("$@")
[[ $pairs =~ ^[1-9][0-9]{0,3}$ ]] || fail "expected a number of pairs from 1 to 9999, found '$pairs'"
case ${only:-${#switch[@]}}${control[*]} in
  2 | before | after | 0--control) ;;
  *) fail "expected --before CMD and --after CMD, or --only before, --only after or --control" ;;
esac
[[ -z $only || ${#switch[@]} == 0 ]] || fail "expected --only without --before and --after"

folder=$PWD/reports/acceptance
mkdir -p "$folder"
exec 9>"$folder/.lock"
# What a killed script left behind may hold it for a moment.
flock --timeout 2 9 || fail "expected no other campaign in this checkout, found one: wait for its end"
# Whoever measures in this checkout holds this lock, fabricheck run too. ReFrame inherits it, so that
# a script started anew waits for a run that was left behind.
exec 8>>reports/.lock

selection() { printf '?campaign=="%s" and state=="%s" and num_aborted==0' "$name" "$1"; }

# How many runs of a side ReFrame has stored: the only memory of a campaign. Called in a subshell,
# which must not hold the campaign's lock.
runs() {
  local listed
  exec 9>&-
  listed=$(reframe --list-stored-sessions="$(selection "$1")" --table-format=csv) ||
    fail "expected ReFrame to list its stored sessions, found: $listed"
  grep -c '^[0-9a-f]\{8\}-' <<<"$listed" || true
}

# Seconds that runs take, the median of the last ones: of this campaign, or of those before it.
seconds_of_a_run() {
  local which listed
  exec 9>&-
  for which in "?campaign==\"$name\"" '?campaign!=""'; do
    listed=$(reframe --list-stored-sessions="$which and num_aborted==0" --table-format=csv) || continue
    # Two times such as 20261122T161536+0000 in each line.
    sed -nE 's/^[0-9a-f]{8}-[^,]*,([^,]*),([^,]*),.*/\1 \2/p' <<<"$listed" | tail -n 9 |
      sed -E 's/([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})/\1-\2-\3T\4:\5:\6/g' |
      while read -r start end; do
        echo $(($(date -d "$end" +%s) - $(date -d "$start" +%s)))
      done | sort -n | awk '{all[NR] = $1} END {if (NR) print all[int((NR + 1) / 2)]; else exit 1}' &&
      return
  done
}

# How long the campaign will take, for a person who decides whether to start it now.
foretell() {
  local one left=$1
  one=$(seconds_of_a_run) || one=
  if [[ -z $one ]]; then
    echo "acceptance: $left runs at most; how long one takes is known after the first"
  else
    printf 'acceptance: %d runs at most, %d min each: until %s at the latest, sooner if it is clear\n' \
      "$left" $(((one + 59) / 60)) "$(date -d "+$((left * one)) seconds" '+%F %H:%M')"
  fi
}

judge() {
  fabricheck history refresh
  fabricheck accept --before "$(selection before)" --after "$(selection after)" "${control[@]}" "$@"
}

# Whether the answer is clear already. It is asked again, with a record, in the end.
is_clear() {
  local code=0
  judge >"$folder/$name.txt" 2>&1 || code=$?
  ((code != 2)) || { cat "$folder/$name.txt" >&2 && exit 2; }
  head -n 2 "$folder/$name.txt"
  ((code < 2))
}

state=
turn_to() {
  [[ ${switch[$1]+there} && $state != "$1" ]] || return 0
  echo "acceptance: switching to the state $1 the change"
  # Until it has ended nobody knows which state it is.
  state=unknown
  bash -c "${switch[$1]}" 9>&- || fail "the command for the state $1 failed: ${switch[$1]}"
  state=$1
}

restore() {
  local code=$?
  [[ -z $state ]] || (exec 9>&- && turn_to before) || code=2
  exit "$code"
}
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run() {
  local side=$1 number=$2 code=0 there
  flock --nonblock 8 || { echo "acceptance: waiting for another run in this checkout" && flock 8; }
  there=$(runs "$side")
  if ((there < number)); then
    turn_to "$side"
    echo "acceptance: $name, run $number of $pairs $side the change"
    # Streams are long here, as in the source of their benchmark; an -S of the caller comes later.
    reframe -c checks -S RdmaStream.messages=1000000 "${checks[@]}" -r --session-extras="campaign=$name,state=$side" 9>&- || code=$?
    there=$(runs "$side")
    ((there >= number)) ||
      fail "expected a stored session of run $number $side, found none; ReFrame ended with $code"
    printf '%s %s %d exit code %d\n' "$(date --utc +%FT%TZ)" "$side" "$number" "$code" >>"$folder/$name.log"
  fi
  flock --unlock 8
}

before=$(runs before)
after=$(runs after)
declare -A stored=([before]=$before [after]=$after) planned=([before]=0 [after]=0)
left=$((${#only} ? pairs - stored[${only:-before}] : 2 * pairs - before - after))
((left <= 0)) || foretell "$left"
for ((pair = 1; pair <= pairs; pair++)); do
  order=(before after) new=
  ((pair % 2)) || order=(after before)
  for side in "${order[@]}"; do
    [[ -z $only || $only == "$side" ]] || continue
    planned[$side]=$((planned[$side] + 1))
    ((planned[$side] <= stored[$side])) && continue
    run "$side" "${planned[$side]}"
    new=1
    [[ $before$after$pair != 001 || $side != before ]] || foretell $((left - 1))
  done
  [[ -z $only && -n $new ]] && ((pair >= 3 && pair < pairs)) && is_clear && break
done
if [[ $only == before ]]; then
  echo "acceptance: now make the change, then: ci/acceptance.sh $name --only after --pairs $pairs"
  exit 0
fi

before=$(runs before)
after=$(runs after)
record=$folder/$name-$before-$after.json
[[ -e $record ]] && keep=() || keep=(--record "$record")
judge "${keep[@]}"
