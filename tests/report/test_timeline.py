from pathlib import Path

from tests.report.sample import SESSION

from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.timeline import timeline


def case(second: int, partition: str, **seconds: float) -> ReportedCase:
    return ReportedCase(
        time=f"2026-11-22T16:00:{second:02d}+00:00",
        session=SESSION,
        system="hpc",
        partition=partition,
        environ="mpich",
        check="MpiPointToPoint",
        name="MpiPointToPoint",
        status=Status.GOOD,
        **seconds,
    )


def run_of(*cases: ReportedCase) -> ReportedRun:
    return ReportedRun(Path("run.json"), SESSION, cases)


def test_bars_lie_where_cases_ran() -> None:
    found = timeline(
        run_of(
            case(10, "main", waiting=3.0, launch=2.0, measuring=8.0),
            case(20, "rdma", launch=1.0, measuring=5.0),
        )
    )
    assert found
    assert found.seconds == 20
    main, rdma = found.lanes
    assert (main.name, main.waiting, main.launch, main.measuring) == ("main", 3.0, 2.0, 8.0)
    (bar,) = main.bars
    assert (bar.begin, bar.launch, bar.measuring, bar.color) == (0, 10, 40, "green")
    assert rdma.bars[0].begin == 70
    assert found.measured == 65


def test_cases_side_by_side_count_once() -> None:
    found = timeline(run_of(*(case(10, name, measuring=10.0) for name in ("main", "rdma"))))
    assert found
    assert found.measured == 100


def test_a_record_without_seconds_has_no_time_line() -> None:
    assert timeline(run_of(case(10, "main"))) is None
