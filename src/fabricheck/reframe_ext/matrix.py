"""Every case that the checks could have on a system, by ReFrame itself: taken, or why not.

ReFrame lists what it would run and is silent about the rest. Here its loader makes every test, and
its own rules say of each partition and environment whether the test takes it; where it doesn't, the
same rules are asked about each term of ``valid_systems`` and ``valid_prog_environs`` alone. As
ReFrame's runtime can be made only once, this runs in a process of its own.
"""

import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fabricheck.errors import EXIT_BAD_INPUT, EXIT_FAULT, FabricheckError
from fabricheck.measures import ADDED
from fabricheck.measures.registry import CHECKS
from fabricheck.provenance import home
from fabricheck.reframe_ext import reframe
from fabricheck.reframe_ext.command import UNRECORDED, configuration, environment
from fabricheck.reframe_ext.nodes import lacking_of_scheduler


@dataclass(frozen=True, slots=True)
class CheckCase:
    """A check with one partition and environment.

    Attributes:
        check: name of the check class.
        benchmark: what it measures, empty for a check that measures no benchmark.
        placement: transport and nodes, empty where it has none.
        partition: name of the partition.
        environ: name of the environment; empty where the partition is lacking something already.
        tags: the runs and groups that it belongs to.
        lacking: what partition or environment lack for it, as terms such as ``rdma``, ``nodes_4``
            and ``mpi_family=openmpi``; empty for a case that runs.
        variables: of a case that runs, what it measures, such as ``latency_p50_1KiB``; empty for
            one that is judged by no reference.
        needs: names of the cases that it waits for, of its own partition and environment.
    """

    check: str
    benchmark: str
    placement: str
    partition: str
    environ: str
    tags: tuple[str, ...]
    lacking: tuple[str, ...]
    variables: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Check, benchmark and placement."""
        return name_of(self.check, self.benchmark, self.placement)


def name_of(check: str, benchmark: str, placement: str) -> str:
    """The name of a case wherever it runs."""
    return " ".join(filter(None, (check, benchmark, placement)))


def read_cases(suite: Path, system: str) -> list[CheckCase]:
    """Every case of every check on a system, in the order of the checks.

    Args:
        suite: root of the suite.
        system: name of the system.

    Raises:
        FabricheckError: if ReFrame can't load the configuration or a check; the message is its own.
        RuntimeError: for a fault of the suite, with its traceback.
    """
    with tempfile.NamedTemporaryFile(suffix=".json") as written:
        ended = subprocess.run(
            [sys.executable, "-m", __name__, str(suite), system, written.name],
            cwd=home(suite),
            env=environment(suite, RFM_SYSTEM=system, **{UNRECORDED: "1"}),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        words = _last_words(ended.stderr)
        if ended.returncode == EXIT_BAD_INPUT:
            raise FabricheckError(
                f"FC0512 expected the checks of {suite / 'checks'} for system {system}, found that "
                f"ReFrame can't load them: {words}"
            )
        if ended.returncode:
            raise RuntimeError(
                f"the cases of system {system} could not be listed, exit code {ended.returncode}: "
                f"{words}\n{ended.stderr}"
            )
        return msgspec.json.decode(Path(written.name).read_bytes(), type=list[CheckCase])


def _last_words(errors: str) -> str:
    """What the last exception of a traceback says."""
    raised = re.findall(r"^(?:\w+\.)*\w+: (.+)$", errors, re.MULTILINE)
    return str(raised[-1]) if raised else " ".join(errors.split())[-200:] or "no output"


def lacking_terms(specs: Iterable[str], fits: Callable[[str], bool]) -> tuple[str, ...]:
    """The terms that keep the nearest of several specifications from fitting.

    Args:
        specs: such as ``+rdma +nodes_2``, of which one must fit.
        fits: whether a specification fits.

    Returns:
        The terms without their signs; a feature that must be absent begins with ``no``. None if one
        of the specifications fits.
    """
    ways: list[list[str]] = []
    for spec in specs:
        if fits(spec):
            return ()
        ways.append([term for term in spec.split() if not fits(term)])
    if not ways:
        return ("nothing that could fit",)
    return tuple(_term(term) for term in min(ways, key=len))


def _term(term: str) -> str:
    return f"no {term[1:]}" if term.startswith("-") else term.lstrip("+%")


def _cases(tests: Sequence[Any], system: Any) -> list[CheckCase]:
    found = []
    cases = {test.unique_name: _case(test) for test in tests}
    for test in tests:
        sides = (cases[name].name for name in reframe.dependencies(test) if name in cases)
        needs = tuple(dict.fromkeys(sides))
        for partition in system.partitions:
            case = replace(cases[test.unique_name], partition=partition.name)
            lacking = lacking_terms(test.valid_systems, partial(reframe.fits, partition))
            if lacking := lacking or lacking_of_scheduler(test, partition):
                found.append(replace(case, lacking=lacking))
                continue
            for environ in partition.environs:
                offers = partial(reframe.fits_environ, partition, environ)
                lacking = lacking_terms(test.valid_prog_environs, offers)
                variables = () if lacking else _variables(test, partition, environ)
                case = replace(case, environ=environ.name, needs=needs)
                found.append(replace(case, lacking=lacking, variables=variables))
    return found


def _variables(test: Any, partition: Any, environ: Any) -> tuple[str, ...]:
    """What a judged test will measure; it asks its partition for the sizes."""
    if type(test).__name__ not in CHECKS:
        return ()
    reframe.place(test, partition, environ)
    return tuple(map(str, test.measured_values()))


def _case(test: Any) -> CheckCase:
    return CheckCase(
        check=type(test).__name__,
        benchmark=str(getattr(test, "benchmark", "")),
        placement=str(getattr(test, "placement", "")),
        partition="",
        environ="",
        tags=tuple(sorted(test.tags)),
        lacking=(),
    )


def _write(suite: Path, system: str, path: Path) -> None:
    found, tests = reframe.load_tests(configuration(suite), system, [str(suite / "checks"), *ADDED])
    cases = _cases([test for test in tests if not test.is_fixture()], found)
    path.write_bytes(msgspec.json.encode(cases))


def _is_mendable(error: BaseException) -> bool:
    """Whether a person made the error: it began as one of ReFrame's, of a file, or of a module."""
    from reframe.core.exceptions import ReframeBaseError

    # ReFrame's loader wraps whatever a check raises.
    while error.__context__ is not None:
        error = error.__context__
    return isinstance(
        error, FabricheckError | ReframeBaseError | OSError | ImportError | SyntaxError
    )


if __name__ == "__main__":
    try:
        _write(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    except BaseException as error:
        traceback.print_exc()
        sys.exit(EXIT_BAD_INPUT if _is_mendable(error) else EXIT_FAULT)
