"""What we need of each name that ReFrame keeps private or does not document, and where they stand.

Another ReFrame that changes one of them fails here, with its name, before a night does.
"""

import ast
import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import reframe as rfm
from reframe.core import logging, runtime
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.environments import Environment
from reframe.core.exceptions import ReframeError
from reframe.core.schedulers import JobScheduler
from reframe.frontend import executors, reporting
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import udeps

from fabricheck.reframe_ext import reframe as door

ROOT = Path(__file__).parents[2]
DOOR = ROOT / "src/fabricheck/reframe_ext/reframe.py"
CONFIGURATION = {
    "systems": [
        {
            "name": "one",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "main",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["mpi", "plain"],
                    "features": ["rdma"],
                    "extras": {"link_rate": 100},
                }
            ],
        }
    ],
    "environments": [{"name": "mpi", "features": ["mpi"]}, {"name": "plain"}],
}

DOCUMENTED = {
    "reframe.core.backends": {"getlauncher"},
    "reframe.core.builtins": None,
    "reframe.core.environments": {"Environment"},
    "reframe.core.exceptions": None,
    "reframe.core.logging": {"register_log_handler"},
    "reframe.core.schedulers": {"Job"},
    "reframe.utility": {"OrderedSet", "sanity", "udeps"},
    "reframe.utility.typecheck": {"Duration"},
}
"""What any module may import: names in ReFrame's manual; all of a module, where it has them all."""

TEST = """
import reframe as rfm

@rfm.simple_test
class One(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
"""
GENERIC = {"_case", "_state", "System"}
"""Names that others than ReFrame have, too."""


class Plain(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"


def partition() -> Any:
    return runtime.runtime().system.partitions[0]


def job() -> Any:
    return door.SlurmJob("case")


def of_a_job(name: str, value: object, kind: type = door.SlurmJob) -> Callable[[], bool]:
    def is_read_back() -> bool:
        made = kind("case")
        made.put(**{name: value})
        return bool(getattr(made, name) == value)

    return is_read_back


def takes(function: Any, *words: str) -> Callable[[], bool]:
    return lambda: {*words} <= {*inspect.signature(function).parameters}


def launched() -> bool:
    launcher = getlauncher("mpirun")()
    door.put_before(launcher, "survey", ["5"])
    return str(launcher.run_command(job())).startswith("survey 5 mpirun ")


def waits() -> bool:
    test = Plain()
    test.depends_on("Other", udeps.by_case)
    return door.dependencies(test) == ["Other"]


def is_placed() -> bool:
    test, where = Plain(), partition()
    door.place(test, where, where.environs[0])
    return test.current_partition is where and test.current_environ is where.environs[0]


def without_alias() -> bool:
    class Given(Plain):
        pass

    had = "variables" in Given.var_space
    door.without_deprecated(Given)

    class Inherits(Given):
        pass

    return had and "variables" not in {*Given.var_space, *Inherits.var_space}


def fits() -> bool:
    where = partition()
    environs = [door.fits_environ(where, each, "+mpi") for each in where.environs]
    return (
        door.fits(where, "+rdma")
        and not door.fits(where, "+rdma +gpu")
        and environs == [True, False]
    )


def loads() -> bool:
    with TemporaryDirectory() as folder:
        (Path(folder) / "one.py").write_text(TEST)
        loader = RegressionCheckLoader([folder], recurse=True)
        return [test.name for test in loader.load_all(force=True)] == ["One"]


def makes_systems() -> bool:
    door.make_system(CONFIGURATION, "one")
    text = json.dumps(CONFIGURATION).replace('"scheduler": "local"', '"scheduler": "none"')
    with pytest.raises(ReframeError):
        door.make_system(json.loads(text), "one")
    return True


def runs_again() -> bool:
    first = door.attempt()
    runtime.runtime().next_run()
    return (first, door.attempt()) == (1, 2)


def reads_queries() -> bool:
    by_name, by_time = door.query_of("?kind=='night'"), door.query_of("20261101:20261102")
    return by_name.sess_filter == "kind=='night'" and len(by_time.time_period) == 2


def reports_the_end() -> bool:
    found: list[Any] = []
    kept = reporting.RunReport
    try:
        door.at_the_end(lambda ended, info: found.append((ended, info["num_cases"])))
        stats = executors.TestStats()
        task = executors.RegressionTask(executors.generate_testcases([Plain()])[0])
        stats.add_task(task)
        task.do_skip("it need not run")
        report = reporting.RunReport()
        report.update_run_stats(stats)
        report.save("/dev/null", link_to_last=False)
    finally:
        reporting.RunReport = kept
    [([(_, ended)], number)] = found
    return (ended.result, ended.partition, ended.attempt, number) == ("skip", "main", 1, 1)


SQUEUE = door.SqueueJobScheduler
KEPT: dict[str, Callable[[], object]] = {
    "_SlurmJob": lambda: job().name == "case",
    "_jobid": of_a_job("jobid", "7/1"),
    "_state": of_a_job("state", "RUNNING"),
    "_exitcode": of_a_job("exitcode", 3),
    "_submit_time": of_a_job("submit_time", 1.5),
    "_completion_time": of_a_job("completion_time", 2.5),
    "_PbsJob _nodelist": of_a_job("nodelist", ["n1"], door.PbsJob),
    "_completed": of_a_job("completed", True, door.PbsJob),
    "PbsProJobScheduler": lambda: issubclass(door.PbsProJobScheduler, JobScheduler),
    "script_filename": lambda: job().script == "case.sh",
    "sched_access cli_options": lambda: job().asked == [],
    "sched_flex_alloc_nodes": lambda: door.flexible_nodes(job()) is None,
    "SqueueJobScheduler": lambda: issubclass(SQUEUE, JobScheduler),
    "register_scheduler": lambda: callable(door.register_scheduler("contract")),
    "_config_prefix": lambda: (
        door.extras_of(getscheduler("local")(part_name="main")) == {"link_rate": 100}
    ),
    "register_launcher JobLauncher": lambda: callable(door.register_launcher("contract")),
    "AlwaysIdleNode": lambda: door.AlwaysIdleNode("n1").name == "n1",
    "allnodes": takes(SQUEUE.allnodes, "self"),
    "filternodes": takes(SQUEUE.filternodes, "self", "job", "nodes"),
    "filternodes_by_state": takes(SQUEUE.filternodes_by_state, "nodelist", "state"),
    "modifier modifier_options": launched,
    "current_run": runs_again,
    "user_deps": waits,
    "_case": lambda: vars(Plain())["_case"] is None and hasattr(executors.TestCase, "deps"),
    "RunReport update_run_stats": reports_the_end,
    "__rfm_check__": lambda: "__rfm_check__" in logging.LoggerAdapter(check=Plain()).extra,
    "log_files": lambda: inspect.isfunction(door.log_files),
    "getlogger": lambda: callable(door.getlogger().info),
    "configure_logging": takes(logging.configure_logging, "warn_as_error"),
    "warn_as_error": lambda: door.getlogger().warn_as_error is False,
    "_rfm_var_space": without_alias,
    "valid_sysenv_comb": fits,
    "_current_partition _current_environ": is_placed,
    "RegressionCheckLoader": loads,
    "load_config update_config select_subconfig System": makes_systems,
    "init_runtime": takes(runtime.init_runtime, "site_config"),
    "parse_query_spec": reads_queries,
    "emit_loadenv_commands": lambda: (
        door.emit_loadenv_commands(Environment("e", [], [("A", "1")])) == ["export A=1"]
    ),
}
"""Whether ReFrame still has what we need of each such name."""
CONTRACT = {name: holds for names, holds in KEPT.items() for name in names.split()}


@pytest.fixture
def system(tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGURATION))
    with runtime.temp_runtime(str(path), "one"):
        yield


