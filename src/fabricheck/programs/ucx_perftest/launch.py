"""How ucx_perftest is run: a sweep in one batch, proved by UCX's lanes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fabricheck.errors import FabricheckError, ParseError
from fabricheck.launch import pair
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Evidence, Job, Setting
from fabricheck.measures.budget import iterations
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete
from fabricheck.programs.ucx_perftest import read as ucx_perftest
from fabricheck.programs.ucx_perftest.entries import BENCHMARKS
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.proof import Proof, prove
from fabricheck.transports.settings import interfaces, ucx_settings
from fabricheck.transports.statement import rail_objections, read_lanes
from fabricheck.transports.witness import Witness, read_ucx_complaints, read_ucx_logs

_SLOWEST_BATCH = 150
"""Seconds; the job's time limit must leave room for the start of both ends beside it."""

_TERMINAL = "/dev/ptmx"
"""Built with MPI, as on Debian 13, the program starts MPI unless its input is a terminal, and then
wants to be started by an MPI's launcher. Built without, it knows no option for that."""

_TIME_BUDGET = 0.1

cases = pair.cases_of_ports


class UcxPerftest(pair.Pair):
    """One benchmark of the family ``ucx`` on one placement, without MPI.

    Partition extras that are read beside those of every pair: those of ``Ports``, ``time_budget``
    in seconds for each size, and ``typical``, the ``latency`` (us) and ``bandwidth`` (MB/s) that
    are usual there: ucx_perftest knows a number of iterations but no time, so the two give the
    number that fits the budget; and ``size_step`` (each size is so many times the one before), as
    each costs a set-up of UCX.
    """

    of_each_port = True

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case.benchmark]
        super().__init__(case, self._entry, "ucx")

    def job(self, setting: Setting) -> Job:
        """One run, which holds every size; its batch lies where both ends read it."""
        budget = setting.extras.time_budget or _TIME_BUDGET
        typical = setting.extras.typical
        counts = {size: iterations(size, budget, typical) for size in self.sizes(setting)}
        batch = ucx_perftest.batch_name(self._entry.name)
        options = ("-b", batch, *ucx_perftest.OUTPUT_OPTIONS)
        job = pair.start(
            setting, self._entry.program, options, [()], limit=_SLOWEST_BATCH, input=_TERMINAL
        )
        ports = setting.extras.given_ports
        return replace(
            job,
            variables={**ucx_settings(self.placement.transport.name, ports), **job.variables},
            files={batch: ucx_perftest.batch(self._entry, counts)},
        )

    def examine(self, setting: Setting) -> Evidence:
        """What both ends printed, their lanes, and what the interfaces counted."""
        return pair.examine(
            self,
            setting,
            1,
            read=partial(self._read, setting),
            prove=partial(self._prove, setting),
            explain=lambda _: _complaint(setting),
        )

    def _read(self, setting: Setting, outputs: Sequence[str]) -> Curve:
        (output,) = outputs
        try:
            curve = ucx_perftest.parse(output, f"the client's output in {setting.stdout}")
            check_complete(curve, self.sizes(setting), setting.stdout)
        except ParseError as error:
            # A test that fails leaves no row and no exit code, only its lines in UCX's log.
            if complaint := _complaint(setting):
                raise FabricheckError(f"FC1244 {complaint}; {error}") from None
            raise
        versions = {log.version for log in read_ucx_logs(setting.stage)}
        return replace(curve, version=", ".join(sorted(versions - {""})))

    def _prove(self, setting: Setting, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """Lanes of both ends, and the counters of both nodes."""
        payload = sum((point.size or 0) * (point.iterations or 0) for point in curve.points)
        # In a test of bandwidth one end sends and the other hardly answers.
        answered = Metric.LATENCY in self._entry.metrics
        calls = sum(point.iterations or 0 for point in curve.points) if answered else 0
        transport = self.placement.transport
        named = interfaces(transport, setting.extras.given_ports)
        logs = read_ucx_logs(setting.stage)
        said = read_lanes(transport, logs, len(witnesses), named)
        wrong = rail_objections(logs, witnesses)
        return prove(
            transport,
            Load(payload, calls, waits=answered),
            replace(said, objections=(*said.objections, *wrong)),
            witnesses,
            quiet="quiet_interfaces" in setting.features,
            interfaces=named,
        )


def _complaint(setting: Setting) -> str | None:
    """What UCX complained of first, in its own words."""
    complaints = read_ucx_complaints(setting.stage)
    return f"UCX {complaints[0]}" if complaints else None


measurement = UcxPerftest
