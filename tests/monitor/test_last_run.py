"""The last run and night: verdict, cases, ratios, nights; bounded, and never an old one's."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.monitor.conftest import Suite, values
from tests.refusals import refused
from tests.report import sample as reports

from fabricheck.errors import FabricheckError
from fabricheck.monitor import apart
from fabricheck.monitor.apart import Apart, Parser
from fabricheck.monitor.catalog import Source
from fabricheck.monitor.exposition import PLAIN, packed, render
from fabricheck.monitor.last_run import (
    SIZES,
    LastNight,
    LastRun,
    Schedule,
    of_nights,
    of_run,
    of_sessions,
)
from fabricheck.monitor.refresh import Readable, Reader
from fabricheck.record.entries import Session
from fabricheck.record.write import append
from fabricheck.report.load import load
from fabricheck.runner.nights import GOOD, Nights

CASE = 'system="testbed",partition="slurm",environment="{}",benchmark="{}",placement="{}"'
NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)


def read(*sources: Readable) -> dict[str, float]:
    samples = [each for source in sources for each in source.read()]
    render(samples)
    return values(samples)


def both(suite: Suite) -> dict[str, float]:
    """What the newest run and the last night say; here nobody ran a night, if the test did not."""
    return read(LastRun(suite.perflogs), LastNight(suite.reports, suite.perflogs))


def test_a_good_run(suite: Suite) -> None:
    suite.ran()
    told = both(suite)
    assert told['fabricheck_verdict_passed{system="testbed"}'] == 1
    info = 'session="run0",commit="0b0ad8f1",system="testbed"'
    assert told[f"fabricheck_run_info{{{info}}}"] == 1
    assert not [name for name in told if name.startswith("fabricheck_night_")]
    assert told["mpi_benchmark_success"] == 1
    ended = datetime(2026, 11, 21, 5, 46, 21, tzinfo=UTC).timestamp()
    assert told['fabricheck_run_timestamp_seconds{system="testbed"}'] == ended
    assert told['fabricheck_cases{system="testbed",status="good"}'] == 12
    assert told['fabricheck_cases{system="testbed",status="critical"}'] == 0
    case = CASE.format("openmpi", "latency", "tcp-2n")
    assert told[f'fabricheck_case_status{{{case},status="good"}}'] == 1
    software = 'environment="openmpi",mpi="Open MPI",mpi_version="4.1.4",ucx_version=""'
    assert told[f'fabricheck_software_info{{system="testbed",partition="slurm",{software}}}'] == 1
    # 7.4 us at p50, as the sample has it.
    point = f'{case},statistic="p50",size_bytes="8"'
    assert told[f"fabricheck_case_latency_seconds{{{point}}}"] == pytest.approx(7.4e-6, rel=0.01)


def test_a_defect_of_the_record_is_counted_beside_the_cases(suite: Suite) -> None:
    run = load(suite.perflogs, suite.ran())
    told = values(list(of_run(replace(run, defects=("it was cut",)))))
    assert told['fabricheck_cases{system="testbed",status="incomplete"}'] == 1


@pytest.mark.parametrize(
    ("variant", "case", "status"),
    [
        ("with_warning", ("mpich", "allreduce", "tcp-4n"), "warning"),
        ("with_critical", ("openmpi", "latency", "tcp-2n"), "critical"),
        ("with_untrusted", ("mpich", "bw", "tcp-2n"), "untrusted"),
    ],
)
def test_what_became_of_a_case(
    suite: Suite, variant: str, case: tuple[str, str, str], status: str
) -> None:
    suite.ran(report=getattr(reports, variant)())
    told = both(suite)
    assert told[f'fabricheck_case_status{{{CASE.format(*case)},status="{status}"}}'] == 1
    passed = variant == "with_warning"
    assert told['fabricheck_verdict_passed{system="testbed"}'] == passed


@pytest.mark.parametrize(
    ("bounds", "share"),
    [
        ({"value": 75.0, "lower": 50.0}, 0.5),
        ({"value": 50.0, "lower": 50.0}, 1),
        ({"value": 110.0, "lower": 50.0}, -0.2),
        ({"value": 110.0, "lower": 50.0, "upper": 120.0}, 0.5),
        ({"value": 75.0, "lower": 100.0}, None),
        ({"value": 75.0}, None),
    ],
)
def test_a_ratio_is_the_share_of_the_tolerance_that_is_used(
    suite: Suite, bounds: dict[str, float], share: float | None
) -> None:
    report = reports.report("bw")
    entry = reports.find(report, "bw", "mpich", "tcp-2n")
    for each in entry["samples"].values():
        each.update({"reference": 100.0, "lower": None, "upper": None} | bounds)
    # One message of thousands says nothing of a case.
    first = next(iter(entry["samples"].values()))
    entry["samples"]["bandwidth_max_1B"] = {
        **first,
        "statistic": "max",
        "value": 1e9,
        "upper": 101.0,
    }
    suite.ran(report=report)
    ratio = f"fabricheck_case_reference_ratio{{{CASE.format('mpich', 'bw', 'tcp-2n')}}}"
    assert both(suite).get(ratio) == (share and pytest.approx(share))


def test_there_are_few_series_for_a_case(suite: Suite) -> None:
    suite.ran(report=reports.with_everything())
    told = both(suite)
    cases = sum(name.startswith("fabricheck_case_status") for name in told)
    most = 2 + len(SIZES) * 3
    assert cases > 70
    assert sum(name.startswith("fabricheck_case_") for name in told) <= most * cases
    assert len(told) < 8 * cases


def test_another_run_takes_the_place_of_all(suite: Suite) -> None:
    source = LastRun(suite.perflogs)
    suite.ran(report=reports.with_critical())
    assert read(source)["mpi_benchmark_success"] == 0
    suite.ran(1, report=reports.report("latency"))
    told = read(source)
    assert told["mpi_benchmark_success"] == 1
    assert not [name for name in told if "allreduce" in name]


def test_a_damaged_run_leaves_nothing_of_the_one_before(suite: Suite) -> None:
    source = LastRun(suite.perflogs)
    with refused("FC2201"):
        read(source)
    suite.ran()
    assert read(source)["mpi_benchmark_success"] == 1
    suite.ran(1)
    (file,) = suite.perflogs.glob("testbed/*/*.jsonl")
    file.write_bytes(file.read_bytes()[:-1000])
    assert read(source)["mpi_benchmark_success"] == 0


def test_cases_that_differ_in_nothing_shown_are_told_by_the_worst(suite: Suite) -> None:
    report = reports.report("latency")
    twin = dict(reports.find(report, "latency", "mpich", "tcp-2n"), id="other")
    twin |= {"result": "fail", "level": "critical", "fail_reason": "x", "findings": ["x"]}
    report["cases"].append(twin)
    suite.ran(report=reports.announced(report))
    told = both(suite)
    case = CASE.format("mpich", "latency", "tcp-2n")
    found = [name for name in told if name.startswith(f"fabricheck_case_status{{{case}")]
    assert found == [f'fabricheck_case_status{{{case},status="critical"}}']


NIGHT = 'fabricheck_night_verdict_passed{system="testbed"}'


def test_a_small_run_leaves_the_night_as_it_was(suite: Suite) -> None:
    suite.night(reports.with_critical())
    suite.ran(1, report=reports.report("latency"))
    told = both(suite)
    assert told[NIGHT] == 0
    assert told['fabricheck_verdict_passed{system="testbed"}'] == 1
    assert told['fabricheck_night_cases{system="testbed",status="critical"}'] == 1
    assert told['fabricheck_cases{system="testbed",status="critical"}'] == 0
    assert 'fabricheck_night_info{session="night",commit="0b0ad8f1",system="testbed"}' in told
    assert told['fabricheck_night_run_timestamp_seconds{system="testbed"}'] > 0
    # Of the night's cases, not of the six that were run by hand.
    case = CASE.format("mpich", "allreduce", "tcp-4n")
    assert told[f'fabricheck_case_status{{{case},status="good"}}'] == 1


def test_a_run_that_is_gone_takes_no_night_along(suite: Suite) -> None:
    suite.night(reports.with_critical())
    night(suite.reports / "nights", 30)
    end = Session(time="2026-11-21T07:00:00+00:00", session="gone", system="testbed")
    append(suite.perflogs, [end])
    assert read(LastRun(suite.perflogs))["mpi_benchmark_success"] == 0
    told = read(LastNight(suite.reports, suite.perflogs), Schedule(suite.reports))
    assert told[NIGHT] == 0
    assert "fabricheck_night_overdue_timestamp_seconds" in told


def test_a_night_that_the_record_lacks_is_never_the_one_before(suite: Suite) -> None:
    suite.night(reports.report("latency"))
    source = LastNight(suite.reports, suite.perflogs)
    night(suite.reports / "nights", 30)
    assert read(source)[NIGHT] == 1
    night(suite.reports / "nights", 1, run=2)
    with refused("FC2202", "expected the night of 2026-11-22 07:00 UTC in the"):
        read(source)


def test_a_night_of_a_damaged_record_is_not_good(suite: Suite) -> None:
    suite.night(reports.report("latency"))
    (file,) = suite.perflogs.glob("testbed/*/*.jsonl")
    file.write_bytes(file.read_bytes()[1000:])
    assert read(LastNight(suite.reports, suite.perflogs))[NIGHT] == 0


def test_each_system_has_its_night_and_one_that_has_none_for_long_has_none(suite: Suite) -> None:
    suite.night(reports.with_critical())
    suite.night(reports.report("latency"), system="other", days=7)
    source = LastNight(suite.reports, suite.perflogs)
    assert read(source)[NIGHT] == 0
    assert read(source)['fabricheck_night_verdict_passed{system="other"}'] == 1
    suite.night(reports.report("latency"), system="other", days=9)
    assert NIGHT not in read(source)


def night(root: Path, ago: float, every: float = 24, **codes: int) -> float:
    nights = Nights(root)
    began = NOW - timedelta(hours=ago)
    made = nights.begin(began)
    done = dict.fromkeys(GOOD, 0) | codes
    nights.complete(made, done, began + timedelta(hours=1), timedelta(hours=every))
    return began.timestamp()


def test_nights(tmp_path: Path) -> None:
    def told() -> dict[str, float]:
        return values(of_nights(Nights(tmp_path), NOW))

    last = "fabricheck_last_complete_night_timestamp_seconds"
    overdue = "fabricheck_night_overdue_timestamp_seconds"
    step = 'fabricheck_night_step_exit_code{step="%s"}'
    # Where no night was ever set up, none is missing.
    assert told() == {}
    Nights(tmp_path).begin(NOW - timedelta(hours=48))
    assert told() == {overdue: (NOW - timedelta(hours=12)).timestamp()}
    began = night(tmp_path, 24, every=12, trend=1)
    assert told()[last] == began
    assert told()[overdue] == began + 18 * 3600
    assert told()[step % "trend"] == 1
    # One whose history could not be read did not do its work, and one of the future is none.
    night(tmp_path, 1, history=2)
    assert told()[last] == began
    assert told()[step % "history"] == 2
    night(tmp_path, -48)
    assert told()[last] == began


def test_when_nodes_were_measured_is_what_the_last_night_said(tmp_path: Path) -> None:
    night(tmp_path, 24)
    covered = max(tmp_path.glob("*Z")) / "coverage.json"
    name = 'fabricheck_node_unmeasured_nights{system="hpc",node="%s"}'
    covered.write_text('{"system": "hpc", "at_least_every": 10, "nights": {"c1": 12, "c2": 0}}')
    told = values(of_nights(Nights(tmp_path), NOW))
    assert (told[name % "c1"], told[name % "c2"]) == (12, 0)
    assert told['fabricheck_node_nights_limit{system="hpc"}'] == 10
    # A night without it says nothing of nodes, and one that is damaged says that.
    night(tmp_path, 2)
    assert not any("fabricheck_node" in each for each in values(of_nights(Nights(tmp_path), NOW)))
    (max(tmp_path.glob("*Z")) / "coverage.json").write_text('{"nights": {"c1": "many"}}')
    with refused("FC3303", r"coverage\.json"):
        list(of_nights(Nights(tmp_path), NOW))


def test_a_damaged_end_of_a_night_is_told(tmp_path: Path) -> None:
    night(tmp_path, 24)
    night(tmp_path, 1)
    newest = max(tmp_path.glob("*Z"))
    (newest / "night.json").write_text("")
    with refused("FC2203", r"night\.json, found it damaged"):
        list(of_nights(Nights(tmp_path), NOW))


@pytest.mark.parametrize(
    "variant",
    [reports.report, reports.with_critical, reports.with_untrusted, reports.with_everything],
)
def test_what_is_left_out_of_a_case_changes_nothing_that_is_said(
    suite: Suite, variant: Callable[[], reports.Run]
) -> None:
    run = variant()
    # Of another value than those that are served: what can't be, and nothing at all.
    for name, value in (("latency_p50_2KiB", 1e300), ("latency_max_4KiB", None)):
        entry = reports.find(run, "latency", "mpich", "tcp-2n")
        entry["samples"][name]["value"] = value
        session = suite.ran(len(name), report=run)
        slim = of_sessions(suite.perflogs, [session])
        whole = list(of_run(load(suite.perflogs, session)))
        assert values(whole) == values([*slim[Source.RUN], *slim[Source.NIGHT]])


@pytest.mark.integration
def test_a_process_of_its_own_tells_the_same(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.ran(report=reports.with_critical())
    run, night = LastRun(suite.perflogs), LastNight(suite.reports, suite.perflogs)
    parser = Parser(suite.perflogs)
    assert Apart(run, parser).read() == packed(render(run.read()))
    # Both say something of one session, which is read once.
    with monkeypatch.context() as broken:
        broken.setattr(apart.sys, "executable", "false")
        assert Apart(night, parser).read() == packed(render(night.read()))
    few = Apart(run, Parser(suite.perflogs, {"fabricheck_verdict_passed"})).read()
    assert gzip.decompress(few[PLAIN]).count(b"# TYPE ") == 1
    with pytest.raises(FabricheckError, match="expected session 'none' in the record"):
        parser.pages(["none"])


@pytest.mark.integration
def test_a_process_that_does_not_end_leaves_what_is_called_old_and_is_tried_again(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.ran(report=reports.report())
    source = Reader(Apart(LastRun(suite.perflogs), Parser(suite.perflogs)))
    source.read()
    suite.ran(1, report=reports.with_critical())
    before = source.read_at
    with monkeypatch.context() as slow:
        slow.setattr(apart, "_PATIENCE", 0.001)
        source.read()
    assert source.page is not None
    assert b'fabricheck_verdict_passed{system="testbed"} 1.0' in gzip.decompress(source.page[PLAIN])
    assert (source.up, source.read_at) == (False, before)
    assert source.problem.startswith(
        f"expected to read {suite.perflogs} within 0.001 s, found it unfin"
    )
    source.read()
    assert (source.up, source.problem) == (True, "")
    assert b'fabricheck_verdict_passed{system="testbed"} 0.0' in gzip.decompress(source.page[PLAIN])
    # What is damaged is not called old, but is no more.
    for file in suite.perflogs.glob("testbed/*.jsonl"):
        file.unlink()
    source.read()
    assert source.page is None
