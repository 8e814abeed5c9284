"""Whether all cases of a RoCE partition travel in one traffic class: another one, another queue."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.transports.families import MPIS, Statement
from fabricheck.transports.placement import parts
from fabricheck.transports.table import Counter, find

_UCX: Final = 106
"""What UCX takes by itself on RoCE v2: DSCP 26 and ECT(0)."""
_OF_CM: Final = "RDMA-CM's default_roce_tos"


def differences(
    cases: Sequence[CheckCase],
    partitions: Sequence[Mapping[str, Any]],
    environments: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """A sentence for each RoCE partition whose cases travel in several classes.

    Args:
        cases: what will run.
        partitions: of the system, as its site file has them.
        environments: likewise.
    """
    mpis = {
        each["name"]: EnvironmentExtras.of(each.get("extras")).mpi_family for each in environments
    }
    for partition in partitions:
        extras = PartitionExtras.of(partition.get("extras"))
        found: dict[str, set[str]] = {}
        for case in cases:
            is_here = case.partition == partition["name"] and case.placement
            if is_here and case.benchmark in REGISTRY:
                chosen, who = _class(case, extras, mpis.get(case.environ, ""))
                found.setdefault(chosen, set()).add(who)
        found.pop("", None)
        if extras.given_ports.is_roce and len(found) > 1:
            words = "; ".join(f"{', '.join(sorted(who))} in {at}" for at, who in found.items())
            yield (
                f"partition {partition['name']}: cases travel in several traffic classes ({words}),"
                " so a fabric that sorts by DSCP puts them into several queues: "
                + ("leave these out" if extras.traffic_class is not None else _GIVE)
            )


_GIVE: Final = "give extras.traffic_class in the site file"


def _class(case: CheckCase, extras: PartitionExtras, mpi: str) -> tuple[str, str]:
    """The class, empty where no port carries the case, and who sends in it."""
    transport = find(parts(case.placement)[0])
    if transport.counter not in (Counter.RDMA, Counter.ANY):
        return "", ""
    given, family = extras.traffic_class, FAMILIES[REGISTRY[case.benchmark].family]
    if not mpi or family.opens_ports:
        default = _UCX if family.layer == "UCX" else 0
        return str(default if given is None else given), family.name
    statement = MPIS[mpi].choices[transport.name].statement
    if statement is Statement.PROVIDER:
        return _OF_CM, f"{mpi} over libfabric"
    if statement is Statement.PARAMETERS:
        return "0", mpi
    return str(_UCX if given is None else given), mpi
