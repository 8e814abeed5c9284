"""What every benchmark of MPI has in common: families, transport, launcher and proof."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from fabricheck.launch import spack_verify
from fabricheck.launch.evidence import examine as examine_job
from fabricheck.launch.expectation import Expectation
from fabricheck.launch.measurement import Evidence, Job, Measurement, Setting
from fabricheck.measures.curve import Curve
from fabricheck.schedulers import launcher_of, scheduler_of
from fabricheck.transports.families import MPIS, Statement, choice, families
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.offload import offload_variables
from fabricheck.transports.placement import Placement
from fabricheck.transports.settings import inside_nodes_too, interfaces, launcher_options, settings
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import Memory, Transport


def with_family(*transports: str, needs: Sequence[str] = ()) -> list[str]:
    """ReFrame's ``valid_prog_environs`` for every MPI family that has all of these transports.

    What libfabric carries in a family needs the environment's feature ``ofi``: it may be built
    without it, and then ignores what asks for it.

    Args:
        transports: names of transports.
        needs: features that the environment must have beside ``mpi``.
    """
    common = [family for family in MPIS if all(family in families(t) for t in transports)]

    def features(family: str) -> str:
        provided = any(choice(family, t).statement is Statement.PROVIDER for t in transports)
        names = ("mpi", *(("ofi",) if provided else ()), *needs)
        return " ".join(f"+{each}" for each in names)

    return [f"{features(family)} %mpi_family={family}" for family in common]


def start(
    placement: Placement,
    setting: Setting,
    words: Sequence[str],
    more: Mapping[str, str] = MappingProxyType({}),
) -> Job:
    """The job of a program with MPI over the transport of a placement.

    Partition extras that are read: those of ``Ports`` and ``pin`` (``cyclic`` where the scheduler
    doesn't bind ranks). With the feature ``shared_cores`` (nodes that are namespaces of one
    machine), ranks yield when they outnumber the cores. Environment extras: ``mpi_family`` and
    ``pmi`` (what the launcher must speak to it).

    Args:
        placement: a ``full`` one has ranks that exchange data inside a node too.
        setting: where it runs.
        words: program and arguments.
        more: environment variables of the program.
    """
    transport = placement.transport.name
    variables = {**settings(setting.mpi, transport, setting.extras.given_ports), **more}
    if placement.full:
        variables = inside_nodes_too(variables)
    if setting.extras.pin:
        variables["FABRICHECK_PIN"] = setting.extras.pin
    if "shared_cores" in setting.features:
        variables["FABRICHECK_YIELD"] = setting.programs.yield_library
    scheduler = scheduler_of(setting.scheduler)
    handed = (scheduler.nodes_variable, scheduler.job_variable) if scheduler.shares_nodes else ()
    named = [*setting.variables, *variables, *handed]
    launcher = launcher_of(setting.launcher)
    own = [option.format(pmi=setting.pmi) for option in launcher.with_mpi]
    return Job(
        words=words,
        variables=variables,
        before=spack_verify.questions(setting.programs, choice(setting.mpi, transport), launcher),
        launcher_options=[*own, *launcher_options(setting.mpi, setting.launcher, named)],
    )


def asked_of_collectives(measurement: Measurement, setting: Setting) -> dict[str, str]:
    """Variables of a collective that waits for all: who shall serve it, and that the MPI says it.

    Those that return at once are libnbc's, whatever serves the others.
    """
    if not _is_collective(measurement):
        return {}
    return offload_variables(setting.mpi, setting.extras.offload)


def _is_collective(measurement: Measurement) -> bool:
    return measurement.benchmark.family == "collective"


def examine(
    measurement: Measurement,
    placement: Placement,
    setting: Setting,
    *,
    bound: bool | None = None,
    result: str = "",
    exchanges: Mapping[int | None, int] | None = None,
    exchanged: Callable[[Curve], Load | None] = lambda _: None,
    memory: Memory | None = None,
    path: Transport | None = None,
    says: Callable[[], TransportReport] | None = None,
) -> Evidence:
    """What the program and the nodes left behind.

    Partition features that sharpen the proof: ``bound_ranks`` (each rank has CPUs of its own) and
    ``quiet_interfaces`` (nothing but the job uses the nodes' interfaces).

    Args:
        measurement: what was measured.
        placement: as for ``start``.
        setting: where it ran.
        bound: whether each rank must have CPUs of its own; ``None`` for as the partition says.
        result: name of the file with the program's results; empty for one that only prints.
        exchanges: what the program doesn't say itself: the messages that each rank exchanges.
        exchanged: the least that each rank exchanges, where the sizes of the curve are not bytes.
        memory: the memory that messages must be proved to come from; ``None`` for the transport's.
        path: what must carry the data, where MPI only starts the ranks.
        says: what the library that carries it said, likewise.
    """
    transport = placement.transport
    chosen = choice(setting.mpi, transport.name)
    found = examine_job(
        setting.stage,
        setting.stage / setting.stdout,
        setting.stage / setting.stderr,
        Expectation(
            benchmark=measurement.benchmark.name,
            transport=path or replace(placement.carrier, memory=memory or transport.memory),
            num_nodes=placement.num_nodes,
            num_tasks=measurement.ranks(setting).total,
            sizes=measurement.sizes(setting),
            bound="bound_ranks" in setting.features if bound is None else bound,
            quiet="quiet_interfaces" in setting.features,
            scheduler=scheduler_of(setting.scheduler),
            choice=chosen,
            offers=setting.features,
            interfaces=interfaces(path or transport, setting.extras.given_ports),
            result=result,
            exchanges=exchanges,
            exchanged=exchanged,
            says=says,
            rails=len(setting.extras.ports),
            offload=setting.extras.offload if _is_collective(measurement) else None,
        ),
    )
    return spack_verify.confirm(found, setting.programs, chosen, placement.carrier, setting.stage)
