"""The one door to what ReFrame keeps private or does not document.

No other module of ours imports, reads or sets such a name.
``tests/reframe_ext/test_reframe_contract.py`` lists them all: for each it has a test of what we
need of it, and it refuses them anywhere else.
"""

import logging
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from reframe.core import config, runtime
from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.exceptions import ReframeFatalError, what
from reframe.core.launchers import JobLauncher
from reframe.core.logging import configure_logging, getlogger, log_files
from reframe.core.runtime import emit_loadenv_commands
from reframe.core.schedulers import AlwaysIdleNode
from reframe.core.schedulers.pbs import PbsProJobScheduler, _PbsJob
from reframe.core.schedulers.slurm import SqueueJobScheduler, _SlurmJob
from reframe.core.systems import System

__all__ = [
    "JobLauncher",
    "PbsProJobScheduler",
    "SqueueJobScheduler",
    "emit_loadenv_commands",
    "getlogger",
    "log_files",
    "register_launcher",
    "register_scheduler",
]


class _KnownJob:
    """A job of ReFrame's back ends, which others than they may look after."""

    script_filename: str
    sched_access: Sequence[str]
    cli_options: Sequence[str]

    def put(self, **known: Any) -> None:
        """Set what only its scheduler knows: ``jobid``, ``state``, ``exitcode``, ``submit_time``,
        ``completion_time``, and of PBS ``nodelist`` and ``completed``.
        """
        for name, value in known.items():
            setattr(self, f"_{name}", value)

    @property
    def script(self) -> str:
        """The script that ReFrame has written for it."""
        return str(self.script_filename)

    @property
    def asked(self) -> list[str]:
        """Options of the partition and of the command line."""
        return [*self.sched_access, *self.cli_options]


class SlurmJob(_KnownJob, _SlurmJob):
    """A job of Slurm."""


class PbsJob(_KnownJob, _PbsJob):
    """A job of PBS.

    Attributes:
        why: why the suite ended it, if it did.
    """

    why = ""


class NamedNodes:
    """The nodes of a scheduler that knows no more of them than their names."""

    @abstractmethod
    def allowed(self, job: Any) -> Collection[str]:
        """The nodes that a job may have by its options; all of them without a job."""

    def allnodes(self) -> set[Any]:
        """Its nodes, as ReFrame asks for them."""
        return {*map(AlwaysIdleNode, self.allowed(None))}

    def filternodes(self, job: Any, nodes: Iterable[Any]) -> set[Any]:
        """Those that a job may have."""
        allowed = self.allowed(job)
        return {node for node in nodes if node.name in allowed}


def extras_of(scheduler: Any) -> Any:
    """The extras of the partition that a scheduler was made for."""
    prefix = scheduler._config_prefix.removesuffix("sched_options")
    return runtime.runtime().get_option(f"{prefix}extras")


def partition_of(scheduler: Any) -> str:
    """The name of the partition that a scheduler was made for."""
    prefix = scheduler._config_prefix.removesuffix("sched_options")
    return str(runtime.runtime().get_option(f"{prefix}name"))


def nodes_of(job: Any) -> list[Any]:
    """The nodes that a job may have by its partition and options.

    Raises:
        NotImplementedError: if its scheduler can't list them.
    """
    return list(job.scheduler.filternodes(job, job.scheduler.allnodes()))


def nodes_in_state(job: Any, nodes: Iterable[Any], state: str) -> Collection[Any]:
    """Those of the nodes that are in a state of Slurm's."""
    found: Collection[Any] = job.scheduler.filternodes_by_state(nodes, state)
    return found


def flexible_nodes(job: Any) -> int | str:
    """``--flex-alloc-nodes``: how many nodes, or the state of those that are meant."""
    asked: int | str = job.sched_flex_alloc_nodes
    return asked


def put_before(launcher: Any, program: str, options: Sequence[str]) -> None:
    """Let a launcher be launched by a program."""
    launcher.modifier, launcher.modifier_options = program, list(options)


def attempt() -> int:
    """Which attempt of its cases ReFrame is at: 1, and more for retries."""
    return int(runtime.runtime().current_run) + 1


def dependencies(test: Any) -> list[str]:
    """The names of the tests that one depends on."""
    return [name for name, _ in test.user_deps()]


class Ended(NamedTuple):
    """Where a case ran, and how it ended in ReFrame's words."""

    system: str
    partition: str
    environ: str
    result: str
    fail_phase: str
    fail_reason: str
    attempt: int
    needs: tuple[str, ...]


