#!/bin/bash
# A night for cron, Slurm's scrontab or CI: checks, history, trend, page, summary.
# Usage: bin/nightly.sh [OPTION...]     options of `fabricheck nightly`, such as --system mycluster
#
#   FABRICHECK_ENVIRONMENT=FILE   a bash file to source first: modules, paths; cron has neither
#   FABRICHECK_MAIL=COMMAND       takes the summary on its standard input; $SUBJECT is set
#
# docs/how-to/nightly.md has the lines for cron and scrontab, and how to be told of a night that is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 0022

if [[ -n ${FABRICHECK_ENVIRONMENT-} ]]; then
  # Modules use variables that are not set.
  set +u
  # shellcheck source=/dev/null
  . "$FABRICHECK_ENVIRONMENT"
  set -u
fi
# shellcheck source=setup-env.sh
. ./setup-env.sh
exec fabricheck nightly "$@"
