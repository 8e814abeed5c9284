"""References of a case, and what it measures."""

from fabricheck.judge.references import Reference
from fabricheck.launch.judging import of_sizes


def test_sizes_that_only_other_runs_send_are_left_out() -> None:
    names = ("latency_p50_8B", "latency_p50_4MiB", "startup_avg")
    references = {name: Reference(1.0, None, 2.0, "us") for name in names}
    assert list(of_sizes(references, (8, 64))) == ["latency_p50_8B", "startup_avg"]
    assert "latency_p50_64B" not in of_sizes(references, (8, 64)), "none is made up"
