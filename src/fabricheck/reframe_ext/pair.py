"""What every check of a program without MPI inherits: a server and its client in one job."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after, run_before, variable

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.model import ProgramBenchmark
from fabricheck.benchmarks.registry import REGISTRY
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.curve_benchmark import CurveBenchmark
from fabricheck.reframe_ext.evidence import (
    Evidence,
    Expectation,
    binding_objections,
    host_objections,
    hosts_seen,
    rank_faults,
    scheduler_faults,
)
from fabricheck.reframe_ext.slurm import silent_nodes
from fabricheck.transports import Placement, find
from fabricheck.transports.pair import (
    PAIR_WRAPPER,
    SERVER_OUTPUTS,
    arguments,
    read_faults,
    read_runs,
    read_version,
)
from fabricheck.transports.proof import Proof
from fabricheck.transports.table import Scope
from fabricheck.transports.witness import (
    RANK_WRAPPER,
    Witness,
    by_host,
    read_ucx_logs,
    read_witnesses,
)

_RANKS = 2


def cases(family: str) -> list[tuple[str, str]]:
    """Each benchmark of a family with each placement that it can run on."""
    return [
        (benchmark.name, str(Placement(transport, 2 - (transport.scope is Scope.INTRA_NODE))))
        for benchmark in REGISTRY.values()
        if isinstance(benchmark, ProgramBenchmark) and benchmark.family == family
        for transport in map(find, benchmark.transports)
    ]


class PairBenchmark(CurveBenchmark):
    """One benchmark of a server and its client on one placement.

    A check that inherits from it declares the parameter ``case``, a benchmark and its placement,
    out of ``cases``. Rank 0 is the server, rank 1 the client, on two nodes or, inside a node, both
    on it. Partition extras that are read: ``max_message_size`` in bytes and ``pin``.
    """

    benchmark = variable(str, value="", loggable=True)
    placement = variable(str, value="", loggable=True)

    @run_after("init")
    def place(self) -> None:
        """Take benchmark and placement from the case, and ask for what they need."""
        self.benchmark, self.placement = self.case
        self._entry = self.find_entry()
        super().place()
        self.valid_systems = [
            " ".join([*self.valid_systems, *(f"+{n}" for n in self._entry.needs)])
        ]
        self.valid_prog_environs = [f"+{self.layer()}"]
        self.tags = {*self._entry.runs, self._entry.family}

    @run_after("setup")
    def size(self) -> None:
        """Two ranks, on the nodes of the placement."""
        self.num_tasks = _RANKS
        self.num_tasks_per_node = _RANKS // self.num_nodes

    @run_before("run")
    def launch(self) -> None:
        """Run both ends below the wrapper that lets them meet, and that below the witness."""
        extras = self.current_partition.extras
        if "pin" in extras:
            self.env_vars["FABRICHECK_PIN"] = extras["pin"]
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = [
            str(PAIR_WRAPPER),
            *arguments(self.command(), self.common_options(), self.runs()),
        ]
        if self.current_partition.launcher_type.registered_name == "srun":
            self.job.launcher.options += ["--mpi=none"]

    def find_entry(self) -> Any:
        """The benchmark's entry in the registry."""
        return REGISTRY[self.benchmark]

    def layer(self) -> str:
        """The feature of environments that can run the program."""
        return str(self._entry.family)

    def command(self) -> str:
        """What runs at both ends: a program on ``PATH``, or its path."""
        return str(self._entry.program)

    def common_options(self) -> Sequence[str]:
        """Options of the program in every run."""
        raise NotImplementedError

    def runs(self) -> Sequence[Sequence[str]]:
        """Options of each run; at least one run."""
        raise NotImplementedError

    def read(self, outputs: Sequence[str]) -> Curve:
        """The curve of what the client printed in each run.

        Raises:
            FabricheckError: if the output can't be read as one, with every size.
        """
        raise NotImplementedError

    def prove_transport(self, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """Whether the transport of the placement carried the data.

        Raises:
            FabricheckError: if what they left behind can't be read.
        """
        raise NotImplementedError

    def explain(self, words: str) -> str | None:
        """The cause of a failure in one sentence, where the words of both ends name one."""
        del words
        return None

    def examine(self) -> Evidence:
        """What both ends and their nodes left behind."""
        directory = Path(self.stagedir)
        expected = self._expectation()
        errors = _text(directory / str(self.stderr))
        if faults := self._faults(directory, errors, expected):
            return Evidence(hosts=hosts_seen(directory), objections=faults)
        try:
            witnesses = read_witnesses(directory)
            output = _text(directory / str(self.stdout))
            curve = self.read(read_runs(output, len(self.runs())))
            curve = replace(curve, version=read_version(output) or curve.version)
            proof = self.prove_transport(curve, witnesses)
        except FabricheckError as error:
            return Evidence(hosts=hosts_seen(directory), objections=(str(error),))
        versions = sorted({log.version for log in read_ucx_logs(directory) if log.version})
        return Evidence(
            curve=curve,
            hosts=tuple(by_host(witnesses)),
            ucx_version=", ".join(versions),
            proof=proof.evidence,
            objections=(
                *host_objections(witnesses, expected),
                *binding_objections(witnesses, expected),
                *proof.objections,
            ),
            remarks=curve.remarks,
        )

    def _expectation(self) -> Expectation:
        features = self.current_partition.features
        return Expectation(
            benchmark=self.benchmark,
            transport=find(self.transport),
            num_nodes=self.num_nodes,
            num_tasks=_RANKS,
            sizes=self.sizes(),
            bound="bound_ranks" in features,
            quiet="quiet_interfaces" in features,
            silent_nodes=silent_nodes,
        )

    def _faults(self, directory: Path, errors: str, expected: Expectation) -> tuple[str, ...]:
        """Why the job did not end well, the cause before what followed from it."""
        if faults := tuple(scheduler_faults(directory, errors, expected)):
            return faults
        if not (faults := read_faults(errors) or tuple(rank_faults(directory, errors, expected))):
            return ()
        outputs = [_text(directory / name) for name in (str(self.stdout), *SERVER_OUTPUTS)]
        cause = self.explain("\n".join([errors, *outputs]))
        return (cause, *faults) if cause else faults


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
