"""What every check of one benchmark on one placement inherits: from its evidence to its verdict."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after, sanity_function

from fabricheck.benchmarks import registry
from fabricheck.benchmarks.curve import Curve, variable_name
from fabricheck.errors import FabricheckError
from fabricheck.fabric.job import common_rate, read_nodes
from fabricheck.judge.physics import Links, derived, impossible, read_links
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict, judge_curve
from fabricheck.reframe_ext.evidence import Evidence
from fabricheck.reframe_ext.judged import Judged, Values
from fabricheck.transports import Placement
from fabricheck.transports.table import Counter, Scope
from fabricheck.transports.witness import Witness, read_witnesses


class CurveBenchmark(Judged):
    """A benchmark of the registry on a placement, whose whole curve is proved and judged.

    A class that inherits from it launches the program and says what it left behind (``examine``).
    """

    @run_after("init")
    def place(self) -> None:
        """Take transport and nodes from the placement, and ask for what they need."""
        self._placement = Placement.read(self.placement)
        self.transport = self._placement.transport.name
        self.num_nodes = self._placement.num_nodes
        self.valid_systems = [" ".join(f"+{feature}" for feature in self._placement.features)]
        self._curve: Curve | None = None
        self._remarks: tuple[str, ...] = ()

    @sanity_function
    def prove(self) -> bool:
        """Trust nothing until everything about the run has been proved."""
        found = self.examine()
        self._record(found)
        objections = found.objections
        if not objections and found.curve and (links := self.links()):
            objections = impossible(found.curve, links)
        if objections:
            self.distrust(objections)
        self._curve = found.curve
        return True

    def examine(self) -> Evidence:
        """What the job left behind."""
        raise NotImplementedError

    def links(self) -> Links | None:
        """The links between the nodes; none inside a node."""
        transport = Placement.read(self.placement).transport
        if transport.scope is Scope.INTRA_NODE:
            return None
        return read_links(
            self._extras_with_rate(),
            self.num_nodes,
            _ports_used(read_witnesses(Path(self.stagedir))),
            rdma=transport.counter is Counter.RDMA,
            datagram=transport.base == "ud",
        )

    def _extras_with_rate(self) -> Mapping[str, Any]:
        """The partition's extras; where they give no rate, with the one that all cards tell."""
        extras: Mapping[str, Any] = self.current_partition.extras
        if "link_rate" in extras or not self.uses_ports():
            return extras
        try:
            rate = common_rate(read_nodes(Path(self.stagedir)))
        except FabricheckError:
            # A damaged snapshot is a finding of the fabric's health.
            return extras
        return extras if rate is None else {**extras, "link_rate": rate}

    def sizes(self) -> tuple[int, ...]:
        """The message sizes in bytes to measure; none for a benchmark without payload."""
        benchmark = registry.find(self.benchmark)
        if benchmark.min_size is None or benchmark.max_size is None:
            return ()
        largest = self.current_partition.extras.get("max_message_size", benchmark.max_size)
        return registry.sweep(benchmark.min_size, min(largest, benchmark.max_size))

    def measured_values(self) -> Values:
        """The curve's variables, or, without a curve to believe, their names and units."""
        if self._curve:
            return self._curve.variables()
        benchmark = registry.find(self.benchmark)
        return {
            variable_name(metric, statistic, size): (None, metric.row.unit)
            for size in self.sizes() or (None,)
            for metric, statistic in benchmark.recorded
        }

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the whole curve, and on how the program ended."""
        assert self._curve is not None, "a case without curve is untrusted and never judged"
        links = self.links()
        expected = derived(self._curve, links) if links else {}
        verdict = judge_curve(self._curve, references, tolerance, expected)
        if expected and tolerance is None:
            self.reference_kind = "physics"
            self.reference_source = next(iter(expected.values())).source
        return verdict.warned(self._remarks)

    def _record(self, found: Evidence) -> None:
        self.evidence = found.proof
        self.ucx_version = found.ucx_version
        self.node_list = list(found.hosts)
        self._remarks = found.remarks
        if found.curve:
            self.program = found.curve.program
            self.program_version = found.curve.version
            self.mpi_version = found.curve.metadata.get("MPI", "")


def _ports_used(witnesses: Iterable[Witness]) -> int:
    """The most RDMA ports of one node that sent or received packets."""
    ports: dict[str, set[str]] = {}
    for witness in witnesses:
        ports.setdefault(witness.host, set()).update(
            device
            for (kind, device, counter), moved in witness.moved.items()
            if kind == "rdma" and counter.endswith(("pkts", "packets")) and moved
        )
    return max(map(len, ports.values()), default=0)
