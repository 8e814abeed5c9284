#!/bin/bash
# Usage: rank.sh MBIT[:SHARE] PROGRAM [OPTIONS]
# One rank of allreduce_lab: the job's Redis is the place where it meets the others (redis.sh). With
# MBIT above 0 it runs behind a link of that rate, which may drop frames (shaped_link.sh).
set -euo pipefail
rate=$1; shift
if [[ ! -f redis.env ]]; then
  cat redis.err >&2 2>/dev/null || echo "rank.sh: expected redis.env, found none: no Redis runs" >&2
  exit 2
fi
host='' port=''
# shellcheck disable=SC1091
. ./redis.env
program=$1; shift
# shellcheck source=src/fabricheck/schedulers/job.sh
. "${0%/*}/../../schedulers/job.sh"
if [[ -z $job_ranks || -z $job_rank ]]; then
  echo "rank.sh: expected rank and size of Open MPI, PMI or Slurm in the environment, found none: use another launcher" >&2
  exit 2
fi
set -- "$program" --size "$job_ranks" --rank "$job_rank" \
  --redis-host "$host" --redis-port "$port" --prefix "$job.$job_restarts" "$@"
[[ $rate == 0 ]] || exec "${0%/*}/shaped_link.sh" "$rate" "$@"
exec "$@"
