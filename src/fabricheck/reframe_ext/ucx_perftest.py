"""What the check of ucx_perftest inherits: a sweep in one batch, proved by UCX's lanes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reframe.core.builtins import run_before

from fabricheck.benchmarks.budget import iterations, thin
from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.parser import ParseError, check_complete
from fabricheck.benchmarks.ucx_perftest import read as ucx_perftest
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.pair import PairBenchmark
from fabricheck.transports import Ports, find, interfaces, ucx_settings
from fabricheck.transports.proof import Load, Proof, prove
from fabricheck.transports.statement import hear_lanes
from fabricheck.transports.witness import Witness, read_ucx_complaints, read_ucx_logs

_SLOWEST_BATCH = 150
"""Seconds; the job's time limit must leave room for the start of both ends beside it."""

_TIME_BUDGET = 0.1


class UcxPairBenchmark(PairBenchmark):
    """One benchmark of the family ``ucx`` on one placement, without MPI.

    Partition extras that are read beside those of every pair: those of ``Ports``, ``time_budget``
    in seconds for each size, and ``typical``, the ``latency`` (us) and ``bandwidth`` (MB/s) that
    are usual there: ucx_perftest knows a number of iterations but no time, so the two give the
    number that fits the budget; and ``size_step`` (each size is so many times the one before), as
    each costs a set-up of UCX.
    """

    def sizes(self) -> tuple[int, ...]:
        """The sizes in bytes; a sparse sweep leaves sizes out."""
        return thin(super().sizes(), self.current_partition.extras.get("size_step"))

    @run_before("run")
    def choose_transport(self) -> None:
        """Set the transport's variables of UCX."""
        ports = Ports.read(self.current_partition.extras)
        self.env_vars.update(ucx_settings(self.transport, ports))
        self.env_vars["FABRICHECK_PAIR_LIMIT"] = str(_SLOWEST_BATCH)

    @run_before("run")
    def write_batch(self) -> None:
        """Write the sweep where both ends read it."""
        extras = self.current_partition.extras
        budget = extras.get("time_budget", _TIME_BUDGET)
        typical = extras.get("typical", {})
        counts = {size: iterations(size, budget, **typical) for size in self.sizes()}
        path = Path(self.stagedir) / ucx_perftest.batch_name(self.benchmark)
        path.write_text(ucx_perftest.batch(self._entry, counts))

    def common_options(self) -> Sequence[str]:
        """The batch, and the form of the output."""
        return ("-b", ucx_perftest.batch_name(self.benchmark), *ucx_perftest.OUTPUT_OPTIONS)

    def runs(self) -> Sequence[Sequence[str]]:
        """One run, which holds every size."""
        return [()]

    def read(self, outputs: Sequence[str]) -> Curve:
        """The curve of the batch; where it has gaps, with what UCX itself complained of.

        Raises:
            FabricheckError: if it is damaged or lacks a size.
        """
        (output,) = outputs
        directory = Path(self.stagedir)
        try:
            curve = ucx_perftest.parse(output, f"the client's output in {self.stdout}")
            check_complete(curve, self.sizes(), str(self.stdout))
        except ParseError as error:
            # A test that fails leaves no row and no exit code, only its lines in UCX's log.
            if complaint := self.explain(output):
                raise FabricheckError(f"{complaint}; {error}") from None
            raise
        versions = {log.version for log in read_ucx_logs(directory)}
        return replace(curve, version=", ".join(sorted(versions - {""})))

    def prove_transport(self, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """Lanes of both ends, and the counters of both nodes."""
        directory = Path(self.stagedir)
        payload = sum((point.size or 0) * (point.iterations or 0) for point in curve.points)
        # In a test of bandwidth one end sends and the other hardly answers.
        answered = Metric.LATENCY in self._entry.metrics
        calls = sum(point.iterations or 0 for point in curve.points) if answered else 0
        transport = find(self.transport)
        named = interfaces(transport, Ports.read(self.current_partition.extras))
        return prove(
            transport,
            Load(payload, calls),
            hear_lanes(transport, read_ucx_logs(directory), len(witnesses), named),
            witnesses,
            quiet="quiet_interfaces" in self.current_partition.features,
            interfaces=named,
        )

    def explain(self, words: str) -> str | None:
        """What UCX complained of first, in its own words."""
        del words
        complaints = read_ucx_complaints(Path(self.stagedir))
        return f"UCX {complaints[0]}" if complaints else None
