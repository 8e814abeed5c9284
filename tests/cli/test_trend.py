import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import run
from tests.history.recorded import case, record
from tests.lab.made import simulate
from tests.refusals import refused
from tests.sites import minimal
from typer.testing import Result

from fabricheck.errors import FabricheckError
from fabricheck.history.store import History
from fabricheck.record.entries import Nodes, Session
from fabricheck.record.write import append

SITE = minimal.site("simulated")


class Place:
    """A simulated history with its site and references."""

    def __init__(self, root: Path, *options: str) -> None:
        self.lay(root)
        (self.sites / "site.yaml").write_text(SITE)
        made = simulate("history", root / "logs", "--normal", *options)
        assert made.exit_code == 0
        run("history", "refresh", "--perflogs", root / "logs", "--store", self.store)

    def lay(self, root: Path) -> None:
        self.store, self.sites, self.references = root / "store", root / "sites", root / "ref"
        self.sites.mkdir()
        self.references.mkdir()

    def trend(self, *options: str) -> Result:
        return run(
            "trend", "--store", self.store, "--sites", self.sites, "--references",
            self.references, *options,
        )  # fmt: skip


STEP = ("--size", "0.1", "--nights", "105", "--at", "100", "--series", "12")


def test_a_new_regression_comes_first_and_makes_the_exit_code(tmp_path: Path):
    found = Place(tmp_path, *STEP).trend()
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert lines[0].startswith(" WORSE   1 new regression; newest value 2020-04-14")
    assert lines[1].startswith("new regression on simulated since 2020-04-10 03:00: +")
    assert "confidence very high" in lines[1]
    assert lines[2].strip() == "everything: 12 of 12 series"
    assert "fabric openmpi latency0 rc-2n p" in lines[3]
    assert lines[4].strip() == "what differs: nothing in the record"
    assert lines[-1].startswith("12 series: 12 judged")


def test_a_steady_history_has_exit_code_0(tmp_path: Path):
    found = Place(tmp_path, "--size", "0", "--series", "12", "--nights", "60").trend()
    assert found.exit_code == 0
    assert found.stdout.splitlines()[0].startswith(" STEADY   nothing new; newest value")


def test_an_open_regression_is_worse_and_shown_however_old(tmp_path: Path):
    old = ("--size", "0.1", "--nights", "145", "--at", "100", "--series", "12")
    place = Place(tmp_path, *old)
    # A run by hand, or a stress, is no night.
    night = Session(
        time="2020-05-20T03:30:00+00:00", session="n", system="simulated", info={"kind": "nightly"}
    )
    later = replace(night, time="2020-05-21T09:00:00+00:00", session="r", info={})
    append(tmp_path / "logs", [night, later])
    run("history", "refresh", "--store", place.store)
    found = place.trend()
    assert found.exit_code == 1
    first, second, *_ = found.stdout.splitlines()
    assert first.startswith(" WORSE   1 open regression; last night 2020-05-20 03:30; newest value")
    assert second.startswith("open regression on simulated since 2020-04-10")


def test_json_says_the_same(tmp_path: Path):
    found = Place(tmp_path, *STEP).trend("--json")
    data = json.loads(found.stdout)
    assert (data["exit_code"], found.exit_code) == (1, 1)
    (event,) = data["events"]
    assert (event["kind"], event["state"], event["alike"]) == ("regression", "new", 12)
    change = event["changes"][0]
    assert change["key"]["transport"] == "rc"
    assert change["interval"][0] < change["effect"] < change["interval"][1]
    assert change["session"].startswith("night-")


def test_an_accepted_step_has_exit_code_0(tmp_path: Path):
    place = Place(tmp_path, *STEP)
    (place.references / "simulated.accepted.yaml").write_text(
        "- {date: 2020-04-10, series: {transport: rc}, by: Ada, signed: 2020-04-12, why: firmware}"
    )
    found = place.trend()
    assert found.exit_code == 0
    assert "accepted regression" in found.stdout


def test_at_most_twenty_lines_unless_all_are_asked_for(tmp_path: Path):
    place = Place(tmp_path, "--size", "0", "--nights", "130", "--series", "60", "--drift", "0.03")
    some = place.trend("--since", "2020-01-01").stdout.splitlines()
    every = place.trend("--since", "2020-01-01", "--all").stdout.splitlines()
    assert len(some) <= 20
    assert any("more events: see --all" in line for line in some)
    assert len(every) > len(some)


def test_since_and_system_choose(tmp_path: Path):
    place = Place(tmp_path, *STEP)
    assert json.loads(place.trend("--since", "2020-04-13", "--json").stdout)["events"] == []
    assert json.loads(place.trend("--system", "simulated", "--json").stdout)["events"]
    with refused("FC2535", "expected series of elsewhere in the history"):
        place.trend("--system", "elsewhere")
    with refused("FC2520"):
        place.trend("--since", "yesterday")


