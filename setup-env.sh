# Source this file in bash or zsh (. ./setup-env.sh), then: reframe --system=NAME -c checks/ -r
#
# It puts the suite's Python on PATH, with a `reframe` that with --system=testbed runs on the login
# node of this checkout's testbed while that is up (`fabricheck testbed up`), and tells ReFrame where
# the configuration is.
# Everything else (recursion, perflogs, results storage, reports) is in reframe-config.py.

FABRICHECK_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export FABRICHECK_ROOT
export RFM_CONFIG_FILES="$FABRICHECK_ROOT/reframe-config.py"
# A test that ReFrame cannot instantiate would otherwise be skipped with a warning, and the run green.
export RFM_WARN_AS_ERROR=1
# Written by ci/spack-bootstrap: where Spack and its store are.
if [ -f "$FABRICHECK_ROOT/build/spack/env.sh" ]; then
    # shellcheck source=/dev/null
    . "$FABRICHECK_ROOT/build/spack/env.sh"
fi
PATH="$FABRICHECK_ROOT/bin/path:$FABRICHECK_ROOT/.venv/bin:$PATH"
export PATH
