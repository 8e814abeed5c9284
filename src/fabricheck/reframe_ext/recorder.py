"""The record's writer: a line for each case when ReFrame logs its result, the rest at the end.

ReFrame's own ``filelog`` can't give a level to each variable, and leaves half a line behind when
the disk is full (docs/explanation/decisions.md).
"""

import functools
import logging
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reframe.core.exceptions import ForceExitError, ReframeError
from reframe.core.logging import register_log_handler

from fabricheck.asking import told
from fabricheck.errors import EXIT_BAD_INPUT, FabricheckError
from fabricheck.launch.times import script_end
from fabricheck.nodes.machine import read_machines
from fabricheck.provenance import session
from fabricheck.record import resting
from fabricheck.record.entries import CaseEntry, Session, moment
from fabricheck.record.facts import alike
from fabricheck.record.reframe_report import ODD, repetition, samples_of, title
from fabricheck.record.write import append
from fabricheck.reframe_ext.command import UNRECORDED
from fabricheck.reframe_ext.reframe import (
    Ended,
    at_the_end,
    emit_loadenv_commands,
    getlogger,
    logged,
)
from fabricheck.reframe_ext.rota import TURNS
from fabricheck.schedulers import scheduler_of
from fabricheck.sites.extras import PartitionExtras

HANDLER = "fabricheck"
# Spack's prefixes end in the hash of what is installed there.
_SPACK = re.compile(r"/([^/]+-[a-z0-9]{32})/")


class CaseProvenance:
    """What a process, which is one session, has recorded of its provenance.

    Args:
        basedir: where the record is.
    """

    def __init__(self, basedir: Path) -> None:
        self._basedir = basedir
        self._recorded: set[tuple[object, ...]] = set()
        self._compilers: dict[tuple[str, str], tuple[str, str]] = {}

    def record(self, check: Any) -> None:
        """Record on what nodes and with what software a case ran, if that is not recorded yet.

        What can't be read is recorded as such. Nodes with the same facts make one record.

        Raises:
            FabricheckError: if it can't be written.
        """
        found = alike(
            read_machines(Path(check.stagedir)),
            check.node_list,
            self.software(check),
            session=session(),
            system=check.current_system.name,
            partition=check.current_partition.name,
            environ=check.current_environ.name,
        )
        for each in found:
            facts = (*each.machine.values(), *each.software.values())
            record = (each.partition, each.environ, each.nodes, facts)
            if record not in self._recorded:
                append(self._basedir, [each])
                self._recorded.add(record)

    def software(self, check: Any) -> dict[str, str]:
        """Facts of what a case was built with and what it ran in, as far as they are known."""
        place = check.current_partition.fullname, check.current_environ.name
        if place not in self._compilers:
            self._compilers[place] = _compiler(check.current_partition, check.current_environ)
        compiler, wrapper = self._compilers[place]
        spack = _SPACK.search(wrapper)
        return {
            "scheduler": _scheduler(check.current_partition.scheduler.registered_name),
            "mpi": check.mpi_version,
            "ucx": check.ucx_version,
            "compiler": compiler,
            "spack": spack[1] if spack else "",
            "program": f"{check.program} {check.program_version}".strip(),
            "commit": check.commit,
            **(check.build.programs.origin() if hasattr(check, "build") else {}),
        }


@functools.cache
def _scheduler(name: str) -> str:
    """The scheduler's name, and its version where it is known how to ask."""
    return scheduler_of(name).version() or name


def _compiler(partition: Any, environ: Any) -> tuple[str, str]:
    """What an environment's C compiler says of its version, and where its wrapper really is.

    It is asked where ReFrame runs, with the environment loaded.
    """
    if not environ.cc:
        return "", ""
    try:
        commands = emit_loadenv_commands(partition.local_env, environ)
    except ReframeError:
        return "", ""
    asked = [*commands, f"{environ.cc} --version", f'realpath "$(command -v {environ.cc})"']
    said = told(["bash", "-c", "\n".join(asked)]).splitlines()
    return (said[0], said[-1]) if len(said) > 1 else ("", "")


