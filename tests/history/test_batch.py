"""Files that are converted together: each problem keeps its file and line."""

from pathlib import Path

import pytest
from tests.history.recorded import line, night, perflog, problems, read, status, table

from fabricheck.errors import FabricheckError
from fabricheck.history.intake import Intake
from fabricheck.history.problems import Kind


def foreign(root: Path, name: str, text: str, header: str = "") -> Path:
    path = root / "cluster" / "compute" / f"{name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((header or "job_completion_time|info|jobid|a_value|a_unit\n") + text)
    return path


def test_many_files_are_taken_at_once(logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(60):
        perflog(logs, night(0, benchmark=f"latency{number}"), f"testbed/main/{number}.log")
        text = f"2026-11-01T00:00:00+00:00|Test{number}|{number}|1|s\n"
        foreign(logs, f"Test{number}", text)
    taken = []
    take = Intake.take

    def counted(*arguments):
        taken.append(arguments)
        return take(*arguments)

    monkeypatch.setattr(Intake, "take", counted)
    assert read(store, logs).values == 300
    assert len(taken) == 1


def test_each_problem_keeps_its_file_and_line(logs: Path, store: Path):
    perflog(logs, night(0) + "damaged\n", "a/b/1.log")
    perflog(logs, "damaged\n" + line(1) + line(90), "a/b/2.log")
    perflog(logs, line(0, value=9.58), "a/b/3.log")
    perflog(logs, line(5, benchmark="bw") + line(2, benchmark="bw", size=1), "a/b/4.log")
    (logs / "a/b/5.log").write_text("no perflog\nat all\n")
    (logs / "a/b/6.log").write_text("no perflog\n")
    foreign(logs, "Test", "2026-11-01T00:00:00+00:00|T|1|fast|s\n")
    with pytest.raises(FabricheckError, match=r"a/b/4.log, line 3: expected no line older"):
        read(store, logs)
    read(store, logs, tolerate={Kind.CLOCK})
    assert problems(store) == [
        ("clock", "4.log", 3, 3),
        ("damaged", "1.log", 6, 6),
        ("damaged", "2.log", 2, 2),
        ("damaged", "5.log", 1, 2),
        ("damaged", "6.log", 1, 1),
        ("damaged", "Test.log", 2, 2),
        ("duplicate", "3.log", 2, 2),
        ("future", "2.log", 4, 4),
    ]
    assert [source.lines for source in status(store).sources] == [6, 4, 2, 3, 2, 1, 2]


def test_what_a_file_leaves_to_its_place_stays_its_own(logs: Path, store: Path):
    for system in ("one", "two"):
        path = logs / system / "main" / "Test.log"
        path.parent.mkdir(parents=True)
        path.write_text("job_completion_time|a_value|a_unit\n2026-11-01T00:00:00+00:00|1|s\n")
        (path.parent / "Other.log").write_text(path.read_text())
    read(store, logs)
    found = {tuple(row) for row in table(store).select("system", "check").rows()}
    assert found == {(s, c) for s in ("one", "two") for c in ("Test", "Other")}


def test_several_variables_over_many_days_are_no_clock_that_went_back(logs: Path, store: Path):
    rows = [f"2026-11-{day:02}T00:00:00+00:00|T|{day}|1|s|2|s\n" for day in range(1, 9)]
    header = "job_completion_time|info|jobid|a_value|a_unit|b_value|b_unit\n"
    foreign(logs, "Test", "".join(rows), header)
    assert read(store, logs).values == 16
    assert problems(store) == []
