"""A disturbed case runs once more, after all others, in the same session of ReFrame; so does what
was skipped for it.

ReFrame's ``--max-retries`` runs again whatever failed. What is critical would only be critical
twice, and cost its time again.
"""

import os
from typing import Any, Final

from reframe.frontend.executors import Runner

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
    try:
        _ALL(runner, cases)
    finally:
        runner._stats = stats


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
