from types import SimpleNamespace
from typing import Any

import pytest
from reframe.frontend.executors import Runner

from fabricheck.judge.levels import Level
from fabricheck.reframe_ext import again


def task(level: str | None) -> Any:
    return SimpleNamespace(
        check=SimpleNamespace() if level is None else SimpleNamespace(level=level)
    )


class Stats:
    def failed(self, *_run: int) -> list[Any]:
        return [task(each) for each in (None, Level.CRITICAL, Level.DISTURBED, Level.UNTRUSTED)]

    def skipped(self, *_run: int) -> list[Any]:
        return [task(None)]

    def num_cases(self) -> int:
        return 7


def test_only_disturbed_cases_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = SimpleNamespace(_stats=Stats())
    seen: list[Any] = []

    def retry(runner: Any, cases: Any) -> None:
        seen.extend(
            (runner._stats.failed(), runner._stats.skipped(), runner._stats.num_cases(), cases)
        )

    monkeypatch.setattr(again, "_ALL", retry)
    again._retry(runner, ["cases"])
    failed, skipped, number, cases = seen
    assert [each.check.level for each in failed] == [Level.DISTURBED]
    assert (skipped, number, cases) == ([], 7, ["cases"])
    assert isinstance(runner._stats, Stats)


def test_retries_that_nobody_narrowed_are_reframes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Runner._retry_failed
    again.retry_disturbed()
    assert Runner._retry_failed is own
    monkeypatch.setattr(Runner, "_retry_failed", own)
    monkeypatch.setenv(again.DISTURBED_AGAIN, "1")
    again.retry_disturbed()
    assert Runner._retry_failed is again._retry
