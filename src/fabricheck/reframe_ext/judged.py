"""What every judged check inherits: references of its system, levels, findings and the record."""

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import reframe as rfm
from reframe.core.builtins import loggable_as, run_after, run_before, variable, xfail
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.utility import sanity as sn

from fabricheck.errors import FabricheckError
from fabricheck.fabric.finding import Finding
from fabricheck.judge.judgement import Judgement
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.references import CaseKey, Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.launch.disturbance import NOTICED, find_disturbances
from fabricheck.launch.judging import find_references, in_order
from fabricheck.launch.times import LOOK, times
from fabricheck.provenance import SUITE, commit, session
from fabricheck.reframe_ext.again import DISTURBED_AGAIN, RunsAgain
from fabricheck.reframe_ext.fabric_health import FabricHealth
from fabricheck.reframe_ext.matrix import name_of
from fabricheck.reframe_ext.reframe import attempt, getlogger, without_deprecated
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras

CHOSEN: Final = "FABRICHECK_CHOSEN"
"""Environment variable with the file of the cases of a night within a budget; without one, or if
it is empty, all run."""

Values = Mapping[str, tuple[float | None, str]]


class Judged(RunsAgain, FabricHealth, rfm.RunOnlyRegressionTest):
    """A check whose values are judged against the reference file of the system.

    What was wrong with the RDMA ports that it used stands beside the verdict on its values.

    A class that inherits from it gives ``benchmark`` and ``placement``, what was measured
    (``measured_values``) and how that is judged (``find_verdict``); its sanity function calls
    ``distrust`` when there is nothing to judge.
    """

    transport = variable(str, value="", loggable=True)
    num_nodes = variable(int, value=0, loggable=True)
    level = variable(str, value="", loggable=True)
    levels = variable(dict, value={}, loggable=True)
    findings = variable(list, value=[], loggable=True)
    fabric_causes = variable(list, value=[], loggable=True)
    warning_bounds = variable(dict, value={}, loggable=True)
    reference_kind = variable(str, value="", loggable=True)
    reference_source = variable(str, value="", loggable=True)
    mpi = variable(str, value="", loggable=True)
    mpi_version = variable(str, value="", loggable=True)
    ucx_version = variable(str, value="", loggable=True)
    program = variable(str, value="", loggable=True)
    program_version = variable(str, value="", loggable=True)
    node_list = variable(list, value=[], loggable=True)
    evidence = variable(str, value="", loggable=True)
    commit = variable(str, value="", loggable=True)
    session = variable(str, value="", loggable=True)
    seconds = variable(dict, value={}, loggable=True)

    sourcesdir = None
    require_reference = True

    @loggable_as("benchmark")  # type: ignore[prop-decorator]
    @property
    def benchmark_name(self) -> str:
        """The benchmark without its placement, which a parameter is shown with."""
        return str(self.benchmark)

    @run_after("init", always_last=True)
    def keep_to_the_chosen(self) -> None:
        """Run where the night's choice says so, if there is one."""
        if path := os.environ.get(CHOSEN):
            name = name_of(type(self).__name__, str(self.benchmark), str(self.placement))
            found = _chosen(path).get(name, {})
            self.valid_systems = found.get("systems", [])
            self.valid_prog_environs = found.get("environs", [])

    @run_after("setup")
    def name_origin(self) -> None:
        """Record what is known before the run."""
        self.mpi = EnvironmentExtras.of(self.current_environ.extras).mpi_family
        self.commit = commit(SUITE)
        self.session = session()

    @run_after("setup")
    def wait_bounded(self) -> None:
        """End a job that does not begin, as on a partition whose nodes went down meanwhile."""
        extras = PartitionExtras.of(self.current_partition.extras)
        self.max_pending_time = extras.max_pending_time

    @run_after("setup")
    def find_references(self) -> None:
        """Look the references up: the files are read and checked before anything runs."""
        try:
            self._resolve()
        except FabricheckError as error:
            # ReFrame prints a cause as well, which would say the same again.
            raise ReframeError(str(error)) from None

    @run_before("run")
    def look_at_the_clock(self) -> None:
        """Let the script say when it began and ended."""
        self.prerun_cmds: list[str] = [*LOOK, *self.prerun_cmds]

    @run_before("sanity")
    def take_times(self) -> None:
        """Tell waiting, launch and measuring apart."""
        self.seconds = times(Path(self.stagedir), self.job.submit_time)

    @run_before("performance")
    def judge(self) -> None:
        """Judge everything, and show the level beside ReFrame's own result."""
        values = self.measured_values()
        self.perf_variables = {
            name: _constant(value, unit) for name, (value, unit) in values.items()
        }
        if self.level in (Level.UNTRUSTED, Level.DISTURBED):
            self.levels = dict.fromkeys(values, self.level)
            self._show_references(values, {})
        elif self.is_dry_run():
            # Nothing is measured that a reference could judge.
            self._show_references(values, {})
        else:
            self._judge(values)
        for line in [f"level {self.level}", *self.findings] if self.level else []:
            getlogger().info(f"     L: {line}")

    @run_after("performance")
    def refuse_unreferenced(self) -> None:
        """Fail a case that has values which nothing judges."""
        if Level.NO_REFERENCE in self.levels.values() and not self.is_dry_run():
            raise PerformanceError("; ".join(self.findings))

    def distrust(self, objections: Sequence[str]) -> NoReturn:
        """Mark the case as untrusted, for reasons of which the first is the gravest.

        Raises:
            SanityError: always.
        """
        self.level = str(Level.UNTRUSTED)
        fabric = [*self.fabric_findings(), *self.lost_segments()]
        self.findings = self._in_order(objections, fabric)
        gravest = dict.fromkeys([self.findings[0], objections[0]])
        raise SanityError(f"{Level.UNTRUSTED}: {'; '.join(gravest)}")

    def refuse_disturbed(self, objections: Sequence[str], noticed: Sequence[str] = ()) -> None:
        """Mark a case as disturbed whose ranks lost their CPUs: it tells nothing of fabric or MPI.

        A second run is believed all the same where counters of the fabric tell a fault.

        Args:
            objections: why it can't be trusted, beside that.
            noticed: what the program noticed of other work itself.

        Raises:
            SanityError: if it was disturbed.
        """
        disturbances = [*self._find_disturbances(suspect=bool(objections)), *noticed]
        is_second = attempt() > 1
        if not disturbances or (is_second and self.fabric_causes_found()):
            return
        if is_second and not objections:
            # What it measured decides whether load alone can be why.
            self._disturbed_by = disturbances
            return
        self._disturbed(disturbances, objections)

    _disturbed_by: Sequence[str] = ()

    def _find_disturbances(self, *, suspect: bool) -> list[str]:
        """What disturbed the ranks; of a suspect case that will run again, already a little."""
        shared = "shared_cores" in self.current_partition.features
        part = NOTICED if suspect and _runs_again() else 1.0
        return find_disturbances(Path(self.stagedir), shared=shared, part=part)

    def _disturbed_a_little(self, verdict: Verdict) -> Sequence[str]:
        suspect = verdict.level in (Level.CRITICAL, Level.UNTRUSTED)
        if not suspect or self.fabric_causes_found():
            return ()
        found = self._find_disturbances(suspect=True)
        if not found and verdict.level is Level.UNTRUSTED and _runs_again():
            # Values that are proved and say nothing: their own noise hides what is asked.
            return verdict.findings
        return found

    def _disturbed(self, disturbances: Sequence[str], objections: Sequence[str]) -> NoReturn:
        self.level = str(Level.DISTURBED)
        self.findings = [*disturbances, *(f"what it gave: {each}" for each in objections)]
        raise SanityError(f"{Level.DISTURBED}: {'; '.join(disturbances)}")

    def measured_values(self) -> Values:
        """Value and unit of each performance variable; no values when the case is untrusted."""
        raise NotImplementedError

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on what was measured."""
        raise NotImplementedError

    def _resolve(self) -> tuple[dict[str, Reference], Tolerance | None]:
        key = CaseKey(
            system=self.current_system.name,
            partition=self.current_partition.fullname,
            environ=self.current_environ.name,
            benchmark=str(self.benchmark),
            placement=self.placement,
        )
        return find_references(key, [type(self).__name__])

    def _judge(self, values: Values) -> None:
        references, tolerance = self._resolve()
        verdict = self.find_verdict(references, tolerance)
        # The best of a whole curve is no matter of moments: its bounds allow for load.
        whole = verdict.level is Level.CRITICAL and Level.CRITICAL not in {
            each.level for each in verdict.judgements
        }
        by = self._disturbed_by or self._disturbed_a_little(verdict)
        if by and not whole and not any(map(_is_beyond_load, verdict.judgements)):
            self._disturbed(by, ())
        # TCP makes good what the network loses: alone that is a warning, else it may be why.
        lost = Level.CRITICAL if verdict.level is Level.CRITICAL else Level.WARNING
        fabric = [*self.fabric_findings(), *self.lost_segments(lost)]
        self.level = str(worst([verdict.level, *(finding.level for finding in fabric)]))
        self.levels = {found.variable: str(found.level) for found in verdict.judgements}
        self.findings = self._in_order(verdict.findings, fabric)
        self.warning_bounds = {
            found.variable: list(found.good) for found in verdict.judgements if found.reference
        }
        if tolerance:
            self.reference_kind, self.reference_source = tolerance.kind, tolerance.source
        self._show_references(values, {j.variable: j.reference for j in verdict.judgements})

    def _in_order(self, findings: Sequence[str], fabric: Sequence[Finding]) -> list[str]:
        ordered, causes = in_order(findings, fabric)
        self.fabric_causes = list(causes)
        return ordered

    def _show_references(self, values: Values, references: Mapping[str, Reference | None]) -> None:
        """Tell ReFrame with what each value was compared; no bounds where nothing judges.

        ReFrame would drop all values at the first one without reference. The case fails all the
        same: ``refuse_unreferenced`` sees to it.
        """
        shown: dict[str, Any] = {name: (0, None, None, unit) for name, (_, unit) in values.items()}
        for name, found in references.items():
            if found is not None:
                plain = (found.value, found.lower, found.upper, found.unit)
                reason = found.expected_failure
                shown[name] = xfail(reason, plain) if reason else plain
        self.reference: dict[str, Any] = {self.current_partition.fullname: shown}


def _runs_again() -> bool:
    """Whether a disturbed case has a second run before it."""
    return bool(os.environ.get(DISTURBED_AGAIN)) and attempt() == 1


@functools.cache
def _chosen(path: str) -> dict[str, dict[str, list[str]]]:
    try:
        found: dict[str, dict[str, list[str]]] = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ReframeError(f"expected the chosen cases in {path}, found: {error}") from None
    return found


without_deprecated(Judged)


_LOAD_FACTOR = 8
"""So many times beyond its critical bound a bandwidth is not for want of CPUs alone."""


def _is_beyond_load(found: Judgement) -> bool:
    if found.level is not Level.CRITICAL or found.reference is None or not found.value:
        return False
    lower, _ = found.reference.bounds()
    return lower is not None and lower / found.value >= _LOAD_FACTOR


def _constant(value: float | None, unit: str) -> Callable[[], float | None]:
    return sn.make_performance_function(sn.defer(value), unit)  # type: ignore[no-any-return]
