"""What a build tells the scheduler of the cases."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from fabricheck.reframe_ext.allocation import AllocationScheduler
from fabricheck.reframe_ext.build import BenchBuild


def test_a_build_is_known_to_cases_that_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AllocationScheduler, "builds", [])
    job = object()
    build = SimpleNamespace(_build=MagicMock(), build_system=None, build_job=job)
    BenchBuild.configure(build)
    assert AllocationScheduler.builds == [job]
