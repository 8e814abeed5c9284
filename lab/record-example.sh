#!/bin/bash
# Record the example history in perflogs/example: runs on the embedded testbed, two of them with a
# rate limit on a node's link.
# Usage: lab/record-example.sh [RUNS]     default 8; the fifth and sixth have the limit
#
# Needs a checkout without perflogs of its own, since all of them become the example: for example
# `git worktree add ../example`, with .venv linked into it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=${1:-8}
limit=(rate 100mbit burst 64kb latency 50ms)

[[ ! -e perflogs/testbed ]] || {
  echo "record-example: expected no perflogs/testbed, found one: use another checkout" >&2
  exit 2
}
PATH=$PWD/.venv/bin:$PATH
export PYTHONPATH=$PWD/src
fabricheck testbed up --nodes 2 --share "$PWD"
trap 'fabricheck testbed fault n1 clear' EXIT

for ((run = 1; run <= runs; run++)); do
  if ((run == 5)); then
    fabricheck testbed fault n1 "${limit[@]}"
  elif ((run == 7)); then
    fabricheck testbed fault n1 clear
  fi
  # A slow link makes some cases critical, as it should.
  fabricheck run --system testbed --benchmark latency --environ openmpi ||
    (($? == 1))
done

# Without places of this machine.
python - <<'EOF'
import dataclasses
import gzip
from pathlib import Path

from fabricheck.record.entries import Case, to_line
from fabricheck.record.read import entries, record_files

for path in record_files(Path("perflogs/testbed")):
    cases = [each for each in entries(path)[0] if isinstance(each, Case) and not each.fixture]
    lines = "".join(to_line(dataclasses.replace(case, output="")) for case in cases)
    kept = Path("perflogs/example", *path.parts[1:-1], f"{path.name}.gz")
    if lines:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(gzip.compress(lines.encode(), mtime=0))
EOF
