"""Where a drill takes place: a testbed of its own, and a copy of the suite."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from drill.fault import DIES, Fault, Key
from fabricheck.errors import FabricheckError
from fabricheck.locks import held
from fabricheck.provenance import SUITE
from fabricheck.record.sessions import last
from fabricheck.report.load import load
from fabricheck.report.run import ReportedRun
from fabricheck.transports.witness import unfinished_ranks
from fabricheck_testbed import Testbed
from fabricheck_testbed.faults import active, inject

COPIED: Final = ("checks", "sites", "references", "src", "reframe-config.py")
RECORDS: Final = ("stage", "output", "perflogs", "reports")
SITE: Final = "sites/testbed.yaml"
NODES: Final = 2
_RUN_SECONDS: Final = 900.0
_START_SECONDS: Final = 180.0
_GRACE_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1


class Scene:
    """A testbed with RDMA devices, and a copy of the suite.

    Perflogs, reports and results of a drill are in the copy, so that no history ever has them. The
    copy is always in the same place, where the next drill finds what this one has built.
    """

    def __init__(self, state_dir: Path, progress: Callable[[str], None]) -> None:
        self.root = SUITE / "build" / "drill"
        self.testbed = Testbed(state_dir)
        self._progress = progress

    def __enter__(self) -> Self:
        self.root.mkdir(parents=True, exist_ok=True)
        busy = (
            f"expected no other drill in this checkout, found one that holds {self.root}: wait for "
            "its end"
        )
        self._lock = held(self.root / ".lock", busy)
        self._lock.__enter__()
        self._copy()
        self.heal()
        return self

    def __exit__(self, *_: object) -> None:
        self.testbed.down()
        self._lock.__exit__(None, None, None)

    def _copy(self) -> None:
        for name in (*COPIED, *RECORDS):
            source, copy = SUITE / name, self.root / name
            if copy.is_dir():
                shutil.rmtree(copy)
            if name in RECORDS:
                continue
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, copy)

    def heal(self) -> list[str]:
        """Start the testbed, or replace what is broken of it; says what was."""
        up = self.testbed.up(nodes=NODES, shares=[self.root], rdma=True, progress=self._progress)
        return up.restarted_for

    def inject(self, fault: Fault) -> None:
        """Do what the fault's steps say."""
        for node, words in fault.steps:
            if words == DIES:
                self.testbed.kill_node(node)
            else:
                inject(self.testbed.files, node, words.split())

    def undo(self, fault: Fault) -> list[str]:
        """Undo a fault, and make the testbed whole; says what else had to be mended.

        Raises:
            FabricheckError: if something of the fault is left.
        """
        killed = [node for node, words in fault.steps if words == DIES]
        for node in fault.nodes:
            if node not in killed:
                self.testbed.clear_faults(node)
        mended = self.heal()
        left = [each for node in fault.nodes for each in active(self.testbed.files, node)]
        if left:
            raise FabricheckError(
                f"expected no fault after {fault.name} was undone, found {', '.join(left)}: "
                "fabricheck testbed fault NODE clear does not undo it"
            )
        # Slurm gives up a node that it does not hear of: that is the fault, and no trace of it.
        given_up = tuple(f"{node} is " for node in fault.nodes)
        return [] if killed else [each for each in mended if not each.startswith(given_up)]

    def run(
        self,
        partition: str,
        cases: Iterable[Key],
        site: Mapping[str, str],
        in_mid_job: Callable[[], None] | None = None,
    ) -> ReportedRun:
        """Run cases with ReFrame, and read its record.

        Args:
            partition: the partition of the testbed.
            cases: what runs.
            site: texts of the site file, each with what stands there instead.
            in_mid_job: what happens once the ranks of the first case have begun.

        Raises:
            FabricheckError: if ReFrame does not end in time, or leaves no record.
        """
        for name in RECORDS:
            shutil.rmtree(self.root / name, ignore_errors=True)
        log = self.root / "reframe.out"
        with _edited(self.root / SITE, site), log.open("w") as output:
            process = subprocess.Popen(
                self._command(partition, list(cases)),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                if in_mid_job:
                    self._wait_for_ranks(process)
                    in_mid_job()
                process.wait(_RUN_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise FabricheckError(
                    f"expected ReFrame to end within {_RUN_SECONDS:g} s, found it running: "
                    f"its last words: {_last_words(log)}"
                ) from error
            finally:
                _end(process)
        if not last(self.root / "perflogs"):
            raise FabricheckError(
                "expected ReFrame to record the end of its session, found none (exit code "
                f"{process.returncode}): its last words: {_last_words(log)}"
            )
        return load(self.root / "perflogs")

    def _command(self, partition: str, cases: list[Key]) -> list[str]:
        """ReFrame on the login node; where environments differ, it runs a few cases more."""
        chosen = sorted({(case.benchmark, case.placement) for case in cases})
        environments = "|".join(sorted({case.environ for case in cases}))
        return self.testbed.command(
            "login",
            "env",
            f"PYTHONPATH={self.root / 'src'}",
            "RFM_WARN_AS_ERROR=1",
            str(Path(sys.executable).parent / "reframe"),
            f"--config-file={self.root / 'reframe-config.py'}",
            f"--checkpath={self.root / 'checks'}",
            f"--system=testbed:{partition}",
            f"--filter-expr=(benchmark, placement) in {chosen}",
            f"--prgenv=^({environments})$",
            "--nocolor",
            "--run",
        )

    def _wait_for_ranks(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + _START_SECONDS
        stages = (self.root / "stage").glob
        while sum(len(unfinished_ranks(each)) for each in stages("*/*/*/*")) < NODES:
            if process.poll() is not None or time.monotonic() > deadline:
                raise FabricheckError(
                    f"expected ranks of a case within {_START_SECONDS:g} s, found none: "
                    f"ReFrame's last words: {_last_words(self.root / 'reframe.out')}"
                )
            time.sleep(_POLL_SECONDS)


@contextmanager
def _edited(path: Path, changes: Mapping[str, str]) -> Iterator[None]:
    """A file with other texts, each of which must be there, until the end."""
    original = path.read_text()
    text = original
    for old, new in changes.items():
        if old not in text:
            raise FabricheckError(f"expected {old!r} in {path.name}, found none: correct the list")
        text = text.replace(old, new)
    try:
        path.write_text(text)
        yield
    finally:
        path.write_text(original)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """ReFrame cancels its jobs when it is asked to end."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "nothing")
