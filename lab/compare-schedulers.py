#!/usr/bin/env python3
"""Compare the verdicts of cases that share an allocation with those of a job each.

Runs `fabricheck run --system testbed` twice in a directory of its own, with `scheduler: allocation`
and with `scheduler: squeue`, and compares what the record says of each case: its level, whether its
transport was proved, how many values it has. What other work disturbed is counted apart, as it says
nothing of either. Exit code 1: a case is judged in another way, or is missing; 2: a run left no
record.

example:
    . ./setup-env.sh && lab/compare-schedulers.py -- --tag acceptance
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fabricheck.errors import FabricheckError
from fabricheck.record.costs import Key, key_of
from fabricheck.report.load import load
from fabricheck.report.status import Status

SUITE = Path(__file__).resolve().parents[1]
FABRICHECK = Path(sys.executable).with_name("fabricheck")
SCHEDULERS = ("allocation", "squeue")


class Told(NamedTuple):
    """What the record says of a case."""

    status: Status
    proved: bool
    values: int
    job: str


def run(home: Path, scheduler: str, options: list[str]) -> tuple[float, dict[Key, Told]]:
    """Seconds that the suite took, and what it says of each case."""
    site = (SUITE / "sites" / "testbed.yaml").read_text()
    (home / "sites" / "testbed.yaml").write_text(
        site.replace("scheduler: allocation", f"scheduler: {scheduler}")
    )
    begin = time.monotonic()
    subprocess.run(
        [FABRICHECK, "run", "--system=testbed", *options],
        cwd=home,
        env={**os.environ, "FABRICHECK_SITES": str(home)},
        stdout=sys.stderr,
        check=False,
    )
    seconds = time.monotonic() - begin
    try:
        cases = load(home / "perflogs").cases
    except FabricheckError as error:
        sys.stderr.write(f"compare-schedulers: the run with {scheduler} left no record: {error}\n")
        sys.exit(2)
    return seconds, {
        key_of(each): Told(
            each.status,
            bool(each.evidence),
            sum(sample.value is not None for sample in each.samples),
            # A ratio has no ranks and no job of Slurm.
            each.job.partition("/")[0] if each.ranks > 1 else "",
        )
        for each in cases
    }


def differences(found: Mapping[str, Mapping[Key, Told]]) -> Iterator[str]:
    """The cases of which the two runs say something else."""
    one, many = (found[name] for name in SCHEDULERS)
    for key in sorted({*one, *many}):
        words = " ".join(filter(None, key))
        if key not in one or key not in many:
            yield f"{words}: only with {SCHEDULERS[key not in one]}"
            continue
        pair = one[key], many[key]
        if Status.DISTURBED not in (pair[0].status, pair[1].status) and pair[0][:3] != pair[1][:3]:
            yield f"{words}: {SCHEDULERS[0]} {_words(pair[0])}; {SCHEDULERS[1]} {_words(pair[1])}"


def _words(told: Told) -> str:
    return f"{told.status}, {'proved' if told.proved else 'not proved'}, {told.values} values"


def main() -> None:
    """Run, compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("options", nargs="*", help="options of `fabricheck run`, after --")
    options = parser.parse_args().options
    found: dict[str, dict[Key, Told]] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as directory:
        home = Path(directory)
        (home / "sites").mkdir()
        for scheduler in SCHEDULERS:
            seconds, found[scheduler] = run(home, scheduler, options)
            cases = found[scheduler].values()
            counts = Counter(str(each.status) for each in cases)
            jobs = {each.job for each in cases if each.job}
            sys.stdout.write(
                f"{scheduler}: {len(cases)} cases in {len(jobs)} jobs, {seconds:.0f} s: "
                f"{', '.join(f'{number} {status}' for status, number in counts.most_common())}\n"
            )
    different = list(differences(found))
    disturbed = {
        key
        for each in found.values()
        for key, told in each.items()
        if told.status is Status.DISTURBED
    }
    sys.stdout.write("".join(f"{line}\n" for line in different))
    sys.stdout.write(
        f"{len(different)} cases differ; {len(disturbed)} were disturbed and are not compared\n"
    )
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
