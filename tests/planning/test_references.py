"""Every reference of a system with its limits and source, also below patterns."""

from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.planning.plan_text import reference_lines
from fabricheck.planning.references import ReferenceRow, rows
from fabricheck.provenance import SUITE

SITE = """\
systems:
  - name: hpc
    hostnames: [x]
    partitions:
      - {name: cpu, scheduler: local, launcher: local, environs: [gnu], features: [rdma, nodes_2]}
environments:
  - {name: gnu, target_systems: [hpc]}
"""
REFERENCES = """\
rules:
- for: {check: MpiPointToPoint, benchmark: (bw|bibw), transport: (rc|ud)}
  value: {bandwidth_avg_1MiB: 1000}
  bound: [-0.1, null]
  warning: [-0.05, null]
  kind: vendor
  source: data sheet
  date: 2026-11-21
- for: {check: MpiPointToPoint, benchmark: latency, placement: rc-2n}
  value: {latency_p50_1B: 2}
  band: {latency_p50_1B: [3, 4]}
  target: {latency_p50_1B: 2.5}
  known_failure: {latency_p50_1B: ticket 7}
  kind: paper
  source: table 1
  date: 2026-11-20
"""
MEASURED = """\
measured:
- case: {check: MpiPointToPoint, partition: cpu, environ: gnu, benchmark: latency, placement: ud-2n}
  warning: 0.5
  samples: 40
  source: nights
  date: 2026-10-10
  expired: newer card
  values: {latency_p50_1B: [4, -0.5, 0.5]}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name, text in (("sites", SITE), ("references", REFERENCES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hpc.yaml").write_text(text)
    (tmp_path / "references" / "hpc.measured.yaml").write_text(MEASURED)
    return tmp_path


def test_every_reference_has_limits_source_and_date(suite: Path) -> None:
    bandwidth, latency, measured = rows(suite, "hpc")
    assert bandwidth == ReferenceRow(
        check="MpiPointToPoint",
        keys={"benchmark": "(bw|bibw)", "transport": "(rc|ud)"},
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
    assert (latency.good, latency.critical, latency.target) == ((None, 3), (None, 4), 2.5)
    assert latency.note == "known failure: ticket 7"
    assert (measured.kind, measured.good, measured.note) == (
        "measured",
        (3, 5),
        "expired: newer card",
    )


def test_the_table_names_each_source_once(suite: Path) -> None:
    lines = list(reference_lines(rows(suite, "hpc")))
    assert "950.." in lines[1]
    assert lines[-3:] == [
        "1: vendor, data sheet, 2026-11-21",
        "2: paper, table 1, 2026-11-20",
        "3: measured, nights, 2026-10-10",
    ]


def test_rules_that_fit_no_case_are_named(suite: Path) -> None:
    path = suite / "references" / "hpc.yaml"
    path.write_text(REFERENCES.replace("rc-2n", "rc-16n"))
    with refused("FC0102", r"line 9: .*no case of this system can have these"):
        rows(suite, "hpc")


def test_a_system_without_file_is_named(suite: Path) -> None:
    with refused("FC0303", "there are some of hpc: use one"):
        rows(suite, "other")


@pytest.mark.parametrize(
    "system",
    ["ib-2x16", "local", "optireduce-8n", "roce25g-8n", "seren-10n", "testbed", "thor2-2n"],
)
def test_the_shipped_references_are_listed(system: str) -> None:
    found = rows(SUITE, system)
    assert found
    assert all(row.source and row.date and row.unit for row in found)
