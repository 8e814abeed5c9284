"""What a link can carry, at the exact edges."""

from types import MappingProxyType

import pytest
from tests.refusals import refused

from fabricheck.judge.levels import Level
from fabricheck.judge.link_rate import (
    Link,
    Rate,
    above_ceiling,
    ceiling,
    fills_link,
    headers,
    judge_share,
    read_rate,
)
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.sites.extras import LinkShares, PartitionExtras

RATE = Rate(100.0, warning=0.9, critical=0.75)


def bandwidths(**values: float) -> Curve:
    points = [
        Point(int(size[1:]), MappingProxyType({(Metric.BANDWIDTH, "avg"): value}), 100, None)
        for size, value in values.items()
    ]
    return Curve("ib_write_bw", "perftest", "", None, {}, tuple(points))


def test_headers_of_each_packet():
    assert headers(Link.ETHERNET, datagram=False) == 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12
    assert headers(Link.ETHERNET, datagram=True) == headers(Link.ETHERNET, datagram=False) + 8
    assert headers(Link.INFINIBAND, datagram=False) == 8 + 12 + 4 + 2


def test_the_ceiling_counts_a_header_for_each_packet():
    whole = 100 * 125
    assert ceiling(100, 4096, 4096, Link.ETHERNET, datagram=False) == whole * 4096 / (4096 + 82)
    assert ceiling(100, 4097, 4096, Link.ETHERNET, datagram=False) == whole * 4097 / (4097 + 164)
    assert ceiling(100, 2, 4096, Link.INFINIBAND, datagram=False) == whole * 2 / 28
    assert ceiling(100, 8192, 4096, Link.ETHERNET, datagram=False, directions=2) == pytest.approx(
        2 * whole * 4096 / 4178
    )


def test_ceilings_of_large_messages():
    assert 12_400 < ceiling(100, 1 << 20, 4096, Link.INFINIBAND, datagram=False) < 12_500
    assert 12_200 < ceiling(100, 1 << 20, 4096, Link.ETHERNET, datagram=False) < 12_300
    assert 11_500 < ceiling(100, 1 << 20, 1024, Link.ETHERNET, datagram=False) < 11_600


def test_a_value_on_the_ceiling_is_believed_and_one_above_is_not():
    ceilings = {65536: 12_000.0}
    assert above_ceiling(bandwidths(s65536=12_000.0), ceilings) == []
    (objection,) = above_ceiling(bandwidths(s65536=12_000.001), ceilings)
    assert objection.startswith("expected at most 12000 MB/s of payload at 64KiB, found 12000")


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (900.0, Level.GOOD),
        (899.999, Level.WARNING),
        (750.0, Level.WARNING),
        (749.999, Level.CRITICAL),
    ],
)
def test_shares_at_their_edges(value, level):
    found, sentence = judge_share(bandwidths(s65536=value), {65536: 1000.0}, RATE)
    assert found is level
    assert bool(sentence) is (level is not Level.GOOD)
    if sentence:
        assert sentence.startswith(f"{level}: bandwidth reaches ")
        assert "100 Gbit/s" in sentence


def test_the_size_that_comes_closest_is_judged():
    ceilings = {2: 10.0, 65536: 1000.0, 131072: 1000.0}
    level, sentence = judge_share(bandwidths(s2=1.0, s65536=500.0, s131072=760.0), ceilings, RATE)
    assert level is Level.WARNING
    assert "reaches 76 %" in sentence
    assert "at 128KiB: 1000 MB/s" in sentence


def test_small_messages_alone_say_nothing_about_the_link():
    assert fills_link(bandwidths(s65536=1.0))
    assert not fills_link(bandwidths(s32768=1.0))


def test_only_a_partition_with_a_rate_is_judged():
    assert read_rate(PartitionExtras()) is None
    assert read_rate(PartitionExtras(link_rate=200)) == Rate(200, 0.9, 0.75)
    half = PartitionExtras(link_rate=200, link_shares=LinkShares(critical=0.5))
    assert read_rate(half) == Rate(200, 0.9, 0.5)


@pytest.mark.parametrize("shares", [{"warning": 1.1}, {"critical": 0.95}, {"critical": -0.1}])
def test_shares_that_make_no_sense_are_refused(shares):
    with refused("FC0802"):
        read_rate(PartitionExtras(link_rate=200, link_shares=LinkShares(**shares)))
