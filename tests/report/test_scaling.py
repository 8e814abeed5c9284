"""Collectives over ever more nodes: what follows from their times."""

import pytest
from tests.report import sample

from fabricheck.report.load import load
from fabricheck.report.scaling import ScalingStep, scaling


@pytest.fixture
def curves(write):
    def read(document):
        return scaling(load(write(document)))

    return read


def steps_of(found, benchmark, environ="openmpi"):
    (steps,) = (s for c, s in found.items() if (c.benchmark, c.environ) == (benchmark, environ))
    return steps


def test_each_size_goes_from_two_nodes_to_more(curves):
    found = curves(sample.report("allreduce", "latency", "barrier"))
    assert {curve.benchmark for curve in found} == {"allreduce"}, "others have no bytes to compare"
    assert {curve.transport for curve in found} == {"tcp"}, "inside a node nothing scales"
    steps = steps_of(found, "allreduce")
    assert [(step.size, step.nodes) for step in steps[:4]] == [(4, 2), (4, 4), (8, 2), (8, 4)]


def test_the_figures_follow_from_time_and_ranks(curves):
    document = sample.report("allreduce")
    for nodes, time in ((2, 100.0), (4, 300.0)):
        case = sample.find(document, "allreduce", "openmpi", f"tcp-{nodes}n")
        case["samples"]["latency_avg_1MiB"]["value"] = time
    two, four = [s for s in steps_of(curves(document), "allreduce") if s.size == 1 << 20]
    assert two == ScalingStep(2, 2, 1 << 20, 100.0, 1 << 20, 10485.76, 1.0)
    assert (four.wire, four.ranks) == (1.5 * (1 << 20), 4)
    assert four.bandwidth == pytest.approx(5242.88)
    assert four.efficiency == pytest.approx(0.5)


def test_without_two_nodes_there_is_no_efficiency(curves):
    document = sample.report("alltoall")
    sample.find(document, "alltoall", "openmpi", "tcp-2n")["transport"] = "rc"
    found = curves(document)
    alone = next(s for c, s in found.items() if (c.transport, c.environ) == ("tcp", "openmpi"))
    assert {step.nodes for step in alone} == {4}
    assert {step.efficiency for step in alone} == {None}


def test_all_cores_are_a_curve_of_their_own(curves):
    document = sample.report("allreduce")
    sample.find(document, "allreduce", "openmpi", "tcp-4n")["layout"] = "full"
    mine = [curve for curve in curves(document) if curve.environ == "openmpi"]
    assert {curve.full for curve in mine} == {False, True}
