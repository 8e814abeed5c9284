"""Every reference of a system with its limits and source, also below patterns."""

from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.planning.references import Row, rows
from fabricheck.planning.show import reference_lines
from fabricheck.provenance import SUITE

SITE = """\
systems:
  - name: hpc
    hostnames: [x]
    partitions:
      - {name: cpu, scheduler: local, launcher: local, environs: [gnu], features: [rdma, nodes-2]}
environments:
  - {name: gnu, target_systems: [hpc]}
"""
REFERENCES = """\
MpiPointToPoint:
  $index: [$system, benchmark, transport]
  hpc:
    (bw|bibw):
      (rc|ud): {bandwidth_avg_1MiB: [1000, -0.1, null, MB/s]}
    latency:
      rc: {latency_p50_1B: ["$xfail", "ticket 7", [2, null, 1, us]]}
MpiPointToPoint.levels:
  $index: [placement, benchmark]
  rc-2n:
    bw: {warning: [-0.05, null], kind: vendor, source: data sheet, date: 2026-11-21}
    latency:
      warning: [null, null]
      good: {latency_p50_1B: 3}
      kind: paper
      source: table 1
      date: 2026-11-20
      expired: newer card
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name, text in (("sites", SITE), ("references", REFERENCES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hpc.yaml").write_text(text)
    return tmp_path


def test_every_reference_has_limits_source_and_date(suite: Path) -> None:
    bandwidth, latency = rows(suite, "hpc")
    assert bandwidth == Row(
        check="MpiPointToPoint",
        keys={"$system": "hpc", "benchmark": "(bw|bibw)", "transport": "(rc|ud)"},
        variable="bandwidth_avg_1MiB",
        value=1000,
        unit="MB/s",
        good=(950.0, None),
        target=None,
        critical=(900.0, None),
        kind="vendor",
        source="data sheet",
        date="2026-11-21",
        note="",
    )
    assert (latency.good, latency.critical) == ((None, 3), (None, 4))
    assert latency.note == "known failure: ticket 7; expired: newer card"


def test_the_table_names_each_source_once(suite: Path) -> None:
    lines = list(reference_lines(rows(suite, "hpc")))
    assert "950.." in lines[1]
    assert lines[-2:] == ["1: vendor, data sheet, 2026-11-21", "2: paper, table 1, 2026-11-20"]


def test_references_without_levels_are_named(suite: Path) -> None:
    path = suite / "references" / "hpc.yaml"
    path.write_text(
        REFERENCES.replace("    latency:\n      warning", "    latency_mt:\n      warning")
    )
    with pytest.raises(FabricheckError, match=r"expected an entry of MpiPointToPoint\.levels"):
        rows(suite, "hpc")


def test_a_system_without_file_is_named(suite: Path) -> None:
    with pytest.raises(FabricheckError, match="there are some of hpc: use one"):
        rows(suite, "other")


@pytest.mark.parametrize(
    "path", sorted((SUITE / "references").glob("*.yaml")), ids=lambda p: p.stem
)
def test_the_shipped_references_are_listed(path: Path) -> None:
    found = rows(SUITE, path.stem)
    assert found
    assert all(row.source and row.date and row.unit for row in found)
