"""Real Prometheus tools, a node's recorded ports, and a suite's reports."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from tests.fabric.conftest import unpack
from tests.report import sample as reports

from fabricheck.monitor.catalog import Sample

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "build" / "prometheus" / "bin"


def promtool(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run promtool; a test without it fails, since ci/setup test fetches it."""
    program = TOOLS / "promtool"
    assert program.exists(), f"expected {program}: run ci/setup test"
    return subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True, check=False
    )


def values(samples: Iterable[Sample]) -> dict[str, float]:
    """Values by name and labels, as a query writes them."""
    return {_written(each): each.value for each in samples}


def _written(each: Sample) -> str:
    labels = zip(each.family.labels, each.labels, strict=True)
    told = ",".join(f'{name}="{value}"' for name, value in labels)
    part = f"{each.part} {each.edge}".rstrip()
    return each.family.name + (f"{{{told}}}" if told else "") + part


class Tree:
    """A node's recorded files, which the ports are read from."""

    def __init__(self, name: str, root: Path) -> None:
        self.root = unpack(name, root)

    def set(self, path: str, value: object) -> None:
        """Let a file, or a line ``NAME:`` of ethtool's, hold another value."""
        file, _, name = path.partition("#")
        (found,) = self.root.glob(file)
        if not name:
            found.write_text(f"{value}\n")
            return
        lines = found.read_text().splitlines()
        assert any(line.split(":")[0].strip() == name for line in lines)
        found.write_text(
            "".join(
                f"{name}: {value}\n" if line.split(":")[0].strip() == name else f"{line}\n"
                for line in lines
            )
        )

    def pull(self) -> None:
        """Take the card out."""
        shutil.rmtree(self.root / "sys" / "class" / "infiniband")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Tree]:
    def of(name: str) -> Tree:
        monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "node"))
        return Tree(name, tmp_path / "node")

    return of


class Suite:
    """The reports of a suite."""

    def __init__(self, root: Path) -> None:
        self.reports = root
        self.perflogs = root.parent / "perflogs"

    def night(self, report: reports.Run, *, system: str = "testbed", days: int = 0) -> None:
        """Record a night, so many days after that of the samples."""
        for entry in (*report["cases"], report["end"]):
            time = datetime.fromisoformat(entry["time"]) + timedelta(days=days)
            entry |= {"system": system, "session": "night" + days * "+", "time": time.isoformat()}
        report["end"]["info"]["kind"] = "nightly"
        reports.write(report, self.perflogs)

    def ran(self, number: int = 0, *, report: reports.Run | None = None) -> str:
        """Record a run that is newer than the others, and a night; its session."""
        report = report or reports.report("latency", "allreduce")
        session = f"run{number}"
        for entry in (*report["cases"], report["end"]):
            entry |= {"session": session, "time": f"2026-11-21T06:{number:02}:00+00:00"}
        reports.write(report, self.perflogs)
        return session


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "reports").mkdir()
    return Suite(tmp_path / "reports")


def metrics_of(expression: str) -> set[str]:
    """The metrics that an expression of PromQL asks for.

    Raises:
        ValueError: if it is none.
    """
    found: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.add(node.name)
        for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
            inner = getattr(node, name, None)
            if inner is not None and not isinstance(inner, str):
                walk(inner)
        for inner in getattr(node, "args", None) or ():
            walk(inner)

    walk(promql_parser.parse(expression))
    return found


def query_of(expression: str, shown: str = "3600s") -> str:
    """An expression of the dashboard as Grafana asks it, with all its variables chosen."""
    expression = expression.replace("$__rate_interval", "2m").replace("$__range", shown)
    return re.sub(r"\$\w+", ".*", expression)
