"""What we need of each name that ReFrame keeps private or does not document, and where they stand.

Another ReFrame that changes one of them fails here, with its name, before a night does.
"""

import ast
import inspect
import json
import uuid
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
GENERIC = {"_state", "System"}
"""Names that others than ReFrame have, too."""


class Plain(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]  # noqa: RUF012
    valid_prog_environs = ["*"]  # noqa: RUF012
    executable = "true"


def partition() -> Any:
    return runtime.runtime().system.partitions[0]


def job() -> Any:
    return door.SlurmJob("case")


def of_a_job(name: str, value: object) -> Callable[[], bool]:
    def is_read_back() -> bool:
        made = job()
        made.put(**{name: value})
        return bool(getattr(made, name) == value)

    return is_read_back


def asked(name: str, *words: str) -> Callable[[], bool]:
    return lambda: list(inspect.signature(getattr(JobScheduler, name)).parameters) == list(words)


def launched() -> str:
    launcher = getlauncher("mpirun")()
    door.put_before(launcher, "survey", ["5"])
    return str(launcher.run_command(job()))


def depending() -> Any:
    test = Plain()
    test.depends_on("Other", udeps.by_case)
    return test


def placed() -> Any:
    test, where = Plain(), partition()
    door.place(test, where, where.environs[0])
    return test


def without_alias() -> bool:
    class Given(Plain):
        pass

    had = "variables" in dict(Given.loggable_attrs()) or "variables" in Given.var_space
    door.without_deprecated(Given)

    class Inherits(Given):
        pass

    return had and "variables" not in Given.var_space and "variables" not in Inherits.var_space


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


def second_run() -> bool:
    first = door.attempt()
    runtime.runtime().next_run()
    return (first, door.attempt()) == (1, 2)


def of_partition() -> bool:
    scheduler = getscheduler("local")(part_name="main")
    return bool(door.extras_of(scheduler) == {"link_rate": 100})


def reads_queries() -> bool:
    by_name, by_time = door.query_of("?kind=='night'"), door.query_of("20261101:20261102")
    return by_name.by_session() and by_time.by_time_period() and len(by_time.time_period) == 2


CONTRACT: dict[str, tuple[str, Callable[[], object]]] = {
    "_SlurmJob": ("a job that can be made of a name alone", lambda: job().name == "case"),
    "_jobid": ("the id of a job", of_a_job("jobid", "7/1")),
    "_state": ("the state of a job", of_a_job("state", "RUNNING")),
    "_exitcode": ("the exit code of a job", of_a_job("exitcode", 3)),
    "_submit_time": ("when a job was submitted", of_a_job("submit_time", 1.5)),
    "_completion_time": ("when a job ended", of_a_job("completion_time", 2.5)),
    "script_filename": ("the script of a job", lambda: job().script == "case.sh"),
    "sched_access": ("a job's options of its partition", lambda: job().asked == []),
    "cli_options": ("a job's options of the command line", lambda: job().asked == []),
    "SqueueJobScheduler": ("a back end", lambda: issubclass(door.SqueueJobScheduler, JobScheduler)),
    "register_scheduler": ("its decorator", lambda: door.register_scheduler("contract")),
    "_config_prefix": ("where the settings of a scheduler's partition are", of_partition),
    "allnodes": ("the nodes of a scheduler", asked("allnodes", "self")),
    "filternodes": ("those a job may have", asked("filternodes", "self", "job", "nodes")),
    "filternodes_by_state": (
        "those in a state",
        lambda: (
            len(inspect.signature(door.SqueueJobScheduler.filternodes_by_state).parameters) == 3
        ),
    ),
    "sched_flex_alloc_nodes": ("--flex-alloc-nodes", lambda: door.flexible_nodes(job()) is None),
    "modifier": ("what launches a launcher", lambda: launched().startswith("survey 5 mpirun ")),
    "modifier_options": ("its options", lambda: launched().startswith("survey 5 mpirun ")),
    "current_run": ("which attempt it is", second_run),
    "user_deps": ("what a test waits for", lambda: door.dependencies(depending()) == ["Other"]),
    "__rfm_check__": (
        "the test of a line of the log",
        lambda: "__rfm_check__" in logging.LoggerAdapter(check=Plain()).extra,
    ),
    "log_files": ("the files of the log", lambda: inspect.isfunction(door.log_files)),
    "getlogger": ("the log", lambda: callable(door.getlogger().info)),
    "configure_logging": (
        "warnings that are errors",
        lambda: "warn_as_error" in inspect.signature(logging.configure_logging).parameters,
    ),
    "_rfm_var_space": ("the variables of a class of tests", without_alias),
    "valid_sysenv_comb": (
        "what a partition and an environment must have",
        lambda: (
            [
                door.fits(partition(), "+rdma"),
                door.fits(partition(), "+rdma +gpu"),
                *(door.fits_environ(partition(), each, "+mpi") for each in partition().environs),
            ]
            == [True, False, True, False]
        ),
    ),
    "_current_partition": (
        "where a test is",
        lambda: placed().current_partition is partition(),
    ),
    "_current_environ": (
        "in which environment a test is",
        lambda: placed().current_environ is partition().environs[0],
    ),
    "RegressionCheckLoader": ("what loads tests", loads),
    "load_config": ("a configuration", makes_systems),
    "update_config": ("a configuration", makes_systems),
    "select_subconfig": ("a configuration", makes_systems),
    "init_runtime": ("the runtime", lambda: inspect.isfunction(runtime.init_runtime)),
    "System": ("what makes a system", makes_systems),
    "is_uuid": (
        "a session's name",
        lambda: not door.is_uuid("night") and door.is_uuid(f"{uuid.UUID(int=7)}"),
    ),
    "parse_query_spec": ("what --performance-compare selects", reads_queries),
    "emit_loadenv_commands": (
        "what loads an environment",
        lambda: door.emit_loadenv_commands(Environment("e", [], [("A", "1")])) == ["export A=1"],
    ),
}
"""Each such name: what it is for us, and whether it is that."""


@pytest.fixture
def system(tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGURATION))
    with runtime.temp_runtime(str(path), "one"):
        yield


def keep(name: str) -> None:
    """Fail with a sentence if ReFrame no longer has what a name is for."""
    purpose, holds = CONTRACT[name]
    try:
        found = "another" if not holds() else ""
    except Exception as error:
        found = repr(error)
    if found:
        pytest.fail(
            f"expected {name} of ReFrame to be {purpose}, as up to 4.10.4, found {found} in "
            f"{rfm.VERSION}: adapt {DOOR.relative_to(ROOT)}",
            pytrace=False,
        )


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("name", CONTRACT)
def test_reframe_has_what_we_need_of_it(name: str) -> None:
    keep(name)


@pytest.mark.usefixtures("system")
def test_a_name_that_reframe_changes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rfm.core.runtime, "valid_sysenv_comb", lambda *_: {})
    with pytest.raises(pytest.fail.Exception, match="expected valid_sysenv_comb of ReFrame to be"):
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
