#!/bin/sh
# A remote shell on the nodes of a job of PBS, which starts and ends what runs there.
#
# usage: pbs_shell.sh HOST COMMAND [ARG ...]     as of ssh: the words are a line for a shell
# It reads no input; the output is that of the job. pbs_tmrsh takes a program and its arguments, where
# a launcher of MPI gives a line.
host=$1
shift
exec pbs_tmrsh "$host" /bin/sh -c "$*"
