"""What links between nodes allow, at the exact edges."""

from types import MappingProxyType

import pytest

from fabricheck.judge.levels import Level
from fabricheck.judge.link_rate import Link, Rate, ceiling
from fabricheck.judge.physics import Links, derived, impossible, least_time, read_links
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.launch.judging import find_verdict
from fabricheck.launch.measurement import Setting
from fabricheck.measures.curve import Curve, Point, Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import find
from fabricheck.sites.extras import PartitionExtras

MIB = 1 << 20
RATE = Rate(100.0, warning=0.9, critical=0.75)
LINKS = Links(RATE, number=1, nodes=2)
CARRIED = ceiling(100, MIB, 4096, Link.INFINIBAND, datagram=False)


def curve(benchmark: str, metric: Metric, values: dict[int | None, float]) -> Curve:
    points = tuple(
        Point(size, MappingProxyType({(metric, "avg"): value}), None, None)
        for size, value in values.items()
    )
    return Curve(benchmark, "mpi_probe", "0.1.0", None, {}, points)


def bandwidth(value: float, benchmark: str = "bw", size: int = MIB) -> Curve:
    return curve(benchmark, Metric.BANDWIDTH, {size: value})


def latency(value: float, benchmark: str = "latency", size: int | None = 8) -> Curve:
    return curve(benchmark, Metric.LATENCY, {size: value})


def test_a_bandwidth_on_the_ceiling_is_believed_and_one_above_is_not() -> None:
    assert impossible(bandwidth(CARRIED), LINKS) == ()
    (objection,) = impossible(bandwidth(CARRIED * 1.0001), LINKS)
    assert "more than 1 link(s) of 100 Gbit/s" in objection
    assert "link_rate in the site file is too low" in objection


@pytest.mark.parametrize(
    ("benchmark", "links", "times"),
    [
        ("bibw", LINKS, 2),
        ("bw", Links(RATE, number=2, nodes=2), 2),
        ("mbw_mr", Links(RATE, number=1, nodes=8), 4),
        ("mbw_mr", Links(RATE, number=1, nodes=2), 1),
        ("bw", Links(RATE, number=1, nodes=8), 1),
        ("bw_fan_in", Links(RATE, number=1, nodes=8), 7),
    ],
)
def test_directions_links_and_pairs_carry_more(benchmark: str, links: Links, times: int) -> None:
    assert impossible(bandwidth(times * CARRIED, benchmark), links) == ()
    assert len(impossible(bandwidth(times * CARRIED * 1.0001, benchmark), links)) == 1


def test_an_unknown_number_of_links_bounds_no_bandwidth() -> None:
    assert impossible(bandwidth(1e9), Links(RATE, number=0, nodes=2)) == ()
    assert impossible(bandwidth(1e9), Links(None, number=1, nodes=2)) == ()


@pytest.mark.parametrize(
    ("benchmark", "size", "nodes", "least"),
    [
        ("latency", 8, 2, 0.3 + 64 / 100_000),
        ("latency", MIB, 2, 0.3 + 8 * MIB / 100_000),
        ("ucx_tag_lat", MIB, 2, 0.3 + 8 * MIB / 100_000),
        ("allreduce", MIB, 8, 0.3 + 8 * MIB / 100_000),
        ("alltoall", MIB, 8, 0.3 + 7 * 8 * MIB / 100_000),
        ("allgather", MIB, 8, 0.3 + 7 * 8 * MIB / 100_000),
        ("barrier", None, 4, 0.3),
    ],
)
def test_a_latency_on_the_least_time_is_believed_and_one_below_is_not(
    benchmark: str, size: int | None, nodes: int, least: float
) -> None:
    links = Links(RATE, number=1, nodes=nodes)
    assert least_time(find(benchmark), size, links) == pytest.approx(least, rel=1e-12)
    exact = least_time(find(benchmark), size, links) or 0
    assert impossible(latency(exact, benchmark, size), links) == ()
    (objection,) = impossible(latency(exact * 0.999, benchmark, size), links)
    assert "less than the link and its cards take" in objection


@pytest.mark.parametrize("benchmark", ["bcast", "reduce", "gather", "scatter"])
def test_what_one_rank_has_before_the_others_has_no_least_time(benchmark: str) -> None:
    assert least_time(find(benchmark), MIB, LINKS) is None
    assert impossible(latency(1e-9, benchmark, MIB), LINKS) == ()


