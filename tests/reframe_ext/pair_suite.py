"""Checks of pairs of nodes, run for real by ReFrame with programs that do as a test says."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.reframe_ext.recorded import measured, reframe

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(__file__).with_name("bin")
"""``both-ranks``, the launcher, and a perftest that fails in every way."""

_CONFIGURATION = """
from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from fabricheck.reframe_ext.recorder import HANDLER

@register_launcher("both", local=True)
class Both(JobLauncher):
    def command(self, job):
        return ["both-ranks"]

site_configuration = {
    "systems": [{"name": SYSTEM, "hostnames": [".*"], "partitions": [{
        "name": PARTITION, "scheduler": "local", "launcher": "both", "environs": ["builtin"],
        "features": FEATURES, "extras": EXTRAS,
    }]}],
    "environments": [{"name": "builtin", "features": ["verbs", "ucx"]}],
    "logging": [{
        "handlers": [{"type": "stream", "name": "stdout", "format": "%(message)s"}],
        "handlers_perflog": [{"type": HANDLER, "basedir": "perflogs", "format": "%(message)s"}],
    }],
}
"""
SLOW = {
    "gid_index": 1,
    "max_message_size": 65536,
    "time_budget": 0.05,
    "typical": {"latency": 50, "bandwidth": 30},
    "size_step": 32,
}


class Ran:
    """One case: ReFrame's record of it, its command, and what its ends printed."""

    def __init__(
        self,
        place: Path,
        check: str,
        chosen: str,
        *,
        features: Sequence[str] = ("rdma", "nodes_2", "inline"),
        extras: Mapping[str, Any] = SLOW,
        programs: Sequence[Path] = (BIN,),
        variables: Mapping[str, str] | None = None,
        system: str = "cards",
    ) -> None:
        text = _CONFIGURATION
        for name, value in (
            ("SYSTEM", system),
            ("PARTITION", features[0]),
            ("FEATURES", list(features)),
            ("EXTRAS", dict(extras)),
        ):
            text = text.replace(name, repr(value))
        reframe(
            place,
            ROOT / "checks" / check,
            *("--run", "--keep-stage-files", "-E", chosen),
            configuration=text,
            PATH=f"{':'.join(map(str, programs))}:{os.environ['PATH']}",
            FABRICHECK_PAIR_WAIT="10",
            FABRICHECK_PAIR_GRACE="2",
            **(variables or {}),
        )
        (self.case,) = measured(place)
        self.level = self.case["level"]
        self.findings = self.case["findings"]
        self._place = place

    @property
    def command(self) -> str:
        """What ``pair.sh`` was told to run."""
        (line,) = [
            line
            for script in self._place.glob("stage/**/rfm_job.sh")
            for line in script.read_text().splitlines()
            if "both-ranks" in line
        ]
        return line.partition("pair.sh ")[2]
