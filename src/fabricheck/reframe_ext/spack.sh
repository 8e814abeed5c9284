# Sourced by a build that installs with Spack: says when there is none, and shows why one failed.

command -v spack >/dev/null || {
  echo "expected the command spack on PATH, found none: set Spack up as docs/how-to/spack.md has it, and source setup-env.sh" >&2
  exit 127
}

# Spack, with the last lines of the right log where a build fails.
spack() {
  local said status
  said=$(mktemp) || return
  # A pipeline ends when tee has written all of it; a process substitution may still be writing.
  {
    command spack "$@" 2>&1 >&3 | tee "$said" >&2
    status=${PIPESTATUS[0]}
  } 3>&1
  if ((status)); then
    local log
    log=$(grep -Eo '/[^ ]*spack-build-[^ ]*\.txt' "$said" | tail -n 1)
    if [[ -f $log ]]; then
      echo "the last lines of $log:" >&2
      tail -n 20 "$log" >&2
    fi
  fi
  rm -f "$said"
  return "$status"
}

# Installs SPEC of the Spack environment again where it was built from other sources than SOURCES:
# Spack knows it by its version, and takes it from its store or a build cache whatever it is made of.
renew() { # ENVIRONMENT SPEC SOURCES
  local prefix
  prefix=$(command spack -e "$1" location -i "$2") || return
  "$3/sources-digest" | cmp -s "$prefix/share/fabricheck-bench/sources.sha256" - ||
    spack -e "$1" install --only-concrete --no-cache --overwrite --yes-to-all "$2"
}
