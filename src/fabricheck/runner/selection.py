"""What to run, checked against what the suite and the site have before anything starts."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reframe.utility.typecheck import Duration

from fabricheck.errors import FabricheckError
from fabricheck.judge.reference_file import exists, load, path_of
from fabricheck.measures.benchmark import RUNS, Benchmark
from fabricheck.measures.registry import FAMILIES, REGISTRY, programs_of
from fabricheck.measures.registry import find as find_benchmark
from fabricheck.provenance import folders
from fabricheck.reframe_ext.config import (
    MAX_JOBS,
    find_system,
    lacking_environments,
    why_lacking,
)
from fabricheck.reframe_ext.judged import TIME
from fabricheck.schedulers import on_login
from fabricheck.schedulers.protocol import ASKED
from fabricheck.sites.extras import EnvironmentExtras
from fabricheck.transports.families import families
from fabricheck.transports.placement import parts
from fabricheck.transports.table import TRANSPORTS, find


@dataclass(frozen=True, slots=True)
class RunSelection:
    """A part of the matrix; an empty tuple means all of it.

    Attributes:
        system: name of the system in ``sites/``.
        benchmarks: names of the registry.
        transports: names of the table of transports.
        environments: names of the system's environments.
        tags: of ``benchmark.RUNS``, or names of families; checks that have all of them.
        nodes: numbers of nodes.
        chosen: the cases of a night within a budget: for each test, by its name, the ``systems``
            and ``environs`` on which it runs; ``None`` for all that the rest selects.
        resting: the cases that this leaves out, for the record.
        turns: what decides which nodes come first; ``None`` where nothing asks.
    """

    system: str
    benchmarks: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    chosen: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    resting: tuple[Mapping[str, str], ...] = ()
    turns: Mapping[str, Any] | None = None

    def needs(self, feature: str) -> bool:
        """Whether the selection holds transports that need this feature of a partition, or a
        variant of one that does.
        """
        usable = [getattr(each, "transports", TRANSPORTS) for each in self._benchmarks().values()]
        chosen = [find(name) for name in self.transports or set().union(*usable) or TRANSPORTS]
        return any(feature in (each.feature, find(each.base).feature) for each in chosen)

    def holds(self, benchmark: str, placement: str, environment: str) -> bool:
        """Whether a case is of this part, whatever its tags; one that a partition as a whole lacks
        something for has no environment.
        """
        transport, num_nodes = parts(placement)[:2] if placement else ("", 0)
        asked: list[tuple[Sequence[object], object]] = [
            (self.benchmarks, benchmark),
            (environment and self.environments, environment),
            (self.transports, transport),
            (self.nodes, num_nodes),
        ]
        return all(value in wanted for wanted, value in asked if wanted)

    def programs(self) -> list[str]:
        """The programs of ``src/bench`` that the selection may start."""
        return programs_of(self._benchmarks())

    def _benchmarks(self) -> dict[str, Benchmark]:
        return {
            name: benchmark
            for name, benchmark in REGISTRY.items()
            if not self.benchmarks or name in self.benchmarks
            if all(tag in (*benchmark.runs, benchmark.family) for tag in self.tags)
        }

    def reframe_options(self) -> list[str]:
        """The options of ``reframe`` that select the same."""
        options = [f"--system={self.system}"]
        of_case: dict[str, Sequence[object]] = {
            "benchmark": self.benchmarks, "transport": self.transports, "num_nodes": self.nodes
        }  # fmt: skip
        if terms := [f"{name} in {wanted!r}" for name, wanted in of_case.items() if wanted]:
            options += ["-E", " and ".join(terms)]
        if self.environments:
            options += ["-p", f"^({'|'.join(self.environments)})$"]
        options += [f"--tag=^{tag}$" for tag in self.tags]
        return options


def lacking(suite: Path, selection: RunSelection) -> list[str]:
    """A sentence for each selected environment that is not installed, and so not measured."""
    return [
        f"nothing with environment {environment['name']}: {why_lacking(environment)}"
        for environment in lacking_environments(suite, selection.system)
        if not selection.environments or environment["name"] in selection.environments
        if not selection.transports
        or any(
            EnvironmentExtras.of(environment.get("extras")).mpi_family in families(t)
            for t in selection.transports
        )
    ]


def job_options(suite: Path, system: str, asked: Mapping[str, Any]) -> list[str]:
    """The options of ``reframe`` with which every job of a system asks its scheduler for more.

    The time of a job and the number of jobs at once go to ReFrame by its environment.

    Args:
        suite: root of the suite.
        system: name of the system.
        asked: values of ``ASKED``, ``time`` and ``maxjobs``; what is empty is not asked.

    Raises:
        FabricheckError: for what a scheduler of the system can't do, and for no duration.
    """
    if limit := asked["time"]:
        try:
            Duration(limit)
        except ValueError:
            raise FabricheckError(
                f"FC0942 expected a duration such as 30m or 1h30m for --time, found {limit!r}"
            ) from None
    _, found = find_system(suite, system)
    of_partition: dict[tuple[str, ...], str] = {}
    for partition in found["partitions"]:
        scheduler = on_login(partition["scheduler"], system)
        wanted = [key for key in ASKED if asked[key]]
        for key in wanted:
            if key not in scheduler.words:
                raise FabricheckError(
                    f"FC0941 expected options that the scheduler {partition['scheduler']} of "
                    f"partition {partition['name']} takes ("
                    f"{', '.join(f'--{each}' for each in scheduler.words) or 'none'}), found "
                    f"--{key}: leave it out"
                )
        words = (scheduler.asked(key, asked[key]) for key in wanted)
        of_partition.setdefault(tuple(filter(None, words)), partition["name"])
    if len(of_partition) > 1:
        names = " and ".join(of_partition.values())
        raise FabricheckError(
            f"FC0943 expected one kind of scheduler for all of system {system}, found several, of "
            f"{names}, which take other words: run reframe -J for one of them"
        )
    os.environ.update({TIME: limit, MAX_JOBS: str(asked["maxjobs"] or "")})
    return [f"--job-option={word}" for words in of_partition for word in words]


def check(suite: Path, selection: RunSelection) -> None:
    """Refuse what can't be run, before anything is started or written.

    Raises:
        FabricheckError: for what ``check_names`` refuses, a compiler that is missing, and a
            malformed reference file.
    """
    known = check_names(suite, selection)
    if not known:
        raise FabricheckError(
            f"FC2906 expected an environment of system {selection.system} that is installed, found "
            f"none; {'; '.join(lacking(suite, selection))}: install one of them"
        )
    for name, environment in known.items():
        compiler = environment.get("cxx", "")
        is_wanted = not selection.environments or name in selection.environments
        if is_wanted and compiler and not shutil.which(compiler):
            raise FabricheckError(
                f"FC0409 expected the MPI compiler {compiler} of environment {name}, found none on "
                "PATH: install that MPI, or take the environment out of the site"
            )
    references = path_of(folders("references", suite), selection.system)
    if exists(references):
        load(references)


def check_names(suite: Path, selection: RunSelection) -> dict[str, Any]:
    """Refuse what the suite or the system does not know; the environments of the system, by name.

    Raises:
        FabricheckError: for a system, benchmark, transport, environment or tag that is not known,
            and a transport or number of nodes that the system lacks.
    """
    configuration, system = find_system(suite, selection.system)
    for benchmark in selection.benchmarks:
        find_benchmark(benchmark)
    _check_offered(system, selection)
    for tag in selection.tags:
        if tag not in (*RUNS, *FAMILIES):
            raise FabricheckError(
                f"FC0410 expected a tag of {', '.join(RUNS)}, or a family of benchmarks such as "
                f"{next(iter(FAMILIES))}, found {tag!r}: use one of these"
            )
    wanted = {name for partition in system["partitions"] for name in partition["environs"]}
    environments = {
        each["name"]: each
        for each in configuration["environments"]
        if each["name"] in wanted and system["name"] in each["target_systems"]
    }
    for name in selection.environments:
        if name not in environments:
            left_out = (e for e in lacking_environments(suite, system["name"]) if e["name"] == name)
            why = "".join(f", which is left out, since {why_lacking(each)}" for each in left_out)
            raise FabricheckError(
                f"FC0411 expected an environment of system {selection.system} "
                f"({', '.join(environments)}), found {name!r}{why}: use one of these"
            )
    return environments


def _check_offered(system: dict[str, Any], selection: RunSelection) -> None:
    features = {
        feature for partition in system["partitions"] for feature in partition.get("features", ())
    }
    asked = {f"transport {name!r}": find(name).feature for name in selection.transports}
    asked |= {f"{count} nodes": f"nodes_{count}" for count in selection.nodes}
    for words, feature in asked.items():
        if feature not in features:
            raise FabricheckError(
                f"FC0412 expected what system {system['name']} offers, found {words}, which needs "
                f"the feature '{feature}'; its partitions offer {', '.join(sorted(features))}: "
                "choose another, or add it to the site file"
            )
