"""A disturbed case runs once more, after all others, in the same session of ReFrame; so does what
was skipped for it.

ReFrame's ``--max-retries`` runs again whatever failed. What is critical would only be critical
twice, and cost its time again: it fails again at once, when it is set up.
"""

import os
from typing import Any, Final

import reframe as rfm
from reframe.core.builtins import run_after
from reframe.core.exceptions import ReframeError

from fabricheck.judge.levels import Level

DISTURBED_AGAIN: Final = "FABRICHECK_DISTURBED_AGAIN"
"""Environment variable with which retries are for disturbed cases alone."""

_latest: Final[dict[tuple[str, str, str], Any]] = {}


def latest(name: str, partition: Any, environ: Any) -> Any:
    """The last run of a test that began there in this session.

    ReFrame itself looks for what a retried test depends on among what runs again or among all,
    never in both: it misses the case with MPICH where the same test runs again with Open MPI alone.
    """
    return _latest[name, partition.fullname, environ.name]


class RunsAgain(rfm.RegressionTestPlugin):
    """A test that runs again only if its first run was disturbed, where the environment asks so."""

    @run_after("setup")
    def keep_what_counts(self) -> None:
        """Fail again where the run before counts."""
        place = self.unique_name, self.current_partition.fullname, self.current_environ.name
        before = _latest.get(place)
        level = getattr(before, "level", "")
        if before and os.environ.get(DISTURBED_AGAIN) and level != Level.DISTURBED:
            found = "; ".join(getattr(before, "findings", ()))
            raise ReframeError(f"its first run counts, which nothing disturbed: {found or 'above'}")
        _latest[place] = self
