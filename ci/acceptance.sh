#!/bin/bash
# Measure before and after a change, and say whether it may stay: fabricheck accept --campaign.
#
# Usage: ci/acceptance.sh NAME [OPTION...] [-- REFRAME_OPTION...]     options of `fabricheck accept`
#
#   ci/acceptance.sh fw28 --before 'ssh sw1 use-image 27' --after 'ssh sw1 use-image 28' \
#       -- -n MpiPointToPoint -J nodelist=c[1-2]
#   ci/acceptance.sh cables --only before; ...; ci/acceptance.sh cables --only after
#   ci/acceptance.sh as-it-is --control -- -n MpiPointToPoint
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=setup-env.sh
. ./setup-env.sh
exec fabricheck accept --campaign "${1-}" "${@:2}"
