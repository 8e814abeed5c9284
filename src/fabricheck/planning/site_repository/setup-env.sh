# Source this file in bash or zsh: . ./setup-env.sh
#
# It tells fabricheck and ReFrame of the systems in sites/. perflogs/, reports/, stage/ and output/
# come to lie beside them.

FABRICHECK_SITES=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export FABRICHECK_SITES
export RFM_CONFIG_FILES="$FABRICHECK_SITES/reframe-config.py"
# A test that ReFrame cannot instantiate would otherwise be skipped with a warning, and the run green.
export RFM_WARN_AS_ERROR=1
if [ -d "$FABRICHECK_SITES/.venv" ]; then
    PATH="$FABRICHECK_SITES/.venv/bin:$PATH"
    export PATH
fi
