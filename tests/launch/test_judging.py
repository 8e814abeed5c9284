"""References of a case, what it measures, and what its sockets sent again."""

from pathlib import Path

import pytest

from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference
from fabricheck.launch.judging import judge_segments, of_sizes
from fabricheck.measures.curve import Variable


def test_sizes_that_only_other_runs_send_are_left_out() -> None:
    names = ("latency_p50_8B", "latency_p50_4MiB", "startup_avg")
    references = {Variable.read(name): Reference(1.0, None, 2.0, "us") for name in names}
    kept = list(map(str, of_sizes(references, (8, 64))))
    assert kept == ["latency_p50_8B", "startup_avg"], "none of 64B is made up"


def witnessed(directory: Path, rank: int, host: str, sent: int, again: int) -> None:
    (directory / f"witness.{rank}").write_text(
        f"rank {rank}\nhost {host}\nallocation\ncpus 0\nbelow_ports\nipoib\n"
        "tcp before sockets sent 1000\ntcp before sockets again 5\n"
        f"tcp after sockets sent {1000 + sent}\ntcp after sockets again {5 + again}\n"
        "ran 1.0 2.0\nexit 0\n"
    )


def test_a_node_that_had_to_send_segments_again_is_named(tmp_path: Path) -> None:
    witnessed(tmp_path, 0, "n1", sent=4000, again=0)
    witnessed(tmp_path, 1, "n2", sent=4000, again=80)
    (found,) = judge_segments(tmp_path, "latency")
    assert (found.level, found.place) == (Level.CRITICAL, "n2")
    assert str(found).startswith("TCP segments sent again on n2: 80 of 4080 (2 %): the network")


@pytest.mark.parametrize(
    ("benchmark", "sent", "again"),
    [
        ("latency", 4000, 40),
        ("latency", 100, 19),
        ("latency", 4000, 0),
        ("matmul_blocking_np2", 4000, 200),
        ("bcast", 4000, 200),
    ],
)
def test_few_segments_sent_again_are_no_fault(
    tmp_path: Path, benchmark: str, sent: int, again: int
) -> None:
    witnessed(tmp_path, 0, "n1", sent=sent, again=again)
    assert judge_segments(tmp_path, benchmark) == []


@pytest.mark.parametrize("benchmark", ["latency", "matmul_blocking_np2"])
def test_a_link_that_carries_nothing_any_more_is_told(tmp_path: Path, benchmark: str) -> None:
    witnessed(tmp_path, 0, "n1", sent=0, again=30)
    (found,) = judge_segments(tmp_path, benchmark)
    assert "30 of 30 (100 %)" in str(found)
