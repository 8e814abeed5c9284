"""The record's writer: a line for each finished case, written when ReFrame logs its result.

ReFrame's own ``filelog`` can't give a level to each variable, and leaves half a line behind when
the disk is full (docs/explanation/decisions.md).
"""

import logging
import os
import time
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ForceExitError
from reframe.core.logging import register_log_handler

from fabricheck.errors import FabricheckError
from fabricheck.launch.times import script_end
from fabricheck.provenance import session
from fabricheck.record.entries import Case, moment
from fabricheck.record.reframe_report import ODD, case_of
from fabricheck.record.write import append
from fabricheck.reframe_ext.command import UNRECORDED
from fabricheck.reframe_ext.provenance import Provenance
from fabricheck.reframe_ext.reframe import attempt, dependencies, logged_test
from fabricheck.sites.extras import PartitionExtras

HANDLER = "fabricheck"


class Recorder(logging.Handler):
    """Appends a case to the record, and before it on what it ran, so that none is ever without."""

    def __init__(self, basedir: Path) -> None:
        super().__init__()
        self._basedir = basedir
        self._provenance = Provenance(basedir)

    def emit(self, record: logging.LogRecord) -> None:
        """Record a case. What measures nothing, as a dry run, leaves no line.

        Raises:
            ForceExitError: if it can't be recorded; a run without its record must not go on.
        """
        check = logged_test(record)
        if check.is_dry_run() or os.environ.get(UNRECORDED):
            return
        try:
            # Builds and what never ran have no nodes.
            if getattr(check, "session", "") and check.job:
                self._provenance.record(check)
            append(self._basedir, [logged_case(check, record.__dict__)])
        except (*ODD, FabricheckError) as error:
            # ReFrame prints a cause as well, which would say the same again.
            raise ForceExitError(f"{check.display_name}: {error}") from None


def logged_case(check: Any, fields: dict[str, Any]) -> Case:
    """The case that ReFrame logs, with the attributes that its run report has, and a few others."""
    given = {
        name.removeprefix("check_"): each
        for name, each in fields.items()
        if name.startswith("check_")
    }
    given["fixture"] = check.is_fixture()
    if (seconds := given.get("seconds")) and (ended := script_end(Path(check.stagedir))):
        given["seconds"] = {**seconds, "judging": max(0.0, time.time() - ended)}
    given["dependencies_actual"] = [(name,) for name in dependencies(check)]
    given["binding"] = PartitionExtras.of(check.current_partition.extras).pin
    return case_of(given, session(), moment(), attempt())


@register_log_handler(HANDLER)
def _create(site_config: Any, config_prefix: str) -> Recorder:
    return Recorder(Path(site_config.get(f"{config_prefix}/basedir")))
