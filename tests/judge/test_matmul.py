"""What the phases of matrix multiplications show beside each other."""

from types import MappingProxyType

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference
from fabricheck.judge.verdict import judge_curve
from fabricheck.launch.cases import Case
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.programs.mpi_matmul.entries import PHASES
from fabricheck.programs.mpi_matmul.judge import apart
from fabricheck.programs.mpi_matmul.ratio import SHAPES, shape_ratio, shapes

TIMES = dict(zip(PHASES, (100.0, 10.0, 30.0, 40.0, 12.0), strict=True))


def curve(*orders: int, variation: float | None = 0.1, **changed: float) -> Curve:
    times = {phase: changed.get(phase, TIMES[phase]) for phase in PHASES}

    def point(order: int) -> Point:
        values = {(phase, "p50"): time * order for phase, time in times.items()}
        if variation is not None:
            values[Metric.VARIATION, "max"] = variation
        return Point(order, MappingProxyType(values), 10, valid=True)

    points = tuple(point(order) for order in orders)
    return Curve("matmul_blocking_np2", "mpi_matmul", "0.1.0", None, MappingProxyType({}), points)


def ratios(shape: str, upper: Curve, lower: Curve) -> dict[int, float]:
    return shape_ratio(Case(f"{shape}_np2", "tcp-2n")).divide(upper, lower)


@pytest.mark.parametrize(
    ("total", "words"),
    [(92e3, []), (97e3, []), (200e3, ["the phases of N 240 add up to 46 % of the total, 200"])],
)
def test_phases_that_do_not_add_up_to_their_total_are_a_warning(total, words):
    averages = dict(zip(PHASES, (total, 10e3, 30e3, 40e3, 12e3), strict=True))
    values = {(phase, name): time for phase, time in averages.items() for name in ("avg", "p50")}
    point = Point(240, MappingProxyType(values), 10, valid=True)
    measured = Curve("matmul_blocking_np2", "mpi_matmul", "", None, {}, (point,))
    found = apart(measured)
    assert [each[: len(start)] for each, start in zip(found, words, strict=True)] == words
    references = {name: Reference(v, -0.5, 0.5, u) for name, (v, u) in measured.variables().items()}
    verdict = judge_curve(measured, references, None).warned(found)
    assert verdict.level == (Level.WARNING if words else Level.GOOD)
    assert verdict.findings == found


@pytest.mark.parametrize(
    ("shape", "upper", "lower", "expected"),
    [
        ("shm_fastest", curve(1, broadcast_b=82.0), curve(1), 2.0),
        ("rdma_faster", curve(1), curve(1, broadcast_b=4.0), 2.0),
        # Half of the compute phase and as much communication: 40/52 over 20/52.
        ("compute_falls", curve(1), curve(1, compute=20.0), 2.0),
        # Communication falls as much as compute: no longer 1 by the compute phase alone.
        (
            "compute_falls",
            curve(1),
            curve(1, compute=20.0, transfer_a=5.0, broadcast_b=15.0, transfer_c=6.0),
            1.0,
        ),
        ("broadcast_largest", curve(1), curve(1), 30 / 12),
        ("nonblocking_faster", curve(1), curve(1, broadcast_b=4.0), 2.0),
        ("nonblocking_unsteady", curve(1, variation=0.4), curve(1, variation=0.1), 4.0),
    ],
)
def test_ratios(shape, upper, lower, expected):
    assert ratios(shape, upper, lower) == {1: pytest.approx(expected)}


def test_each_order_has_its_ratio():
    found = ratios("broadcast_largest", curve(240, 480), curve(240, 480))
    assert list(found) == [240, 480]


@pytest.mark.parametrize(
    ("upper", "lower", "sentence"),
    [
        (curve(240), curve(480), r"expected the same orders .* \[240\] and \[480\]"),
        (curve(240, variation=None), curve(240), "expected a figure above 0"),
        (curve(240), curve(240, variation=0.0), "expected a figure above 0"),
    ],
)
def test_what_cannot_be_compared(upper, lower, sentence):
    with pytest.raises(FabricheckError, match=sentence):
        ratios("nonblocking_unsteady", upper, lower)


def test_cases_have_both_of_their_sides():
    cases = {(str(case), str(case.placement)) for case in shapes(["shm-1n", "tcp-2n"])}
    assert ("shm_fastest_np8", "tcp-2n") in cases
    assert ("broadcast_largest_np32", "shm-1n") in cases
    assert ("compute_falls_np16", "tcp-2n") in cases
    # There are no cases of 64 ranks, and none over RDMA here.
    assert ("compute_falls_np32", "tcp-2n") not in cases
    assert not any(name.startswith("rdma_faster") for name, _ in cases)


@pytest.mark.parametrize(
    ("shape", "placement", "upper", "lower"),
    [
        ("compute_falls", "rc-2n", ("np8", "rc-2n"), ("np16", "rc-2n")),
        ("shm_fastest", "tcp-2n", ("np8", "tcp-2n"), ("np8", "shm-1n")),
    ],
)
def test_sides_of_a_case(shape, placement, upper, lower):
    found = SHAPES[shape]
    for side, (ranks, place) in ((found.upper, upper), (found.lower, lower)):
        case = side.case(placement, 8)
        assert (str(case), str(case.placement)) == (f"matmul_blocking_{ranks}", place)
