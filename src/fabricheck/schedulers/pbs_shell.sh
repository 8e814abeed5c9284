#!/bin/sh
# A remote shell on the nodes of a job of PBS, which starts and ends what runs there.
#
# usage: pbs_shell.sh HOST COMMAND [ARG ...]     as of ssh: the words are a line for a shell
# pbs_tmrsh takes a program and its arguments, hands over no input, and leaves the output to the job:
# here it comes through a file of this working directory, which all nodes must see, at the end.
host=$1
shift
output=$(mktemp "$PWD/.output.XXXXXX") || exit 2
trap 'cat "$output"; cat "$output.errors" >&2; rm -f "$output" "$output.errors"' EXIT
trap 'exit 143' HUP INT TERM
pbs_tmrsh "$host" /bin/sh -c "exec >'$output' 2>'$output.errors'; $*"
