from pathlib import Path

import pytest
from tests.refusals import refused
from tests.stress.made import SESSION, block, place

from fabricheck.errors import FabricheckError
from fabricheck.stress.mix import following
from fabricheck.stress.state import StressDirectory, places
from fabricheck.stress.work import prune


def test_a_block_counts_once_whoever_records_it_again(tmp_path: Path) -> None:
    made = place(tmp_path / "s", block("1.1"), block("1.2"), block("1.2", value=1.0))
    assert [(each.id, each.samples[0].value) for each in made.read(SESSION)] == [
        ("1.1", 44977.66),
        ("1.2", 44977.66),
    ]
    assert made.read("another") == []


def test_a_line_that_was_cut_short_is_no_block_and_spoils_no_other(tmp_path: Path) -> None:
    made = place(tmp_path / "s", block("1.1"), block("1.2"))
    whole = made.lines.read_bytes()
    made.lines.write_bytes(whole[:-20])
    assert [each.id for each in made.read(SESSION)] == ["1.1"]
    made.append(block("1.2"))
    made.append(block("1.3"))
    assert [each.id for each in made.read(SESSION)] == ["1.1", "1.2", "1.3"]


def test_the_tail_begins_behind_a_cut_line(tmp_path: Path) -> None:
    made = place(tmp_path / "s", *(block(f"{each}.1") for each in range(1, 6)))
    length = len(made.lines.read_bytes()) // 5
    assert [each.id for each in made.read(SESSION, length * 2 + 10)] == ["4.1", "5.1"]


@pytest.mark.parametrize(
    ("done", "expected"),
    [([], (1, 0)), (["1.1"], (1, 1)), (["1.1", "1.4"], (2, 0)), (["9.4", "10.2"], (10, 2))],
)
def test_work_goes_on_behind_the_last_block(done: list[str], expected: tuple[int, int]) -> None:
    mixes = [{"first": 0, "count": 4}]
    assert following([block(each) for each in done], mixes) == expected


def test_the_last_directories_stay_and_so_do_bad_ones(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:06d}").mkdir()
    (tmp_path / "000003" / "bad").touch()
    prune(tmp_path)
    kept = sorted(int(each.name) for each in tmp_path.iterdir())
    assert kept == [3, *range(10, 30)]


def test_a_second_worker_is_refused(tmp_path: Path) -> None:
    made = place(tmp_path / "s")
    with (
        made.alone("worker"),
        pytest.raises(FabricheckError, match="no other worker of stress s"),
        made.alone("worker"),
    ):
        pass
    with made.alone("worker"):
        pass


def test_changes_of_several_are_all_there(tmp_path: Path) -> None:
    made = place(tmp_path / "s")
    made.change(job="17")
    assert made.change(restarts=1).job == "17"
    assert places(tmp_path) == []
    assert [each.name for each in places(tmp_path.parent)] == []


@pytest.mark.parametrize("text", ["{", "[]", '{"ended": 1}', '{"session": 1, "ended": "never"}'])
def test_a_damaged_state_is_told(tmp_path: Path, text: str) -> None:
    made = StressDirectory(tmp_path)
    (tmp_path / "state.json").write_text(text)
    with refused("FC2316"):
        made.state()


def test_where_nothing_was_started_there_is_nothing(tmp_path: Path) -> None:
    made = StressDirectory(tmp_path / "none")
    assert not made.state().session
    assert made.read(SESSION) == []
    with refused("FC2314", "found none: start one"):
        made.read_plan()


def test_what_is_no_plan_is_told(tmp_path: Path) -> None:
    made = place(tmp_path / "s")
    made.write_plan({"scheduler": "local"})
    with refused("FC2314", "found something else: start one"):
        made.read_plan()
