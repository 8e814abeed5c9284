"""Change points beside the marks of people."""

import runpy
from pathlib import Path

import pytest

LABELLED = runpy.run_path(str(Path(__file__).parents[2] / "lab" / "labelled-series.py"))


@pytest.mark.parametrize(
    ("points", "people", "precision", "recall"),
    [
        ([100], [[100], [103]], 1.0, 1.0),
        ([106], [[100]], 0.5, 0.5),
        ([100, 101], [[100]], 2 / 3, 1.0),
        ([], [[100], []], 1.0, 0.75),
        ([50, 100], [[50], [100]], 1.0, 1.0),
    ],
)
def test_precision_is_over_all_marks_and_recall_over_people(points, people, precision, recall):
    found = LABELLED["agreement"](points, people)
    assert found == pytest.approx((precision, recall))
