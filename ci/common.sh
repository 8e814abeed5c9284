# Sourced by ci/setup and ci/spack-bootstrap: saying what is done, Debian packages, Python.
# They run in the root of the checkout; $root is its path, $log their log file.

say() { printf '%s: [%3d s] %s\n' "${0##*/}" "$SECONDS" "$*"; }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 2
}

# How far a command has come, for those that can tell.
progress() { :; }

# Runs a command with its output in the log, and shows every 15 seconds that it is alive.
run_logged() {
  local what=$1 next=$((SECONDS + 15)) status=0
  shift
  "$@" >>"$log" 2>&1 </dev/null 9<&- &
  local child=$!
  trap 'kill "$child" 2>/dev/null; wait "$child"; exit 130' INT TERM
  while kill -0 "$child" 2>/dev/null; do
    sleep 0.2
    if ((SECONDS >= next)); then
      say "$what: still at work$(progress)"
      next=$((SECONDS + 15))
    fi
  done
  wait "$child" || status=$?
  trap - INT TERM
  if ((status)); then
    tail -n 20 "$log" >&2
    fail "$what failed with exit code $status; its last lines are above, the whole log is $log"
  fi
}

# As a column of ci/packages/names.csv: debian13, ubuntu24.04, el9 for all that are built from it.
distribution() {
  (. "${OS_RELEASE:-/etc/os-release}" 2>/dev/null &&
    case ${PLATFORM_ID-}/${ID-} in
      platform:*) printf '%s' "${PLATFORM_ID#*:}" ;;
      */sles) printf '%s' "$ID${VERSION_ID%%.*}" ;;
      *) printf '%s' "${ID-}${VERSION_ID-}" ;;
    esac)
}

wanted_packages() { # GROUP...
  local of
  for of; do
    sed -e 's/[[:space:]]*#.*//' -e '/^$/d' "ci/packages/$of.txt"
  done | awk -F, -v here="$(distribution)" '
    FNR == NR && FNR == 1 { for (i = 2; i <= NF; i++) if ($i == here) column = i }
    FNR == NR { if (column) name[$1] = $column; next }
    { if (name[$1]) $1 = name[$1]; if ($1 != "-") print $1 }' ci/packages/names.csv - | sort -u
}

missing_packages() { # GROUP...
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u)
  comm -23 <(wanted_packages "$@") <(printf '%s\n' "$installed")
}

find_python() {
  local candidate
  # EL and SLES have newer ones beside an old python3.
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
    candidate=$(command -v "$candidate" || true)
    [[ -n $candidate && $candidate != "$root"/.venv/* ]] || continue
    if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  fail 'expected a python3 of version 3.11 or newer with its venv module, found none; install one (python3 and python3-venv; on EL python3.12)'
}
