"""How ReFrame is started by the commands of the suite."""

import os
import sys
from pathlib import Path
from typing import Final

from fabricheck.provenance import places

UNRECORDED: Final = "FABRICHECK_UNRECORDED"
"""Environment variable with which nothing is recorded: where ReFrame only builds and plans."""


def command(suite: Path) -> list[str]:
    """``reframe``, on the login node of the testbed while that is up, and its configuration."""
    return [
        str(suite / "bin" / "path" / "reframe"),
        f"--config-file={configuration(suite)}",
    ]


def configuration(suite: Path) -> Path:
    """ReFrame's configuration: of the nearest place that has one, such as a site repository."""
    found = [place / "reframe-config.py" for place in places(suite)]
    return next(filter(Path.exists, found), found[-1])


def environment(suite: Path, **more: str) -> dict[str, str]:
    """The environment of ReFrame and of the jobs that it starts."""
    return {
        **os.environ,
        # Where the programs of a wheel are, if nothing else says so.
        "PATH": f"{os.environ.get('PATH', os.defpath)}:{Path(sys.executable).parent}",
        # A test that ReFrame can't instantiate would otherwise be skipped with a warning.
        "RFM_WARN_AS_ERROR": "1",
        "FABRICHECK_ROOT": str(suite),
        "FABRICHECK_SITES": ":".join(map(str, places(suite))),
        **more,
    }