def test_bad_settings_are_bad_input(tmp_path: Path):
    place = Place(tmp_path, *STEP)
    (place.sites / "site.yaml").write_text(SITE + "trend: {alarms: 1}\n")
    with pytest.raises(
        FabricheckError, match=r"trend > alarms: unknown key .*known are history_nights"
    ) as error:
        place.trend()
    assert error.value.exit_code == 2


def test_without_a_history_nothing_is_made(tmp_path: Path):
    with refused("FC0601"):
        run("trend", "--store", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_differs_across_an_event_is_told_and_ranked(tmp_path: Path):
    place = Place(tmp_path, *STEP)
    with History.open_to_read(place.store) as history:
        some = next(history.series())
    for night, session in enumerate(some.sessions):
        key = some.key
        software = {"ucx": "1.13" if night < 100 else "1.15"}
        nodes = Nodes(
            time="2020-04-10T03:00:00+00:00", session=str(session), system=key.system,
            partition=key.partition, environ=key.environ, nodes=("n1",), machine={},
            software=software,
        )  # fmt: skip
        append(tmp_path / "logs", [nodes])
    run("history", "refresh", "--store", place.store)
    line = place.trend().stdout.splitlines()[4].strip()
    assert line.startswith("what differs: ucx 1.13 → 1.15 on fabric since 2020-04-10 03:00 (")
    (event,) = json.loads(place.trend("--json").stdout)["events"]
    (difference,) = event["differences"]
    assert difference["explained"] == difference["changed"] == 12
    assert (difference["field"], difference["contradicted"], difference["score"]) == ("ucx", 0, 1)


def lemon(tmp_path: Path) -> Result:
    """A history in which jobs on n3 are slow since the tenth night, and none is on n5 any more."""
    pairs = ("n1,n2", "n3,n4", "n1,n3", "n2,n4", "n1,n4", "n2,n5")
    cases = [
        case(
            night,
            value=9.5 * (1.1 if "n3" in pair and night >= 10 else 1) + 0.01 * (night % 3),
            nodes=tuple(pair.split(",")),
            job=str(100 * night + number),
        )
        for night in range(13)
        for number, pair in enumerate(pairs[: 6 if night < 3 else 5])
    ]
    record(tmp_path / "logs", *cases)
    run("history", "refresh", "--perflogs", tmp_path / "logs", "--store", tmp_path / "store")
    for name in ("sites", "ref"):
        (tmp_path / name).mkdir()
    return run(
        "trend", "--store", tmp_path / "store", "--sites", tmp_path / "sites", "--references",
        tmp_path / "ref",
    )  # fmt: skip


def test_a_slow_node_is_named_and_coverage_names_one_that_nothing_runs_on(tmp_path: Path):
    found = lemon(tmp_path)
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    (line,) = (line for line in lines if "jobs with n3 " in line)
    assert "since 2026-11-11: 6 of 6 with it in 3 nights, 0 of 9 without it" in line
    assert "--exclude=n3" in found.stdout
    assert "nodename=n3 state=drain" in found.stdout
    seen = run("coverage", "--store", tmp_path / "store", "--sites", tmp_path / "sites")
    (oldest,) = (line.split() for line in seen.stdout.splitlines() if line.startswith("2026-11-03"))
    assert (oldest[1], oldest[-1]) == ("10", "n5")


def test_a_case_that_comes_and_goes_is_named(tmp_path: Path):
    cases = []
    for night in range(16):
        for pair in ("n1,n2", "n3,n4", "n1,n3", "n2,n4"):
            own = {"nodes": tuple(pair.split(",")), "job": f"{night}-{pair}", "benchmark": pair}
            if pair == "n3,n4" and night % 3 == 0:
                first = {"level": "disturbed", "gave": "critical", "result": "fail"}
                cases.append(case(night, None, (), **own, **first))
                own |= {"attempt": 2, "job": f"{night}-again"}
            cases.append(case(night, value=9.5 + 0.01 * (night % 3), **own))
    record(tmp_path / "logs", *cases)
    place = Place.__new__(Place)
    place.lay(tmp_path)
    run("history", "refresh", "--perflogs", tmp_path / "logs", "--store", place.store)
    found = place.trend()
    assert found.exit_code == 1
    said = "n3,n4 openmpi tcp of 2 nodes was critical at first and good in its second run 6 times"
    assert said in found.stdout
    (node,) = json.loads(place.trend("--json").stdout)["nodes"]
    assert node["returning"][0]["nights"] == 6
    assert node["returning"][0]["since"] == "2026-11-01T06:00:00Z"
