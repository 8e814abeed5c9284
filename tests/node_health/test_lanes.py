"""The trend of each lane of a module: kept a day each, named when it falls."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.refusals import refused

from fabricheck.node_health.lanes import FEWEST, follow
from fabricheck.node_health.survey import Line

FIRST = datetime(2026, 11, 1, 4, tzinfo=UTC)


def day(folder: Path, number: int, rx: str, bias: str = "6.5 6.6 6.4 6.5 mA") -> Line:
    cards = {"": {}, "mlx5_0": {"rx power": rx, "bias": bias}, "mlx5_0:1": {"state": "ACTIVE"}}
    node = SimpleNamespace(node="c001", cards=cards)
    return follow(node, folder, FIRST + timedelta(days=number))


@pytest.mark.parametrize("falling", range(4))
def test_a_lane_whose_light_falls_is_named_and_no_other(tmp_path: Path, falling: int) -> None:
    said = []
    for number in range(21):
        lanes = [-2.0 + 0.1 * (number % 3)] * 4
        lanes[falling] -= 0.1 * number
        said.append(day(tmp_path, number, f"{' '.join(f'{each:.2f}' for each in lanes)} dBm"))
    assert [line.level for line in said[: FEWEST - 1]] == [None] * (FEWEST - 1)
    assert said[FEWEST].level == "good"
    last = said[-1]
    assert (last.level, last.nodes) == ("warning", ("c001",))
    assert last.words.startswith(f"mlx5_0 rx power of lane {falling + 1} -3.8")
    assert last.words.endswith("dBm, 21 days ago -2")
    assert ";" not in last.words


def test_a_laser_that_takes_more_current_is_named(tmp_path: Path) -> None:
    for number in range(10):
        line = day(tmp_path, number, "-2 -2 dBm", f"6 {6 + number * 0.3:.1f} mA")
    assert line.words == "mlx5_0 bias of lane 2 8.4 mA, 10 days ago 6.3"


def test_the_same_day_counts_once_and_another_module_begins_anew(tmp_path: Path) -> None:
    for _ in range(9):
        line = day(tmp_path, 0, "-2 -2 -2 -2 dBm")
    assert (line.level, line.words) == (None, "1 days")
    for number in range(1, 9):
        line = day(tmp_path, number, "-9 dBm")
    assert (line.level, line.words) == ("good", "9 days")


def test_what_is_not_read_is_not_good(tmp_path: Path) -> None:
    node = SimpleNamespace(node="c001", cards={"": {}, "mlx5_0": {}})
    line = follow(node, tmp_path, FIRST)
    assert (line.level, line.words[:17]) == (None, "no module is read")


@pytest.mark.parametrize("text", ["[]", "{", '{"2026-10-30": []}', '{"2026-12-01": {"a": ["x"]}}'])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c001.json").write_text(text)
    with refused("FC3111"):
        day(tmp_path, 0, "-2 dBm")


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with refused("FC3111"):
        day(tmp_path / "none", 0, "-2 dBm")
