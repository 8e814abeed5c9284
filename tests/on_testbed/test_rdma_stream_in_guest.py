"""rdma_stream over the testbed's RDMA devices."""

from pathlib import Path

import pytest
from tests.on_testbed import rdma_streams

from fabricheck_testbed import Testbed

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guest")]


@pytest.mark.parametrize(("nodes", "options"), rdma_streams.RUNS)
def test_rdma_stream_loses_nothing_and_leaves_nothing(nodes, options, clean, on, tmp_path) -> None:
    before = on("rx1", "rdma resource show")
    for stream in rdma_streams.streams(clean, tmp_path, nodes, *options):
        assert (stream.missed, stream.received) == (0, stream.total)
    assert on("rx1", "rdma resource show") == before


def test_rdma_stream_misses_exactly_what_the_network_drops(clean: Testbed, tmp_path: Path) -> None:
    missed, lost, dropped = rdma_streams.missed_lost_and_dropped(clean, tmp_path)
    assert missed == lost > 0
    assert dropped >= lost, "the queue drops neighbour discovery too, no message of the stream"


@pytest.mark.parametrize(
    "options",
    [
        # Devices are looked up by what all programs share: rdma_batch refuses this one likewise.
        pytest.param(each, marks=pytest.mark.lab) if "--dev" in each else each
        for each in rdma_streams.REFUSED
    ],
)
def test_rdma_stream_refuses(options: tuple[str, ...], clean: Testbed, tmp_path: Path) -> None:
    done = rdma_streams.launch(clean, tmp_path, ("rx1", "rx2"), *options)
    assert rdma_streams.REFUSED[options] in done.stderr
