#!/usr/bin/env python3
"""Inject every fault of lab/faults.yaml into a testbed, and see that the checks see it.

The testbed is one of its own, with RDMA devices, and so is the copy of the suite that runs on it:
neither history nor reports of this checkout ever hear of a drill. Everything must be green before
the first fault and again after each.

Exit code 0: every fault was seen as the list says, and nothing of it was left. 1: not so.
2: bad input, or no testbed, or not green without a fault.

examples:
    . ./setup-env.sh && lab/faults.py            # all; half an hour
    lab/faults.py --only loss --only rate --quick
    lab/faults.py --json | jq '.faults[] | select(.passed | not) | .missed'
    lab/faults.py --quick --write                # and the table in docs/explanation/faults.md
    lab/faults.py --list
"""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from drill.document import COMMAND, rows, table
from drill.drill import Outcome, drill
from drill.fault import Fault, read_faults
from drill.scene import Scene
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.report.files import write_whole
from fabricheck_testbed.errors import TestbedError
from generated import insert

LIST = SUITE / "lab" / "faults.yaml"
DOCUMENT = SUITE / "docs" / "explanation" / "faults.md"


def main() -> int:
    """Read the options and hold the drill."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", metavar="FAULT", help="only this one; may be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="only cases of which the list expects something"
    )
    parser.add_argument("--json", action="store_true", help="print what was seen, for machines")
    parser.add_argument("--list", action="store_true", help="print the faults, and end")
    parser.add_argument(
        "--write", action="store_true", help=f"write the rows of the table in {DOCUMENT.name}"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    try:
        listed = read_faults(LIST)
        faults = chosen(listed, options.only)
        if options.list:
            sys.stdout.writelines(f"{fault.name:<16}{fault.title}\n" for fault in faults)
            return 0
        outcomes = []
        for outcome in hold([fault.quick() for fault in faults] if options.quick else faults):
            outcomes.append(outcome)
            if options.write:
                write(outcomes, listed)
    except (FabricheckError, TestbedError) as error:
        sys.stderr.write(f"faults: {error}\n")
        return error.exit_code
    if options.json:
        json.dump(
            {"format": 1, "faults": [as_json(each) for each in outcomes]}, sys.stdout, indent=2
        )
        sys.stdout.write("\n")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def chosen(faults: Sequence[Fault], names: Sequence[str] | None) -> list[Fault]:
    """The faults of these names; all without names.

    Raises:
        FabricheckError: for a name that is not in the list.
    """
    known = {fault.name: fault for fault in faults}
    for name in names or ():
        if name not in known:
            raise FabricheckError(f"expected a fault of {', '.join(known)}, found {name!r}")
    return [known[name] for name in names or known]


def write(outcomes: Sequence[Outcome], faults: Sequence[Fault]) -> None:
    """Put the rows into the document, beside those of faults that were injected another time."""
    text = DOCUMENT.read_text()
    write_whole(DOCUMENT, insert(text, COMMAND, [table(outcomes, faults, rows(text))], DOCUMENT))


def hold(faults: Sequence[Fault]) -> Iterator[Outcome]:
    """Hold the drill on a testbed that goes with it."""
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as directory,
        Scene(Path(directory) / "tb", tell) as scene,
    ):
        yield from drill(scene, faults, tell)


def tell(text: str) -> None:
    """Say how far it is."""
    sys.stderr.write(f"faults: {text}\n")
    sys.stderr.flush()


def stop(number: int, _: FrameType | None) -> NoReturn:
    """End as after an interrupt, so that the testbed goes down."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """One fault for machines."""
    return {
        "name": outcome.fault.name,
        "passed": outcome.passed,
        "missed": outcome.missed,
        "left_behind": outcome.left_behind,
        "seconds": round(outcome.seconds, 1),
        "first_line": outcome.first_line,
        "cases": [
            {
                "case": str(key),
                "status": sight.status,
                "causes": sight.causes,
                "places": sight.places,
                "explanation": sight.explanation,
            }
            for key, sight in outcome.sights.items()
        ],
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
