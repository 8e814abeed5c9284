"""A copy of the suite that a test may break, and what a run of it leaves behind."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.reframe_ext.recorded import measured, recorded
from tests.testbeds import measured_again

from fabricheck.cli import guarded
from fabricheck.cli.application import build
from fabricheck.judge.levels import Level
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck_testbed import Testbed

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
COPIED = ("checks", "sites", "src", "bin", "reframe-config.py")
RANK_WRAPPER = "src/fabricheck/transports/rank.sh"
REFERENCES = "references/testbed.yaml"
SITE = "sites/testbed.yaml"

LARGEST_SIZE = 16
SIZES = ("1B", "2B", "4B", "8B", "16B")
STATISTICS = ("avg", "p50", "p99", "max")
ETHERNET_PLACEMENTS = ("shm-1n", "tcp-2n")
PLACEMENTS = (*ETHERNET_PLACEMENTS, "rc-2n", "ud-2n")
# Variants that the testbed's site file doesn't offer unless a test writes them down there.
VARIANTS = (
    "auto-2n", "ob1_tcp-2n", "ob1_shm-1n", "rc_verbs-2n", "ud_verbs_sm-2n", "ofi_tcp-2n"
)  # fmt: skip
# Anything plausible is inside: these tests are about guards, not about speed.
ABSURD = "1.0"
BOUND = "[-0.9999, 1.0e+12]"


def references() -> str:
    """A reference file of the tests' own, one line for each variable, so that one can go."""
    lines = ["rules:"]
    for placement in (*PLACEMENTS, *VARIANTS):
        lines += [
            f"- for: {{check: MpiPointToPoint, benchmark: latency, placement: {placement}}}",
            "  value:",
        ]
        lines += [f"    latency_{s}_{size}: {ABSURD}" for s in STATISTICS for size in SIZES]
    lines += [
        "- for: {check: MpiPointToPoint, benchmark: latency}",
        f"  bound: {BOUND}",
        "  warning: [-0.999, 1.0e+11]",
        "  kind: bound",
        "  source: guards",
        "  date: 2026-11-21",
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What ReFrame and ``fabricheck report`` said about one run.

    Attributes:
        reframe_exit: ReFrame's exit code.
        output: ReFrame's output.
        report_exit: exit code of ``fabricheck report --json``.
        record: what it printed.
        shown: the text of ``fabricheck report``.
        testcases: the fields of the recorded cases, without builds, and their placement; of their
            last attempt.
    """

    reframe_exit: int
    output: str
    report_exit: int
    record: dict[str, Any]
    shown: Callable[[], str]
    testcases: list[dict[str, Any]]

    @property
    def is_disturbed(self) -> bool:
        """Whether other work disturbed a case, which then tells nothing of a guard."""
        return any(case["level"] == Level.DISTURBED for case in self.testcases)

    @property
    def case(self) -> dict[str, Any]:
        """The only case of the run."""
        (case,) = self.testcases
        return case


class Suite:
    """The copy, and the partition that its tests use. Edits last until ``restore``."""

    def __init__(self, root: Path, testbed: Testbed, partition: str = "main") -> None:
        self.root = root
        self.testbed = testbed
        self.partition = partition
        self._originals: dict[Path, str] = {}
        for name in COPIED:
            copy = shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy
            copy(REPOSITORY / name, root / name)
        (root / REFERENCES).parent.mkdir()
        (root / REFERENCES).write_text(references())
        site = (root / SITE).read_text()
        for largest in ("1048576", "65536"):
            assert f"max_message_size: {largest}" in site
            site = site.replace(f"size: {largest}", f"size: {LARGEST_SIZE}")
        self.write(SITE, site)
        # Unoptimised programs: nothing here is about speed, and they compile in half the time.
        self.edit("src/fabricheck/reframe_ext/cmake_build.py", "RelWithDebInfo", "None")
        self._originals.clear()

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that must be there, once."""
        text = (self.root / name).read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
        self.write(name, text.replace(old, new))

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        self._originals.setdefault(path, path.read_text())
        path.write_text(text)

    def remove(self, name: str) -> None:
        self.write(name, "")
        (self.root / name).unlink()

    def break_rank(self, shell: str) -> None:
        """Let ``rank.sh`` run a line of shell just before the program ("$@")."""
        self.edit(RANK_WRAPPER, "\nranks=", f"\n{shell}\nranks=")

    def restore(self) -> None:
        """Take all edits back, and what runs left."""
        for path, text in self._originals.items():
            path.write_text(text)
        self._originals.clear()
        self.forget()

    def forget(self) -> None:
        """Remove what runs left."""
        for name in ("perflogs", "reports", "stage", "output"):
            shutil.rmtree(self.root / name, ignore_errors=True)

    def command(
        self,
        placements: Sequence[str],
        benchmark: str = "latency",
        environ: str = "openmpi",
        check: str = "mpi_pt2pt",
    ) -> list[str]:
        """ReFrame on the login node, for these cases of a check and those that they depend on."""
        return self.testbed.command(
            "login",
            "env",
            f"PYTHONPATH={self.root / 'src'}",
            "FABRICHECK_PROGRAMS=mpi_probe",
            str(PROGRAMS / "reframe"),
            f"--config-file={self.root / 'reframe-config.py'}",
            f"--checkpath={self.root / 'checks' / check}.py",
            f"--system=testbed:{self.partition}",
            f"--filter-expr=benchmark == '{benchmark}' and placement in {list(placements)}",
            f"--prgenv={environ}",
            "--nocolor",
            "--run",
        )

    def run(
        self,
        *placements: str,
        benchmark: str = "latency",
        environ: str = "openmpi",
        check: str = "mpi_pt2pt",
    ) -> Outcome:
        """Run cases to their end; shared memory in one node if none is named."""
        command = self.command(placements or ["shm-1n"], benchmark, environ, check)

        def again() -> Outcome:
            self.forget()
            return self._run(command)

        # A test may have laid something where the first run writes.
        found = self._run(command)
        return (
            measured_again(again, lambda each: each.is_disturbed) if found.is_disturbed else found
        )

    def _run(self, command: Sequence[str]) -> Outcome:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        return self.outcome(done.returncode, done.stdout + done.stderr)

    def outcome(self, code: int, output: str) -> Outcome:
        """What the run that just ended left behind; its output is shown if a test fails."""
        sys.stdout.write(output)
        reported = self._report("--json")
        cases = {
            (each["id"], each["environ"]): {
                "placement": f"{each['transport']}-{each['num_nodes']}n",
                **each,
            }
            for each in measured(self.root)
        }
        sys.stdout.write(reported.stdout + reported.stderr)
        return Outcome(
            code,
            output,
            reported.returncode,
            json.loads(reported.stdout or "{}"),
            lambda: self._report().stdout,
            list(cases.values()),
        )

    def _report(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """``fabricheck report`` without a process of its own, which would import for a second."""
        words = ["report", f"--perflogs={self.root / 'perflogs'}", *options]
        out, error = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(error):
            code = guarded(lambda: build(["report"])(words))
        return subprocess.CompletedProcess(words, code, out.getvalue(), error.getvalue())

    def recorded(self) -> list[CaseEntry]:
        """The cases of the record, without builds."""
        return [e for e in recorded(self.root) if isinstance(e, CaseEntry) and not e.fixture]

    def samples(self) -> dict[str, Sample]:
        """The samples of the only case, by variable."""
        (case,) = self.recorded()
        return {sample.variable: sample for sample in case.samples}
