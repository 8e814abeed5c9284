"""What a sweep runs, in which order, and where its record lies."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from tests.history.recorded import case as recorded
from tests.refusals import refused
from tests.runner.test_session import put_reframe

from fabricheck.provenance import session
from fabricheck.record.entries import CaseEntry, Session, moment
from fabricheck.record.write import append
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.reframe_ext.varied import Plan, place_in_order
from fabricheck.runner import sweep as sweeping
from fabricheck.runner.sweep import made, measure, one_of, order_of, settings_of, words

CASE = CheckCase("MpiCollective", "allreduce", "tcp-2n", "main", "openmpi", (), ())
SITE = """\
systems:
  - name: cluster
    hostnames: [x]
    partitions:
      - {name: main, scheduler: SCHEDULER, launcher: local, environs: [a], EXTRAS}
environments:
  - {name: a, features: [ucx], target_systems: [cluster]}
"""


def put_site(suite: Path, scheduler: str = "local", extras: str = "") -> None:
    (suite / "sites").mkdir(exist_ok=True)
    text = SITE.replace("SCHEDULER", scheduler).replace("EXTRAS", extras)
    (suite / "sites" / "cluster.yaml").write_text(text)


def test_the_settings_are_the_default_and_each_combination():
    assert settings_of(["A=1,2", "B=x"]) == [{}, {"A": "1", "B": "x"}, {"A": "2", "B": "x"}]
    assert settings_of(["A=,1"]) == [{}, {"A": "1"}]
    assert settings_of(["A=a\\,b,c=d"]) == [{}, {"A": "a,b"}, {"A": "c=d"}]
    assert settings_of(["A=1,1"]) == [{}, {"A": "1"}]


@pytest.mark.parametrize(
    "varied", [["A"], ["=1"], ["A="], ["1A=2"], ["A=1", "A=2"], ["FABRICHECK_PIN=cyclic"], ["A=,"]]
)
def test_what_is_no_variable_or_the_suites_own_is_refused(varied: list[str]):
    with refused("FC2901", "found"):
        settings_of(varied)


def test_a_variable_that_the_default_would_have_too_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UCX_RNDV_THRESH", "1k")
    with refused("FC2902", "'1k'"):
        settings_of(["UCX_RNDV_THRESH=8k"])


def test_each_round_has_each_setting_once_and_a_drift_hits_all_alike():
    order = order_of(5, 12, "seed")
    rounds = [order[at : at + 5] for at in range(0, 60, 5)]
    assert all(sorted(each) == list(range(5)) for each in rounds)
    places = [[at for at, each in enumerate(order) if each == setting] for setting in range(5)]
    assert {sum(each) for each in places} == {sum(range(60)) / 5}
    assert len({tuple(each) for each in rounds}) > 6
    assert order == order_of(5, 12, "seed") != order_of(5, 12, "other")


def test_runs_come_in_the_order_of_reframe_names():
    names = sorted(f"MpiCollective %.repeat_no={number}" for number in range(120))
    numbers = [int(name.partition("=")[2]) for name in names]
    assert [place_in_order(number, 120) for number in numbers] == list(range(120))


def test_one_case_is_swept_and_none_that_reads_what_others_measured():
    assert one_of([CASE], "cluster") is CASE
    for cases in ([], [CASE, replace(CASE, environ="mpich")], [replace(CASE, needs=("x",))]):
        with refused("FC2903", f"found {len(cases)}"):
            one_of(cases, "cluster")


def test_the_cost_of_the_case_says_how_long_it_takes(tmp_path: Path):
    put_site(tmp_path)
    case = replace(CASE, check="MpiPointToPoint", benchmark="latency")
    unknown = made(tmp_path, "cluster", case, settings_of(["A=1"]), 10)
    assert (unknown.seconds, unknown.plan.time, unknown.plan.nodes) == (None, "50m", 2)
    assert "nobody knows yet how long" in words(unknown)[-1]
    append(tmp_path / "perflogs", [recorded(system="cluster", launch=2.0, measuring=58.0)])
    known = made(tmp_path, "cluster", case, settings_of(["A=1"]), 10)
    assert (known.seconds, known.plan.time) == (1200.0, "70m")
    assert words(known)[0].endswith("10 rounds of")
    assert words(known)[1:] == [
        "  the default", "  A=1", "20 runs, 20 min; of Slurm 2 nodes for 70m"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scheduler", "extras"),
    [("slurm", ""), ("squeue", ""), ("allocation", "extras: {allocation: {nodes: 4, time: 1h}}")],
)
def test_slurm_gives_one_allocation_whatever_the_site_says(
    tmp_path: Path, scheduler: str, extras: str
):
    put_site(tmp_path, scheduler, extras)
    assert made(tmp_path, "cluster", CASE, [{}], 2).order == (0, 0)


def test_a_scheduler_with_a_job_for_each_run_is_refused(tmp_path: Path):
    put_site(tmp_path, "pbs")
    with refused("FC2905", "scheduler openpbs"):
        made(tmp_path, "cluster", CASE, [{}], 2)


def run_stub(suite: Path, monkeypatch: pytest.MonkeyPatch, numbers: list[int]) -> list[CaseEntry]:
    """A sweep whose ReFrame has recorded these repetitions."""
    put_site(suite)
    put_reframe(suite, 'for each; do echo "$each"; done >options; env >environment')
    place = suite / "reports" / "sweeps" / session()
    cases = [recorded(night, session=session(), repeat=n) for night, n in enumerate(numbers)]
    built = recorded(0, session=session(), fixture=True)
    end = Session(time=moment(), session=session(), system="cluster", info={"kind": "sweep"})
    append(place / "perflogs", [built, *cases, end])
    asked = made(suite, "cluster", CASE, settings_of(["A=1"]), 2)
    directory, found = measure(suite, asked, aside=True)
    assert directory == place
    assert msgspec.json.decode((place / "plan.json").read_bytes(), type=Plan) == asked.plan
    return found


@pytest.mark.integration
def test_a_sweep_has_a_record_of_its_own_and_nothing_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = run_stub(tmp_path, monkeypatch, [0, 1, 2, 3])
    assert [each.repeat for each in found] == [0, 1, 2, 3]
    assert not (tmp_path / "perflogs").exists()
    options = (tmp_path / "options").read_text().splitlines()
    assert {"--repeat=4", "--exec-order=name", "--session-extras=kind=sweep"} < set(options)
    assert "--max-retries=1" not in options
    told = (tmp_path / "environment").read_text().splitlines()
    place = tmp_path / "reports" / "sweeps" / session()
    assert f"FABRICHECK_SWEEP={place / 'plan.json'}" in told
    assert not [line for line in told if line.startswith("FABRICHECK_DISTURBED_AGAIN")]


@pytest.mark.integration
@pytest.mark.parametrize("numbers", [[0, 1, 2], [0, 2, 1, 3], []])
def test_a_sweep_that_was_stopped_or_out_of_turn_compares_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: list[int]
):
    with refused("FC2904", "in their order"):
        run_stub(tmp_path, monkeypatch, numbers)


def test_the_record_says_that_it_is_a_sweep():
    end = Session(time=moment(), session="s", system="x", info={"kind": sweeping.SWEEP})
    assert end.kind == "sweep"
