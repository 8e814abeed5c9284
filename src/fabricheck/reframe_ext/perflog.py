"""The perflog handler: one line of fabricheck's format for each performance variable.

ReFrame's own ``filelog`` can't give a level to each variable, and leaves half a line behind when
the disk is full (docs/decisions.md).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ForceExitError
from reframe.core.logging import register_log_handler
from reframe.utility.sanity import reference_bounds

from fabricheck.benchmarks.curve import split_variable
from fabricheck.errors import FabricheckError
from fabricheck.history import perflog
from fabricheck.history.record import Record
from fabricheck.record.write import append
from fabricheck.reframe_ext.provenance import Provenance
from fabricheck.reframe_ext.recorder import logged_case

HANDLER = "fabricheck-perflog"


class PerflogHandler(logging.Handler):
    """Appends ReFrame's performance records to ``<basedir>/<system>/<partition>/<check>.log``."""

    def __init__(self, basedir: Path) -> None:
        super().__init__()
        self._basedir = basedir
        self._provenance = Provenance(basedir)
        self._pending: list[Record] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one variable's line; with the last of a case, append them all.

        On what it was measured is recorded beside it, also of a case that gave no value. A dry run
        measures nothing and leaves no line.

        Raises:
            ForceExitError: if they can't be written; a run without its record must not go on.
        """
        fields = record.__dict__
        check = fields["__rfm_check__"]
        if check.is_dry_run():
            return
        if not self._pending:
            self._record_provenance(check)
            with _ending_the_run():
                append(self._basedir, [logged_case(check, fields)])
        if fields.get("check_perf_var") is None:
            return
        self._pending.append(_record(check, fields))
        if len(self._pending) < len(check.perfvalues):
            return
        records, self._pending = self._pending, []
        path = (
            self._basedir
            / check.current_system.name
            / check.current_partition.name
            / f"{type(check).__name__}.log"
        )
        with _ending_the_run():
            perflog.append(path, records)

    def _record_provenance(self, check: Any) -> None:
        """Before the values, so that none is ever without; builds and what never ran have none."""
        if getattr(check, "session", "") and check.job:
            with _ending_the_run():
                self._provenance.record(check)


@contextmanager
def _ending_the_run() -> Iterator[None]:
    try:
        yield
    except FabricheckError as error:
        # ReFrame prints a cause as well, which would say the same again.
        raise ForceExitError(str(error)) from None


@register_log_handler(HANDLER)
def _create(site_config: Any, config_prefix: str) -> PerflogHandler:
    return PerflogHandler(Path(site_config.get(f"{config_prefix}/basedir")))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _record(check: Any, fields: dict[str, Any]) -> Record:
    variable = fields["check_perf_var"]
    metric, statistic, size = split_variable(variable)
    reference = fields["check_perf_ref"]
    lower, upper = (
        reference_bounds(
            reference, fields["check_perf_lower_thres"], fields["check_perf_upper_thres"]
        )
        if reference is not None
        else (None, None)
    )
    warning_lower, warning_upper = check.warning_bounds.get(variable, (None, None))
    ended = fields.get("check_job_completion_time_unix")
    time = datetime.fromtimestamp(ended, UTC) if ended else datetime.now(UTC)
    return Record(
        time=time.isoformat(timespec="seconds"),
        level=check.levels.get(variable, ""),
        result=_text(fields["check_perf_result"]),
        system=check.current_system.name,
        partition=check.current_partition.name,
        environment=check.current_environ.name,
        check=type(check).__name__,
        benchmark=check.benchmark,
        transport=check.transport,
        placement=check.placement,
        nodes=str(check.num_nodes),
        ranks=str(check.num_tasks),
        variable=variable,
        metric=metric,
        statistic=statistic,
        size=_text(size),
        value=_text(fields["check_perf_value"]),
        unit=_text(fields["check_perf_unit"]),
        reference=_text(reference),
        lower=_text(lower),
        upper=_text(upper),
        warning_lower=_text(warning_lower),
        warning_upper=_text(warning_upper),
        reference_kind=check.reference_kind,
        mpi=check.mpi,
        mpi_version=check.mpi_version,
        ucx_version=check.ucx_version,
        program=check.program,
        program_version=check.program_version,
        job_id=_text(check.job.jobid if check.job else None),
        node_list=",".join(check.node_list),
        commit=check.commit,
        session=check.session,
        finding="; ".join(check.findings),
    )
