import doctest

import pytest

from fabricheck import units
from fabricheck.measures import metrics
from fabricheck.measures.metrics import size_label
from fabricheck.report import charts
from fabricheck.units import in_cell, significant, with_unit


@pytest.mark.parametrize("module", [units, metrics, charts])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0213, "us", "21.3 ns"),
        (999.6, "us", "1.00 ms"),
        (999.4, "us", "999 µs"),
        (1.5e6, "us", "1.50 s"),
        (0.4, "MB/s", "400 kB/s"),
        (12345.0, "MB/s", "12.3 GB/s"),
        (12530052.55, "messages/s", "12.5 M msg/s"),
        (0.028, "", "0.0280"),
        (0.0, "us", "0 ns"),
        (3.0, "furlong", "3.00 furlong"),
    ],
)
def test_units(value, unit, text):
    assert with_unit(value, unit) == text


@pytest.mark.parametrize(("value", "text"), [(0.9999, "1.00"), (9.996, "10.0"), (1e-9, "1e-09")])
def test_rounding_keeps_three_digits(value, text):
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.194, "us", "0.19"), (0.004, "MB/s", "0.00400"), (2.5e6, "messages/s", "2.50")],
)
def test_table_figures(value, unit, text):
    assert in_cell(value, unit) == text


def test_sizes():
    assert [size_label(size) for size in (1, 1000, 1024, 1 << 22)] == [
        "1 B",
        "1000 B",
        "1 KiB",
        "4 MiB",
    ]
