"""The shape of batches: what they should never do, beyond the noise."""

from types import MappingProxyType

import pytest

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.programs.rdma_batch.judge import batch_shapes


def curve_of(*points: tuple[int, float, float]) -> Curve:
    """Of (size, least latency in us, average bandwidth in MB/s)."""
    return Curve(
        benchmark="rdma_batch_write",
        program="rdma_batch",
        version="1",
        datatype=None,
        metadata=MappingProxyType({}),
        points=tuple(
            Point(
                size,
                {(Metric.LATENCY, "min"): latency, (Metric.BANDWIDTH, "avg"): bandwidth},
                None,
                None,
            )
            for size, latency, bandwidth in points
        ),
    )


GOOD = curve_of((1024, 10, 100), (2048, 11, 190), (4096, 22, 190))


@pytest.mark.parametrize("by_batch", [False, True])
def test_a_curve_that_rises_has_nothing_to_tell(by_batch):
    assert batch_shapes(GOOD, 0.0, by_batch=by_batch) == ()


def test_bandwidth_that_falls_is_told_beyond_the_noise():
    falling = curve_of((1024, 10, 100), (2048, 11, 80))
    (sentence,) = batch_shapes(falling, 0.2, by_batch=False)
    assert sentence.startswith("bandwidth falls with the size: 1KiB reaches 100 MB/s, but 2KiB")
    assert batch_shapes(falling, 0.3, by_batch=False) == ()
    assert batch_shapes(falling, None, by_batch=False) == ()


def test_a_batch_that_takes_longer_than_its_transfers_alone_is_told():
    superlinear = curve_of((1024, 10, 100), (2048, 25, 100))
    (sentence,) = batch_shapes(superlinear, 0.2, by_batch=True)
    assert sentence.startswith("the time of a batch grows faster than its transfers: 1KiB takes 10")
    assert batch_shapes(superlinear, 0.3, by_batch=True) == ()
    assert batch_shapes(superlinear, 0.2, by_batch=False) == (), "sizes may grow so"