class Recorder(logging.Handler):
    """Appends a case to the record, and before it on what it ran, so that none is ever without."""

    def __init__(self, basedir: Path) -> None:
        super().__init__()
        self._basedir = basedir
        self._provenance = CaseProvenance(basedir)
        self._known: set[tuple[object, ...]] = set()
        self._is_lost = False

    def emit(self, record: logging.LogRecord) -> None:
        """Record a case. What measures nothing, as a dry run, leaves no line.

        Raises:
            ForceExitError: if it can't be recorded; a run without its record must not go on.
        """
        check, ended = logged(record)
        if check.is_dry_run() or os.environ.get(UNRECORDED):
            return
        try:
            # Builds and what never ran have no nodes.
            if hasattr(check, "recorded") and check.job:
                self._provenance.record(check)
            append(self._basedir, [case_of(check, ended)])
        except (*ODD, FabricheckError) as error:
            self._is_lost = True
            # ReFrame prints a cause as well, which would say the same again.
            raise ForceExitError(f"{check.display_name}: {error}") from None
        self._known.add(_identity(check, ended))

    def end(self, ended: Sequence[tuple[Any, Ended]], info: Mapping[str, Any]) -> None:
        """Record the end of the session, and what came to no log: skipped cases, failed builds.

        A session of which a case could not be recorded has no end, so that it is never whole.

        Args:
            ended: all tests that ran or should have, and how they ended.
            info: what ReFrame says of the session.

        Raises:
            SystemExit: if it can't be recorded.
        """
        unmeasured = os.environ.get(UNRECORDED) or any(each.is_dry_run() for each, _ in ended)
        if unmeasured or self._is_lost or not ended:
            return
        missing = [
            (check, each)
            for check, each in ended
            if _identity(check, each) not in self._known and _adds(each)
        ]
        try:
            end = Session(
                time=moment(),
                session=session(),
                system=ended[0][1].system,
                announced=info["num_cases"],
                lacking=unquote(info.get("lacking", "")),
                info={
                    **{name: value for name, value in info.items() if name != resting.EXTRA},
                    **({"rota": TURNS.stated} if TURNS.stated else {}),
                },
                resting=resting.unpack(info.get(resting.EXTRA, "")),
            )
            append(self._basedir, [*(case_of(*each) for each in missing), end])
        except (*ODD, FabricheckError) as error:
            getlogger().error(f"the end of the session is not recorded: {error}")
            sys.exit(EXIT_BAD_INPUT)


def _identity(check: Any, ended: Ended) -> tuple[object, ...]:
    return check.unique_name, ended.partition, ended.environ, ended.attempt


def _adds(ended: Ended) -> bool:
    """Whether an attempt came so far that it adds to the first run."""
    waited = ended.result in ("skip", "fail_deps")
    return ended.attempt == 1 or not (waited or ended.fail_phase in ("startup", "setup"))


def case_of(check: Any, ended: Ended) -> CaseEntry:
    """A case that has ended; one of the suite's own says itself what it measured (``recorded``)."""
    job = check.job
    if own := hasattr(check, "recorded"):
        fields: dict[str, Any] = check.recorded()
    else:
        fields = {
            "benchmark": title(check.name),
            "samples": samples_of(check.perfvalues, ended.result),
        }
    # ReFrame's squeue back end writes the word None for a job that it has lost sight of.
    nodes = fields.get("nodes") or (job.nodelist if job else None) or ()
    fields["nodes"] = tuple(node for node in nodes if node != "None")
    if not own:
        fields["num_nodes"] = len(nodes)
    # 0 or less is ReFrame's word for as many as there are nodes free.
    ranks, each_node = (max(n or 0, 0) for n in (check.num_tasks, check.num_tasks_per_node))
    if fields.get("waiting") is not None and (end := script_end(Path(check.stagedir))):
        fields["judging"] = max(0.0, time.time() - end)
    partition = check.current_partition
    return CaseEntry(
        **ended._asdict(),
        time=moment(int(job.completion_time) if job and job.completion_time else None),
        session=session(),
        check=title(check.name).split()[0],
        ranks=ranks,
        ranks_per_node=each_node or math.ceil(ranks / (fields["num_nodes"] or 1)),
        binding=PartitionExtras.of(partition.extras).pin if partition else "",
        name=check.display_name,
        id=check.unique_name,
        fixture=check.is_fixture(),
        repeat=repetition(check.display_name),
        job=str(job.jobid or "") if job else "",
        output=check.outputdir or check.stagedir or "",
        **fields,
    )


@register_log_handler(HANDLER)
def _create(site_config: Any, config_prefix: str) -> Recorder:
    recorder = Recorder(Path(site_config.get(f"{config_prefix}/basedir")))
    at_the_end(recorder.end)
    return recorder