def keep(name: str) -> None:
    """Fail with a sentence if ReFrame no longer has what a name is for."""
    try:
        found = "" if CONTRACT[name]() else "another"
    except Exception as error:
        found = repr(error)
    if found:
        pytest.fail(
            f"expected {name} of ReFrame as it is in 4.10, found {found} in {rfm.VERSION}: adapt "
            f"{DOOR.relative_to(ROOT)}",
            pytrace=False,
        )


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("name", CONTRACT)
def test_reframe_has_what_we_need_of_it(name: str) -> None:
    keep(name)


@pytest.mark.usefixtures("system")
def test_a_name_that_reframe_changes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rfm.core.runtime, "valid_sysenv_comb", lambda *_: {})
    with pytest.raises(pytest.fail.Exception, match="expected valid_sysenv_comb of ReFrame as"):
        keep("valid_sysenv_comb")


def uses(source: str) -> Iterator[str]:
    """Names of ReFrame in a module that only the door may use; what it replaces it may call."""
    names = set(CONTRACT) if "reframe" in source else set(CONTRACT) - GENERIC
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "reframe":
            known = DOCUMENTED.get(str(node.module), set())
            yield from (
                f"{node.module}.{each.name}"
                for each in node.names
                if known is not None and each.name not in known
            )
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("reframe."))
        elif isinstance(node, ast.Attribute) and node.attr in names:
            if ast.unparse(node.value) != "super()":
                yield node.attr
        elif isinstance(node, ast.Constant) and node.value in names:
            yield str(node.value)


FILES = [
    path
    for folder in ("src/fabricheck", "checks", "lab", "ci")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path != DOOR
]


def test_no_other_file_uses_such_a_name() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}" for path in FILES for name in uses(path.read_text())
    }
    assert not found, f"move these behind {DOOR.relative_to(ROOT)}"


@pytest.mark.parametrize(
    "line",
    [
        "from reframe.core.schedulers.slurm import _SlurmJob",
        "from reframe.frontend.executors import Runner",
        "import reframe.core.runtime as rt",
        "job._jobid = '7'",
        "from reframe.core.schedulers import Job\njob._state = 'RUNNING'",
        "check = record.__dict__['__rfm_check__']",
    ],
)
def test_a_use_elsewhere_is_found(line: str) -> None:
    assert list(uses(line))
    assert not list(uses("import reframe as rfm\nfrom reframe.core.builtins import run_after"))


def test_the_door_is_no_larger_than_the_list() -> None:
    """A name that the door no longer needs leaves the list."""
    words = DOOR.read_text()
    assert not [name for name in CONTRACT if name not in words and name.lstrip("_") not in words]
