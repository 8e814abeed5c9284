"""The two doors of the testbed: its own command, and that of the suite."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricheck import cli
from fabricheck.cli.door import DOOR
from fabricheck_testbed.__main__ import main
from fabricheck_testbed.door import OWN, Door

DOORS = pytest.mark.parametrize(
    ("program", "door"), [(main, OWN), (cli.main, DOOR)], ids=["own", "suite"]
)
Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(
    program: Callable[[], None],
    door: Door,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")

    def through(*words: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", [*door.command.split(), *words])
        with pytest.raises(SystemExit) as ended:
            program()
        return (ended.value.code, *capsys.readouterr())

    return through


def test_users_of_before_find_their_testbed_where_it_was() -> None:
    assert Door("fabricheck testbed", "FABRICHECK_TESTBED", "fabricheck/testbed") == DOOR


@DOORS
def test_each_door_has_a_state_directory_and_a_variable_of_its_own(
    door: Door, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("status") == (1, f"No testbed runs in {tmp_path / door.place}.\n", "")
    monkeypatch.setenv(door.variable, str(tmp_path / "other"))
    assert f"No testbed runs in {tmp_path}/other." in run("status")[1]
    assert f"no testbed runs in {tmp_path}/other" in run("exec", "n1", "true")[2]


@DOORS
def test_the_help_names_the_door(door: Door, run: Run) -> None:
    code, told, _ = run("up", "--help")
    assert code == 0
    assert f"\n   {door.command} up --nodes 2" in told
    assert door.variable in told
    assert f"~/.local/state/{door.place}" in told
    assert "%(prog)s" not in told


@DOORS
def test_a_problem_is_one_sentence_and_exit_code_2(door: Door, run: Run, tmp_path: Path) -> None:
    none = tmp_path / "none"
    code, _, said = run("exec", f"--state-dir={none}", "n1", "true")
    assert code == 2
    assert said == (
        f"{door.command.split()[0]}: no testbed runs in {none}: start one with testbed up "
        f"--state-dir {none}\n"
    )
