"""A disturbed case runs once more, after all others, in the same session of ReFrame; so does what
was skipped for it.

ReFrame's ``--max-retries`` runs again whatever failed. What is critical would only be critical
twice, and cost its time again.
"""

import os
from typing import Any, Final

from reframe.frontend import dependencies
from reframe.frontend.executors import Runner
from reframe.utility import OrderedSet

from fabricheck.judge.levels import Level

DISTURBED_AGAIN: Final = "FABRICHECK_DISTURBED_AGAIN"
"""Environment variable with which retries are for disturbed cases alone."""


def retry_disturbed() -> None:
    """Let ReFrame retry disturbed cases only, where the environment asks for it."""
    if os.environ.get(DISTURBED_AGAIN) and Runner._retry_failed is _ALL:
        Runner._retry_failed = _retry


def _retry(runner: Any, cases: Any) -> None:
    stats = runner._stats
    runner._stats = _Disturbed(stats)
    dependencies.build_deps = _build_deps
    try:
        _ALL(runner, cases)
    finally:
        runner._stats = stats
        dependencies.build_deps = _BUILD_DEPS


def _build_deps(again: Any, cases: Any) -> Any:
    """The dependencies of cases that run again, also on those of them that don't.

    ReFrame looks for a test among what runs again or among all cases, never in both: it misses the
    case with MPICH where the same test runs again with Open MPI alone.
    """
    graph, skipped = _BUILD_DEPS(again, cases)
    for case in graph:
        here = (case.partition.name, case.environ.name)
        for name, when in case.check.user_deps():
            there = [
                each
                for each in cases
                if each.check.unique_name == name
                if when(here, (each.partition.name, each.environ.name))
            ]
            case.deps.extend(each for each in there if each not in case.deps)
        graph[case] = OrderedSet(case.deps)
    return graph, skipped


class _Disturbed:
    """Statistics of a run as a retry sees them."""

    def __init__(self, stats: Any) -> None:
        self._stats = stats

    def failed(self, *run: int) -> list[Any]:
        return [each for each in self._stats.failed(*run) if _is_disturbed(each)]

    def skipped(self, *run: int) -> list[Any]:
        """Those that were skipped for disturbed cases alone: figures of several cases."""
        again = [each.testcase for each in self.failed(*run)]
        others = [*self._stats.failed(*run), *self._stats.skipped(*run)]
        lost = [each.testcase for each in others if each.testcase not in again]
        return [
            each
            for each in self._stats.skipped(*run)
            if any(case in again for case in each.testcase.deps)
            if not any(case in lost for case in each.testcase.deps)
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stats, name)


def _is_disturbed(task: Any) -> bool:
    # Builds have no level.
    return bool(getattr(task.check, "level", "") == Level.DISTURBED)


_ALL: Final = Runner._retry_failed
_BUILD_DEPS: Final = dependencies.build_deps
