"""Cases of a RoCE partition that travel in several traffic classes are named by ``plan``."""

from typing import Any

import pytest

from fabricheck.planning.traffic_classes import differences
from fabricheck.reframe_ext.matrix import CheckCase

MPIS = ("openmpi", "mpich", "mvapich2", "")
ENVIRONMENTS = [{"name": name or "builtin", "extras": {"mpi_family": name}} for name in MPIS]


def case(benchmark: str, environ: str, placement: str = "rc-2n") -> CheckCase:
    return CheckCase("Check", benchmark, placement, "ib", environ, (), ())


PERFTEST = case("ib_write_bw", "builtin")
UCX = case("ucx_tag_bw", "builtin")
MPI = case("latency", "openmpi")
STREAM = case("rdma_stream_t2", "openmpi")
PROVIDER = case("latency", "mpich", "ofi_verbs-2n")
MVAPICH2 = case("latency", "mvapich2")


def said(*cases: CheckCase, **extras: Any) -> list[str]:
    partition = {"name": "ib", "extras": {"fabric": "roce", **extras}}
    return [*differences(cases, [partition], ENVIRONMENTS)]


def test_without_a_class_ucx_has_another_than_the_others() -> None:
    (words,) = said(PERFTEST, STREAM, UCX, MPI)
    assert "(stream, verbs in 0; openmpi, ucx in 106)" in words
    assert words.endswith("give extras.traffic_class in the site file")


def test_what_takes_no_class_is_named_where_the_site_gives_one() -> None:
    assert not said(PERFTEST, STREAM, UCX, MPI, traffic_class=0)
    (words,) = said(MPI, PROVIDER, MVAPICH2, traffic_class=106)
    assert "openmpi in 106; mpich over libfabric in RDMA-CM's default_roce_tos; mvapich2 in 0" in (
        words
    )


@pytest.mark.parametrize("extras", [{"fabric": "infiniband"}, {"fabric": "ethernet"}])
def test_only_roce_is_sorted_by_its_class(extras: dict[str, str]) -> None:
    assert not said(PERFTEST, UCX, **extras)


def test_cases_without_ports_travel_in_none() -> None:
    assert not said(PERFTEST, case("latency", "openmpi", "tcp-2n"))
