"""``python -m fabricheck``: the command line where its script is not on PATH."""

from fabricheck.cli import main

main()
