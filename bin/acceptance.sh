#!/bin/bash
# Measure before and after a change, and say whether it may stay: fabricheck accept --campaign.
#
# Usage: bin/acceptance.sh NAME [OPTION...] [-- REFRAME_OPTION...]     options of `fabricheck accept`
#
#   bin/acceptance.sh fw28 --before 'ssh sw1 use-image 27' --after 'ssh sw1 use-image 28' \
#       -- -n MpiPointToPoint -J nodelist=c[1-2]
#   bin/acceptance.sh cables --only before; ...; bin/acceptance.sh cables --only after
#   bin/acceptance.sh as-it-is --control -- -n MpiPointToPoint
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=setup-env.sh
. ./setup-env.sh
exec fabricheck accept --campaign "${1-}" "${@:2}"
