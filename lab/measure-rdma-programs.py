#!/usr/bin/env python3
"""Measure rdma_stream and rdma_batch on the testbed's RDMA nodes, and write their pages' tables.

Each program has a module beside this one (measure_rdma_batch.py) that says what is measured: its
`DOCUMENT`, and `measure(pair)`, which returns the tables by name. They take the place of what is in
the page between the two marks of that name.

example:
    . ./setup-env.sh && fabricheck testbed up --rdma
    lab/measure-rdma-programs.py
    lab/measure-rdma-programs.py --only rdma_batch --print
"""

import argparse
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fabricheck.cli.door import DOOR
from fabricheck.errors import FabricheckError
from fabricheck.report.files import write_whole
from fabricheck.sites.extras import FabricHealthExtra, PartitionExtras
from fabricheck.transports.pair import PAIR_WRAPPER, arguments, read_runs
from fabricheck_testbed import Testbed
from fabricheck_testbed.errors import TestbedError
from generated import insert

SUITE = Path(__file__).resolve().parents[1]
BUILD = SUITE / "build" / "measure-rdma"
MODULES = sorted(path.stem for path in Path(__file__).parent.glob("measure_rdma_*.py"))
PROGRAMS = [module.removeprefix("measure_") for module in MODULES]
SERVER, CLIENT = "rx1", "rx2"
SECONDS = 570.0


class NodePair:
    """The testbed's two RDMA nodes: the first runs servers, the second their clients."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.extras = PartitionExtras(gid_index=1, fabric_health=FabricHealthExtra(mtu=4096))

    def program(self, name: str) -> str:
        """Path of one of our programs."""
        return str(BUILD / name / name)

    def run(self, runs: Sequence[Sequence[str]]) -> list[str]:
        """What the client of each run printed."""
        with tempfile.TemporaryDirectory(dir=SUITE / "build") as meeting:
            words = [str(PAIR_WRAPPER), *arguments("env", (), runs)]
            script = f'cd {meeting} && FABRICHECK_PAIR_LIMIT=300 SLURM_PROCID=$0 exec "$@"'
            ends = [
                subprocess.Popen(
                    self.testbed.command(node, "sh", "-c", script, rank, *words),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for rank, node in (("0", SERVER), ("1", CLIENT))
            ]
            outputs = [end.communicate(timeout=SECONDS) for end in ends]
        if any(end.returncode for end in ends):
            raise FabricheckError(
                f"expected both ends to succeed, found {outputs[0][1]}{outputs[1][1]}"
            )
        return read_runs(outputs[1][0], len(runs))


def build(programs: Sequence[str]) -> None:
    """Build the programs."""
    for command in (
        ["cmake", "-S", SUITE / "src" / "bench", "-B", BUILD, "-DBUILD_TESTING=OFF"],
        ["cmake", "--build", BUILD, "-j2", "--target", *programs],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FabricheckError(f"the build failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def put(page: Path, name: str, table: str) -> None:
    """Replace a table of a page."""
    mark = f"lab/measure-rdma-programs.py {name}"
    write_whole(page, insert(page.read_text(), mark, [table], page))


def main() -> int:
    """Read the options, measure, and write or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PROGRAMS, help="one program")
    parser.add_argument("--print", action="store_true", help="print, and leave the pages alone")
    options = parser.parse_args()
    try:
        programs = PROGRAMS if options.only is None else [options.only]
        build(programs)
        pair = NodePair(Testbed(DOOR.state_dir()))
        for program in programs:
            module = importlib.import_module(f"measure_{program}")
            for name, table in module.measure(pair).items():
                if options.print:
                    sys.stdout.write(f"{program} {name}\n\n{table}\n\n")
                else:
                    put(SUITE / module.DOCUMENT, name, table)
    except (FabricheckError, TestbedError) as error:
        sys.stderr.write(f"measure-rdma-programs: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