def test_without_a_rate_only_the_cards_take_time() -> None:
    links = Links(None, number=0, nodes=2)
    assert impossible(latency(0.3, size=MIB), links) == ()
    assert len(impossible(latency(0.299, size=MIB), links)) == 1


@pytest.mark.parametrize(
    ("share", "level"),
    [
        (0.9, Level.GOOD),
        (0.8999, Level.WARNING),
        (0.75, Level.WARNING),
        (0.7499, Level.CRITICAL),
    ],
)
def test_a_share_of_the_link_judges_what_has_no_reference(share: float, level: Level) -> None:
    measured = bandwidth(CARRIED * share)
    verdict, source = find_verdict(measured, Setting(), LINKS, ({}, None))
    assert (verdict.level, source) == (level, "a link of 100 Gbit/s")
    if level is not Level.GOOD:
        assert "reference of" in verdict.findings[0]


def test_a_reference_goes_before_the_link() -> None:
    measured = bandwidth(CARRIED * 0.5)
    references = {
        Variable(Metric.BANDWIDTH, "avg", MIB): Reference(CARRIED * 0.5, -0.1, None, "MB/s")
    }
    tolerance = Tolerance("measured", "test", "2026-11-21")
    verdict, _ = find_verdict(measured, Setting(), LINKS, (references, tolerance))
    assert verdict.level is Level.GOOD


def test_a_crowd_at_one_node_has_no_floor() -> None:
    assert derived(bandwidth(1.0, "bw_fan_in"), Links(RATE, number=1, nodes=8)) == {}


def test_a_bandwidth_that_is_not_recorded_has_no_floor() -> None:
    assert derived(bandwidth(1.0, "latency"), LINKS) == {}


@pytest.mark.parametrize(
    ("links", "size"),
    [
        (LINKS, MIB // 2),
        (Links(None, number=1, nodes=2), MIB),
        (Links(RATE, number=1, nodes=2, datagram=True), MIB),
    ],
)
def test_small_messages_datagrams_and_unknown_links_have_no_floor(links: Links, size: int) -> None:
    assert derived(bandwidth(1.0, size=size), links) == {}


def test_the_site_says_what_the_links_are() -> None:
    extras = PartitionExtras.of(
        {
            "link_rate": 25,
            "link_shares": {"warning": 0.8},
            "fabric": "roce",
            "fabric_health": {"mtu": 1024},
            "least_latency": 1.5,
        }
    )
    links = read_links(extras, 2, 1, rdma=True, datagram=False)
    assert links == Links(Rate(25, 0.8, 0.75), 1, 2, 1024, Link.ETHERNET, False, 1.5)
    assert read_links(extras, 2, 1, rdma=False, datagram=False).rate is None
    assert read_links(PartitionExtras(), 2, 0, rdma=True, datagram=True) == Links(
        None, 0, 2, datagram=True
    )


def inside(benchmark: str, metric: Metric, value: float, rate: str = "5e9") -> Curve:
    points = (Point(8192, MappingProxyType({(metric, "avg"): value}), None, None),)
    return Curve(benchmark, "mpi_probe", "0.1.0", None, {"copy_rate": rate}, points)


@pytest.mark.parametrize("benchmark", ["bw", "bibw", "mbw_mr"])
def test_no_bandwidth_inside_a_node_is_above_twice_what_all_ranks_copy(benchmark: str) -> None:
    assert impossible(inside(benchmark, Metric.BANDWIDTH, 10_000), None) == ()
    (objection,) = impossible(inside(benchmark, Metric.BANDWIDTH, 10_001), None)
    assert "expected at most 10000 MB/s at 8KiB inside a node" in objection


def test_no_message_inside_a_node_takes_less_than_its_copy() -> None:
    assert impossible(inside("latency", Metric.LATENCY, 0.8193), None) == ()
    assert len(impossible(inside("latency", Metric.LATENCY, 0.8191), None)) == 1
    assert impossible(inside("bcast", Metric.LATENCY, 0.1), None) == (), "its root is done before"


def test_a_program_that_does_not_say_what_it_copies_is_not_too_fast() -> None:
    assert impossible(bandwidth(1e9), None) == ()
