"""ReFrame as a test starts it, and what it has recorded."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.reframe_ext import warm

from fabricheck.record.entries import CaseEntry, Entry
from fabricheck.record.read import entries, record_files

REFRAME = Path(sys.executable).parent / "reframe"
LOGGING = [
    {
        "handlers": [{"type": "stream", "name": "stdout", "format": "%(message)s"}],
        "handlers_perflog": [
            {"type": "fabricheck", "basedir": "perflogs", "format": "%(message)s"}
        ],
    }
]
"""What makes ReFrame record; its configuration imports ``fabricheck.reframe_ext.recorder``."""
LINKED = f"""
import fabricheck.reframe_ext.recorder
site_configuration = {{
    "systems": [{{"name": "linked", "hostnames": [".*"], "partitions": [{{
        "name": "main", "scheduler": "local", "launcher": "local", "environs": ["builtin"],
        "features": ["rdma", "nodes_2"], "extras": {{"link_rate": 100, "fabric": "roce"}},
    }}]}}],
    # A check makes no more than the first of the cases whose MPI no environment has.
    "environments": [
        {{"name": "builtin", "features": ["mpi"], "extras": {{"mpi_family": "openmpi"}}}}
    ],
    "logging": {LOGGING},
}}
"""


def reframe(
    place: Path,
    suite: str | Path,
    *options: str,
    configuration: str = LINKED,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run ReFrame in a place with a suite, as a text or a file."""
    (place / "config.py").write_text(configuration)
    if isinstance(suite, str):
        (place / "suite.py").write_text(suite)
        suite = place / "suite.py"
    words = [f"--config-file={place / 'config.py'}", f"--checkpath={suite}", f"--prefix={place}"]
    words += options or ["--run"]
    done = warm.run(words, place, {**os.environ, "RFM_WARN_AS_ERROR": "1", **variables})
    sys.stdout.write(done.stdout + done.stderr)
    return done


def recorded(place: Path) -> list[Entry]:
    """The entries of the record below a directory."""
    perflogs = place / "perflogs"
    files = record_files(perflogs) if perflogs.exists() else []
    return [entry for path in files for entry in entries(path)[0]]


def measured(place: Path) -> list[dict[str, Any]]:
    """The fields of the recorded cases, without builds, in the order of their attempts."""
    found = [e for e in recorded(place) if isinstance(e, CaseEntry) and not e.fixture]
    found.sort(key=lambda case: case.attempt)
    return [{each.name: getattr(case, each.name) for each in fields(CaseEntry)} for case in found]
