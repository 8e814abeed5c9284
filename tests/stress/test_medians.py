from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tests.stress.made import BEGIN, SESSION, block, place

from fabricheck.history.store import History
from fabricheck.record.entries import CaseEntry, from_line
from fabricheck.stress.judged import settle


def recorded(perflogs: Path) -> list[CaseEntry]:
    lines = [line for file in perflogs.rglob("*.jsonl") for line in file.read_bytes().splitlines()]
    return [each for each in map(from_line, lines) if isinstance(each, CaseEntry)]


def test_an_hour_is_recorded_when_it_is_over_and_once(tmp_path: Path) -> None:
    made = place(
        tmp_path / "s",
        block("1.1", value=10.0, at=BEGIN, marks=4.0),
        block("1.2", "bcast", 5.0, at=BEGIN + 10),
        block("2.1", value=30.0, at=BEGIN + 20, marks=0.0),
        block("2.2", "bcast", 7.0, at=BEGIN + 30, level="critical"),
        block("3.1", value=20.0, at=BEGIN + 3599, marks=2.0),
        block("3.2", "bcast", 9.0, at=BEGIN + 3600),
    )
    perflogs = tmp_path / "perflogs"
    assert settle(made, SESSION, perflogs, ended=False) == 2
    assert settle(made, SESSION, perflogs, ended=False) == 0
    found = {each.benchmark: each for each in recorded(perflogs)}
    values = {(each.metric, each.statistic): each.value for each in found["allreduce"].samples}
    assert values[("latency", "p50")] == 20.0
    assert values[("ecn_rate", "max")] == 2.0
    assert found["allreduce"].time.startswith("2026-11-22T00:59:59")
    assert found["allreduce"].session == f"{SESSION}-20261122T00Z"
    assert found["bcast"].level == "critical"
    assert found["bcast"].check == "Stress"
    assert settle(made, SESSION, perflogs, ended=True) == 1
    assert len(recorded(perflogs)) == 3


def test_one_disturbed_block_does_not_make_the_hour_critical(tmp_path: Path) -> None:
    good = [block(f"{n}.1", value=10.0 + n, at=BEGIN + n) for n in range(1, 4)]
    bad = block("4.1", value=90.0, at=BEGIN + 4, level="critical")
    perflogs = tmp_path / "perflogs"
    for level, found in (
        ("disturbed", ("good", "pass", 12.0)),
        ("critical", ("critical", "fail", 12.5)),
    ):
        made = place(tmp_path / level, *good, replace(bad, level=level))
        settle(made, SESSION, perflogs / level, ended=True)
        (hour,) = recorded(perflogs / level)
        (p50,) = [each for each in hour.samples if each.statistic == "p50"]
        assert (hour.level, hour.result, p50.value, p50.level) == (*found, "good"), level
    settle(place(tmp_path / "all", replace(bad, level="disturbed")), SESSION, perflogs, ended=True)
    assert {each.level for each in recorded(perflogs)} >= {"disturbed"}


def test_whoever_died_between_two_lines_the_next_one_writes_the_rest(tmp_path: Path) -> None:
    made = place(tmp_path / "s", block("1.1"), block("1.2", "bcast"))
    perflogs = tmp_path / "perflogs"
    assert settle(made, SESSION, perflogs, ended=True) == 2
    (file,) = perflogs.rglob("2026-11.jsonl")
    whole = file.read_bytes()
    # Killed in the second line, which has no end.
    file.write_bytes(whole[:-9])
    assert settle(made, SESSION, perflogs, ended=True) == 1
    sound = [line for line in file.read_bytes().splitlines() if line in whole.splitlines()]
    assert len(sound) == len(set(sound)) == 2


def test_nothing_is_recorded_of_no_blocks(tmp_path: Path) -> None:
    assert settle(place(tmp_path / "s"), SESSION, tmp_path / "perflogs", ended=True) == 0


def test_the_history_has_each_hour_as_a_session_of_its_own(tmp_path: Path) -> None:
    blocks = [block(f"{n + 1}.1", value=10.0 + n, at=BEGIN + 1800 * n) for n in range(6)]
    settle(place(tmp_path / "s", *blocks), SESSION, tmp_path / "perflogs", ended=True)
    with History.open(tmp_path / "history") as history:
        now = datetime.fromtimestamp(BEGIN + 86400, UTC)
        history.refresh([tmp_path / "perflogs"], now=now)
        (p50,) = [each for each in history.series() if each.key.statistic == "p50"]
    assert p50.key.check == "Stress"
    assert list(p50.values) == [10.5, 12.5, 14.5]
