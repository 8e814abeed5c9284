"""What the check of a job's start inherits: no messages, so nothing for a transport to prove."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from reframe.core.builtins import run_before

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.metrics import Metric
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.evidence import Evidence
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark

_BEGIN, _END = "launch.begin", "launch.end"
_NS_OF_MS = 1_000_000


class StartupBenchmark(MpiBenchmark):
    """How long ranks need from the launcher's start to its end, or in ``MPI_Init``.

    OSU's hello prints no time: the job script looks at the clock before and after the launcher, so
    a launch holds the scheduler's part, ``MPI_Init`` and ``MPI_Finalize`` of the slowest rank.
    """

    @run_before("run")
    def watch(self) -> None:
        """Look at the clock before and after the launcher."""
        self.prerun_cmds += [f"date +%s%N > {_BEGIN}"]
        self.postrun_cmds = [f"date +%s%N > {_END}"]

    def examine(self) -> Evidence:
        """What the ranks and the clock left behind."""
        found = super().examine()
        if found.curve is None or Metric.LAUNCH not in self._entry.metrics:
            return found
        try:
            return replace(found, curve=with_launch(found.curve, Path(self.stagedir)))
        except FabricheckError as error:
            return replace(found, objections=(*found.objections, str(error)))


def with_launch(curve: Curve, directory: Path) -> Curve:
    """The curve of a hello, with the time that its launch took in ms.

    Raises:
        FabricheckError: if the job script left no time behind.
    """
    took = (_clock(directory / _END) - _clock(directory / _BEGIN)) / _NS_OF_MS
    values = MappingProxyType({(Metric.LAUNCH, "avg"): took})
    return replace(curve, points=(replace(curve.points[0], values=values),))


def _clock(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError) as error:
        raise FabricheckError(
            f"expected the time in ns in {path.name}, found none ({error}): the job script did not "
            "come so far"
        ) from error