def logged(record: logging.LogRecord) -> tuple[Any, Ended]:
    """The test whose result ReFrame logs, and how it ended."""
    given = record.__dict__
    test = given["__rfm_check__"]
    words = [given[f"check_{name}"] or "" for name in ("result", "fail_phase", "fail_reason")]
    return test, _ended(test._case(), attempt(), *words)


def at_the_end(record: Callable[[list[tuple[Any, Ended]], Mapping[str, Any]], None]) -> None:
    """Let something record a session when it ends, just before ReFrame writes its run report.

    Args:
        record: takes all tests that ran or should have, with how they ended, and what ReFrame says
            of the session.
    """

    from reframe.frontend import reporting

    class Report(reporting.RunReport):
        def update_run_stats(self, stats: Any) -> None:
            super().update_run_stats(stats)
            if isinstance(sys.exc_info()[1], KeyboardInterrupt):
                # ReFrame only warns of an interrupt; as an error, it would have a traceback.
                getlogger().warn_as_error = False
            self._ended = [
                (task.check, _ended(task.testcase, number + 1, *_words(task)))
                for number, tasks in stats.runs()
                for task in tasks
            ]

        def save(self, *arguments: Any, **options: Any) -> None:
            record(self._ended, self["session_info"])
            super().save(*arguments, **options)

    reporting.RunReport = Report


def _words(task: Any) -> list[str]:
    if task.failed or task.aborted:
        return [task.result, task.failed_stage or "", what(*task.exc_info)]
    return [task.result]


def _ended(case: Any, number: int, result: str, phase: str = "", reason: str = "") -> Ended:
    system, _, partition = case.partition.fullname.partition(":")
    needs = tuple(each.check.unique_name for each in case.deps)
    return Ended(system, partition, case.environ.name, result, phase, reason, number, needs)


def without_deprecated(test_class: Any) -> None:
    """Take the deprecated alias of ``env_vars`` from a class of tests.

    ReFrame looks for the caller of each access to it, through the whole stack: when a test is made,
    which was two fifths of the time to load the checks, and with every line of its log.
    """
    del test_class._rfm_var_space.vars["variables"]


def fits(partition: Any, specification: str) -> bool:
    """Whether a partition of the system is one of ``valid_systems``."""
    return partition in runtime.valid_sysenv_comb([specification], [], check_environs=False)


def fits_environ(partition: Any, environ: Any, specification: str) -> bool:
    """Whether an environment of a partition is one of ``valid_prog_environs``."""
    found = runtime.valid_sysenv_comb([], [specification], check_systems=False)
    return environ in found[partition]


class Loading:
    """What is asked of the tests that are made.

    Attributes:
        every: those of all systems are wanted, not those of the system at hand alone.
    """

    every: ClassVar[bool] = False


def offered(systems: Sequence[str], environs: Sequence[str]) -> bool:
    """Whether the system at hand has one of ``valid_systems`` with one of ``valid_prog_environs``.

    Yes without a system, as where a module of checks is imported, and where every test is wanted.
    """
    try:
        runtime.runtime()
    except ReframeFatalError:
        return True
    return Loading.every or any(runtime.valid_sysenv_comb(systems, environs).values())


def place(test: Any, partition: Any, environ: Any) -> None:
    """Let a test believe that it was set up there."""
    test._current_partition, test._current_environ = partition, environ


def load_tests(configuration: Path, system: str, folders: Sequence[str]) -> tuple[Any, list[Any]]:
    """A system, and every test of all systems; one that can't be made is an error.

    ReFrame's runtime can be made only once in a process.
    """
    from reframe.frontend.loader import RegressionCheckLoader

    site = config.load_config("<builtin>", str(configuration))
    site.validate()
    site.select_subconfig(system)
    runtime.init_runtime(site)
    configure_logging(site, warn_as_error=True)
    Loading.every = True
    loader = RegressionCheckLoader(list(folders), recurse=True)
    return runtime.runtime().system, loader.load_all(force=True)


def make_system(configuration: dict[str, Any], system: str) -> None:
    """Make a system of a configuration, as ReFrame does when it begins.

    Raises:
        ReframeError, ValueError, TypeError: for what ReFrame refuses.
    """
    site = config.load_config()
    site.update_config(configuration, "sites/")
    site.validate()
    site.select_subconfig(system)
    System.create(site)


def query_of(text: str) -> Any:
    """A selection of sessions as ``--performance-compare`` reads it.

    Raises:
        ValueError, OverflowError: if it is none.
    """
    from reframe.frontend.reporting.utility import parse_query_spec

    return parse_query_spec(text)
