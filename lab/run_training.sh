#!/bin/bash
# An emulated training, by the names and arguments of the OptiReduce benchmarking guide; --help says
# more.
set -euo pipefail
here=$(cd "${0%/*}/.." && pwd)
export PYTHONPATH=$here/src${PYTHONPATH:+:$PYTHONPATH}
exec "${PYTHON:-$here/.venv/bin/python}" "$here/lab/run_training.py" "$@"
