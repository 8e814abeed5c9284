import pytest
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.measures.curve import Curve, Point, Variable
from fabricheck.measures.metrics import Metric


@pytest.mark.parametrize(
    ("metric", "statistic", "size", "name"),
    [
        (Metric.LATENCY, "p50", 1024, "latency_p50_1KiB"),
        (Metric.BANDWIDTH, "avg", 1 << 20, "bandwidth_avg_1MiB"),
        (Metric.MESSAGE_RATE, "avg", 8, "message_rate_avg_8B"),
        (Metric.LATENCY, "avg", None, "latency_avg"),
        (Metric.LATENCY, "p99.9", 0, "latency_p99.9_0B"),
    ],
)
def test_variable_names_round_trip(metric, statistic, size, name):
    assert str(Variable(metric, statistic, size)) == name
    assert Variable.read(name) == (metric, statistic, size)


@pytest.mark.parametrize(
    "name", ["latency", "latency_8B", "speed_avg_8B", "latency_p50_8", "latency_p50_8KB", "", "x\n"]
)
def test_other_names_are_refused(name):
    with pytest.raises(FabricheckError, match="expected a"):
        Variable.read(name)


def test_sizes_have_one_spelling():
    with refused("FC1102", "name latency_p50_1KiB, found latency_p50_1024B"):
        Variable.read("latency_p50_1024B")


def test_variables_are_the_recorded_statistics():
    values = {(Metric.LATENCY, s): float(i) for i, s in enumerate(["avg", "min", "p50", "p90"])}
    curve = Curve("latency", "osu", "7.4", None, {}, (Point(8, values, None, None),))
    assert curve.variables() == {
        Variable(Metric.LATENCY, "avg", 8): (0.0, "us"),
        Variable(Metric.LATENCY, "p50", 8): (2.0, "us"),
    }
