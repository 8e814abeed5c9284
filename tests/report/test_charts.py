import math

import pytest
from tests.report import sample

from fabricheck.report import charts
from fabricheck.report.curves import groups
from fabricheck.report.matrix import build_matrix

pytestmark = pytest.mark.integration

STATISTICS = ("p50", "avg", "p99", "max")
ENVIRONS = ("mpich", "openmpi")


@pytest.fixture
def drawn(judged):
    """The chart of a document's benchmark at a placement, as Bokeh's JSON."""

    def draw(document, anchor, metric="latency"):
        run, _ = judged(document)
        group = next(g for g in groups(build_matrix(run)) if g.anchor == anchor)
        return group, charts.chart(group, metric, ENVIRONS, "target")

    return draw


def objects(node, name):
    """All objects of a Bokeh document of that type."""
    if isinstance(node, dict):
        found = [node["attributes"]] if node.get("name") == name and "attributes" in node else []
        return found + [item for value in node.values() for item in objects(value, name)]
    if isinstance(node, list):
        return [item for value in node for item in objects(value, name)]
    return []


def labels(chart):
    return [item["label"]["value"] for item in objects(chart, "LegendItem")]


def test_both_axes_are_logarithmic_and_each_mpi_has_its_statistics(drawn):
    _, chart = drawn(sample.report("latency", "barrier", "bw"), "curve-latency-tcp-2n")
    # Nothing is outside, so that nothing is marked.
    assert labels(chart) == [f"{mpi} {name}" for mpi in ENVIRONS for name in STATISTICS]
    axes = objects(chart, "LogAxis")
    names = [name for axis in axes for _, name in axis["major_label_overrides"]["entries"]]
    assert len(axes) == 2
    assert {"1 MiB", "10 µs"} <= set(names)


def test_points_outside_are_marked_by_shape_and_named_and_bands_are_shaded(drawn):
    _, chart = drawn(sample.with_critical(), "curve-latency-tcp-2n")
    assert labels(chart)[-1] == "critical"
    markers = [glyph.get("marker", {}).get("value") for glyph in objects(chart, "Scatter")]
    assert markers.count("x") == 1
    assert len(objects(chart, "VArea")) == 2


def test_without_reference_there_is_no_band(drawn):
    document = sample.with_no_reference()
    entry = sample.find(document, "bcast", "openmpi", "shm-1n")
    for each in entry["samples"].values():
        for bound in ("reference", "lower", "upper", "warning_lower", "warning_upper"):
            each.pop(bound, None)
    _, chart = drawn(document, "curve-bcast-shm-1n")
    assert objects(chart, "VArea") == []


def test_a_bound_far_away_does_not_flatten_the_curve_and_is_told(drawn):
    group, chart = drawn(sample.report("latency", "barrier", "bw"), "curve-latency-shm-1n")
    low, high = (objects(chart, "Range1d")[1][end] for end in ("start", "end"))
    assert high / low < 1e6
    assert charts.beyond(group, "latency")


def test_a_size_without_figure_is_a_gap(drawn):
    document = sample.report("latency", "barrier", "bw")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry["samples"]["latency_p50_1KiB"]["value"] = None
    _, chart = drawn(document, "curve-latency-tcp-2n")
    columns = [dict(source["data"]["entries"]) for source in objects(chart, "ColumnDataSource")]
    curves = [data for data in columns if "p50" in data]
    assert [sum(_missing(v) for v in data["p50"]) for data in curves] == [0, 1]


def _missing(value):
    return isinstance(value, dict) or math.isnan(value)


def test_a_barrier_has_no_chart(drawn):
    group, chart = drawn(sample.report("latency", "barrier", "bw"), "curve-barrier-tcp-2n")
    assert chart is None
    assert group.sizes("latency") == (None,)


def test_a_group_without_any_value_is_no_group(judged):
    document = sample.report("latency", "barrier", "bw")
    for name in ENVIRONS:
        entry = sample.find(document, "bw", name, "tcp-2n")
        entry.update(result="fail", level="untrusted", samples={})
    run, _ = judged(document)
    anchors = {group.anchor for group in groups(build_matrix(run))}
    assert "curve-bw-shm-1n" in anchors
    assert "curve-bw-tcp-2n" not in anchors


@pytest.mark.parametrize(("low", "high"), [(0.01, 1e6), (3, 40), (5.1, 5.9), (1e-5, 1)])
def test_ticks_lie_within_the_axis(low, high):
    assert all(low <= tick <= high for tick in charts.log_ticks(low, high))
