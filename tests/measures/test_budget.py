import pytest

from fabricheck.measures.budget import iterations, thin
from fabricheck.measures.registry import sweep


def test_iterations_fit_the_budget_within_bounds():
    assert iterations(8, budget=0.05, typical={"latency": 50, "bandwidth": 30}) == 497
    assert iterations(1 << 20, budget=0.05, typical={"latency": 50, "bandwidth": 30}) == 10, (
        "never too few"
    )
    assert iterations(8, budget=1, typical={"latency": 1}) == 10_000, "never too many"


@pytest.mark.parametrize(
    ("sizes", "step", "kept"),
    [
        (sweep(1, 1 << 16), 32, (1, 8, 256, 1 << 13, 1 << 16)),
        (sweep(2, 1 << 10), 32, (2, 8, 256, 1 << 10)),
        (sweep(8, 8), 32, (8,)),
        (sweep(1, 4), 32, (1, 4)),
        (sweep(1, 64), None, sweep(1, 64)),
    ],
)
def test_a_sparse_sweep_keeps_its_ends_and_8_bytes(sizes, step, kept):
    assert thin(sizes, step) == kept
