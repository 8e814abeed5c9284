from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest
from tests.trend.made import noise, series

from fabricheck.documents import schema
from fabricheck.errors import FabricheckError
from fabricheck.history.series import SeriesKey
from fabricheck.trend.accepted import read_accepted

GOOD = """
- date: 2026-11-20
  series: {partition: rdma, size: [8, 16]}
  by: Ada
  signed: 2026-11-23
  why: The new firmware.
"""


def test_an_acceptance_is_read_and_fits_what_it_names(tmp_path: Path):
    (tmp_path / "hpc.accepted.yaml").write_text(GOOD)
    (acceptance,) = read_accepted([tmp_path])
    assert (acceptance.system, acceptance.date, acceptance.by) == ("hpc", date(2026, 11, 20), "Ada")
    assert acceptance.fits(series(noise(3), size=16).key)
    assert not acceptance.fits(series(noise(3), size=32).key)
    assert not acceptance.fits(series(noise(3), size=16, partition="main").key)
    assert not acceptance.fits(series(noise(3), size=16, system="other").key)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("by: Ada", "of: Ada", "line 4: 1 > of: unknown key 'of': known are date, signed, by"),
        ("2026-11-20", "soon", "line 2: 1 > date: expected a day such as 2026-11-20, found 'soon'"),
        ("The new firmware.", "''", "why: expected text that says something, found ''"),
        ("partition", "colour", "series: expected one of partition, .*found 'colour'"),
        (
            "{partition: rdma, size: [8, 16]}",
            "all",
            "series: expected fields of a series .* found 'all'",
        ),
        (GOOD, "by: Ada", "expected a list of acceptances, found"),
        (GOOD, "- }", "expected acceptances in YAML"),
        (GOOD, "- 1", "1: expected an acceptance: .*, found 1"),
    ],
)
def test_records_that_cannot_be_are_named(tmp_path: Path, old: str, new: str, words: str):
    (tmp_path / "hpc.accepted.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(FabricheckError, match=words):
        read_accepted([tmp_path])


def test_every_field_of_a_series_can_be_named():
    series = schema("fabricheck.trend", "accepted.schema.json").schema["items"]["properties"]
    known = {field.name for field in fields(SeriesKey)} - {"system"}
    known |= {"placement"}
    assert set(series["series"]["propertyNames"]["enum"]) == known


def test_no_file_is_no_acceptance(tmp_path: Path):
    assert read_accepted([tmp_path]) == []
