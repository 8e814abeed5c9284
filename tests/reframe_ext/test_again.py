from types import SimpleNamespace
from typing import Any

import pytest
from reframe.frontend import dependencies, executors
from reframe.frontend.executors import Runner
from reframe.utility import udeps

from fabricheck.judge.levels import Level
from fabricheck.reframe_ext import again


def task(name: str, level: str | None = None, deps: tuple[str, ...] = ()) -> Any:
    """A finished case; as those that depend on it know it, it is its name alone."""

    class Case(str):
        __slots__ = ("deps",)
        deps: tuple[str, ...]

    case = Case(name)
    case.deps = deps
    check = SimpleNamespace() if level is None else SimpleNamespace(level=level)
    return SimpleNamespace(check=check, testcase=case)


class Stats:
    def failed(self, *_run: int) -> list[Any]:
        return [
            task("build"),
            task("critical", Level.CRITICAL),
            task("disturbed", Level.DISTURBED),
            task("untrusted", Level.UNTRUSTED),
        ]

    def skipped(self, *_run: int) -> list[Any]:
        return [
            task("ratio", deps=("good", "disturbed")),
            task("hopeless ratio", deps=("critical", "disturbed")),
            task("without program", deps=("build",)),
            task("ratio of it", deps=("disturbed", "without program")),
        ]

    def num_cases(self) -> int:
        return 7


def test_disturbed_cases_run_again_and_what_was_skipped_for_them_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = SimpleNamespace(_stats=Stats())
    seen: list[Any] = []

    def retry(runner: Any, cases: Any) -> None:
        seen.extend(
            (runner._stats.failed(), runner._stats.skipped(), runner._stats.num_cases(), cases)
        )

    monkeypatch.setattr(again, "_ALL", retry)
    again._retry(runner, ["cases"])
    failed, skipped, number, cases = seen
    assert [each.testcase for each in failed] == ["disturbed"]
    assert [each.testcase for each in skipped] == ["ratio"]
    assert (number, cases) == (7, ["cases"])
    assert isinstance(runner._stats, Stats)


def test_retries_that_nobody_narrowed_are_reframes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Runner._retry_failed
    again.retry_disturbed()
    assert Runner._retry_failed is own
    monkeypatch.setattr(Runner, "_retry_failed", own)
    monkeypatch.setenv(again.DISTURBED_AGAIN, "1")
    again.retry_disturbed()
    assert Runner._retry_failed is again._retry


def case_of(name: str, environ: str, *deps: str) -> executors.TestCase:
    check = SimpleNamespace(
        unique_name=name, user_deps=lambda: [(each, udeps.by_case) for each in deps]
    )
    partition = SimpleNamespace(name="main", fullname="here:main")
    return executors.TestCase(check, partition, SimpleNamespace(name=environ))


def test_a_ratio_finds_its_sides_whichever_of_them_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ReFrame itself looks for a side with one MPI only where it runs again with the other."""
    cases = [
        case_of(name, environ, *(("upper", "lower") if name == "ratio" else ()))
        for environ in ("openmpi", "mpich")
        for name in ("upper", "lower", "ratio")
    ]
    names = [("upper", "openmpi"), ("lower", "mpich"), ("ratio", "openmpi"), ("ratio", "mpich")]
    running = [
        each.clone() for each in cases if (each.check.unique_name, each.environ.name) in names
    ]

    def retry(_runner: Any, cases: Any) -> None:
        graph, _ = dependencies.build_deps(running, cases)
        dependencies.toposort(graph, is_subgraph=True)

    monkeypatch.setattr(again, "_ALL", retry)
    own = dependencies.build_deps
    again._retry(SimpleNamespace(_stats=Stats()), cases)
    assert dependencies.build_deps is own
    ratios = {each.environ.name: each.deps for each in running if each.deps}
    assert {name: {each.check.unique_name for each in deps} for name, deps in ratios.items()} == {
        "openmpi": {"upper", "lower"},
        "mpich": {"upper", "lower"},
    }
    upper = next(each for each in ratios["openmpi"] if each.check.unique_name == "upper")
    assert upper is running[0], "what runs again, not what it was before"
