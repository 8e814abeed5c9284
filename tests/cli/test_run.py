"""``fabricheck run`` with a testbed that cannot have its RDMA devices."""

import sys
from pathlib import Path

import pytest
import typer
from tests.refusals import refused

import fabricheck_testbed.cli
from fabricheck.cli import run as run_module
from fabricheck.errors import FabricheckError
from fabricheck.planning import night as nights
from fabricheck.planning.night import NightPlan, Weighed
from fabricheck.record.costs import Cost
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.runner import selection, session
from fabricheck.runner.selection import RunSelection
from fabricheck_testbed.errors import TestbedError


@pytest.fixture
def wishes(monkeypatch: pytest.MonkeyPatch) -> list[bool | None]:
    """What the testbed is asked for; it refuses RDMA devices."""
    asked: list[bool | None] = []

    def up(*_: object, rdma: bool | None = None, **__: object) -> None:
        asked.append(rdma)
        if rdma:
            raise TestbedError("a testbed with --rdma needs QEMU")

    monkeypatch.setattr(fabricheck_testbed.cli, "up", up)
    return asked


def test_without_rdma_devices_the_rest_is_measured_and_it_says_so_aloud(
    wishes: list[bool | None], capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = run_module.start_testbed(with_rdma=True)
    assert wishes == [True, False]
    assert lacking == (
        "nothing on RDMA devices (partition rdma of the testbed): a testbed with --rdma needs QEMU"
    )
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(lines) == f"NOT MEASURED: {lacking}"
    assert max(map(len, lines)) <= 100


def test_a_testbed_that_runs_with_rdma_devices_stays(
    wishes: list[bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def up(*_: object, rdma: bool | None = None, **__: object) -> None:
        wishes.append(rdma)
        if rdma is not None:
            raise TestbedError("its guest (rx1, rx2) cannot write to /srv")

    monkeypatch.setattr(fabricheck_testbed.cli, "up", up)
    lacking = run_module.start_testbed(with_rdma=True)
    assert lacking is not None and lacking.endswith("its guest (rx1, rx2) cannot write to /srv")
    assert wishes == [True, False, None]


def test_who_needs_no_rdma_devices_does_not_start_them(wishes: list[bool | None]) -> None:
    assert run_module.start_testbed(with_rdma=False) is None
    assert wishes == [None]


def test_a_mode_and_an_environment_do_not_go_together() -> None:
    with refused("FC2527"):
        run_module.run(mode="nightly", environ=["mpich"])


@pytest.mark.parametrize("mode", ["nightly", None])
def test_a_night_runs_what_its_budget_chose_and_nothing_else_does(
    mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[RunSelection, str | None]] = []

    def run(_: object, wanted: RunSelection, lacking: str | None, __: object) -> None:
        asked.append((wanted, lacking))
        raise FabricheckError("that is enough")

    runs, rests = (
        Weighed(CheckCase("C", name, "shm-1n", "here", "mpich", (), ()), "", due, 2, Cost(1, 1))
        for name, due in (("bw", 0), ("latency", 3))
    )
    night = NightPlan("local", (runs,), (rests,), (1, 2), ("2 cases are due and find no room",))
    monkeypatch.setattr(selection, "check", lambda *_: None)
    monkeypatch.setattr(selection, "lacking", lambda *_: [])
    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(nights, "choose", lambda *_: night)
    with pytest.raises(FabricheckError, match="that is enough"):
        run_module.run(system="local", mode=mode)
    ((wanted, lacking),) = asked
    if mode is None:
        assert (wanted.chosen, wanted.resting, lacking) == (None, (), None)
        return
    assert wanted.chosen == {"C bw shm-1n": {"systems": ["local:here"], "environs": ["mpich"]}}
    (told,) = wanted.resting
    assert (told["benchmark"], told["state"]) == ("latency", "not due")
    assert lacking == "2 cases are due and find no room"


def test_the_junit_report_may_lie_where_the_testbed_sees_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    (place / "reports").mkdir(parents=True)

    def run(_: object, __: object, ___: object, options: list[str]) -> tuple[int, str]:
        (option,) = options
        written = Path(option.removeprefix("--report-junit="))
        assert written.parent == place / "reports"
        written.write_text("<testsuites/>")
        return 0, "session"

    monkeypatch.setenv("FABRICHECK_SITES", str(place))
    monkeypatch.setattr(selection, "check", lambda *_: None)
    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(run_module, "load", lambda *_: None)
    monkeypatch.setattr(run_module, "show", lambda *_, **__: 0)
    with pytest.raises(typer.Exit):
        run_module.run(system="local", junit=tmp_path / "junit.xml")
    assert (tmp_path / "junit.xml").read_text() == "<testsuites/>"
    assert not list((place / "reports").iterdir())
    with refused("FC2528"):
        run_module.run(system="local", junit=tmp_path / "none" / "junit.xml")


def test_a_suite_without_its_testbed_runs_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fabricheck_testbed.cli", None)
    with refused("FC0110", r"pip install 'fabricheck\[testbed\]'"):
        run_module.start_testbed(with_rdma=False)
