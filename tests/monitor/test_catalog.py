"""The table of metrics: conforming names, a closed list of older ones, and a page that tells it."""

import re
import subprocess
import sys

import pytest
from tests.monitor.conftest import ROOT, promtool

from fabricheck.fabric import counters
from fabricheck.fabric.counters import Role
from fabricheck.monitor.catalog import (
    CATALOG,
    FAMILIES,
    ROLES,
    UNITS,
    Family,
    MetricKind,
    Sample,
    sample,
)
from fabricheck.monitor.exposition import OPENMETRICS, PLAIN, choose, render, takes_gzip

pytestmark = pytest.mark.integration

OURS = [family for family in CATALOG if not family.same_as]
OLDER = [family for family in CATALOG if family.same_as]


def one_of(family: Family) -> Sample:
    part = "_bucket" if family.kind is MetricKind.HISTOGRAM else ""
    return Sample(family, family.labels, 1.0, part, "+Inf" if part else "")


def complaints(families: list[Family]) -> set[str]:
    text = render(map(one_of, families))[PLAIN].decode()
    return set(promtool("check", "metrics", text=text).stderr.splitlines())


@pytest.mark.parametrize("family", OURS, ids=lambda family: family.name)
def test_a_name_tells_type_and_unit(family: Family) -> None:
    assert family.name.startswith("fabricheck_")
    assert family.name.endswith("_total") == (family.kind is MetricKind.COUNTER)
    base = family.name.removesuffix("_total")
    assert family.unit in ("", "packets", "frames") or base.endswith(f"_{UNITS[family.unit]}")
    assert family.meaning.endswith(".")


def test_names_are_given_once_and_the_older_ones_are_these() -> None:
    assert len(FAMILIES) == len(CATALOG)
    assert {family.name: family.same_as for family in OLDER} == {
        "mpi_benchmark_success": "fabricheck_verdict_passed",
        "mpi_benchmark_last_run_timestamp": "fabricheck_run_timestamp_seconds",
        **{
            f"mpi_{each}_latency_us": "fabricheck_stress_latency_seconds"
            for each in ("allreduce", "broadcast", "alltoall", "allgather", "reduce")
        },
        "mpi_stress_test_running": "fabricheck_stress_running",
        "mpi_stress_test_iteration": "fabricheck_stress_iterations_total",
        "mpi_benchmark_last_update_timestamp": "fabricheck_stress_last_block_timestamp_seconds",
        "rdma_ecn_marked_packets": "fabricheck_port_ecn_marked_packets_total",
        "rdma_cnp_sent": "fabricheck_port_cnp_sent_packets_total",
        "rdma_cnp_handled": "fabricheck_port_cnp_handled_packets_total",
    }
    assert {family.same_as for family in OLDER} <= FAMILIES.keys()


def test_prometheus_has_no_complaint_about_ours_and_none_but_one_about_the_older() -> None:
    assert complaints(OURS) == set()
    assert complaints(OLDER) <= {
        f"{family.name} metric names should not contain abbreviated units" for family in OLDER
    }


def test_every_role_of_a_counter_has_a_place_with_the_right_labels() -> None:
    assert ROLES.keys() == set(Role)
    assert {
        (row.driver, row.name): row.role for row in counters.TABLE if row.role
    } == counters.ROLES
    for family, labels, _ in ROLES.values():
        more = 1 if labels else 0
        assert len(FAMILIES[family].labels) == 3 + len(labels) + more


def test_both_formats_are_rendered_and_chosen() -> None:
    pages = render(map(one_of, CATALOG))
    assert pages[OPENMETRICS].endswith(b"# EOF\n")
    assert PLAIN.startswith("text/plain; version=0.0.4")
    assert pages.keys() == {OPENMETRICS, PLAIN}
    assert b"# UNIT fabricheck_port_sent_bytes bytes\n" in pages[OPENMETRICS]


PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (PROMETHEUS, OPENMETRICS),
        ("application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1", OPENMETRICS),
        ('application/openmetrics-text; version="1.0.0"', OPENMETRICS),
        ("Application/OpenMetrics-Text", OPENMETRICS),
        ("application/openmetrics-text;version=0.0.1", PLAIN),
        ("application/openmetrics-text;version=1.0.0;q=0", PLAIN),
        ("application/openmetrics-text;q=0.3,text/plain;q=0.5", PLAIN),
        ("application/openmetrics-text;q=much", PLAIN),
        ("text/html", PLAIN),
        (";;,,=;q", PLAIN),
        ("", PLAIN),
    ],
)
def test_the_format_is_what_a_client_likes_best(accept: str, kind: str) -> None:
    assert choose(accept) == kind


@pytest.mark.parametrize(
    ("header", "takes"),
    [("gzip", True), ("deflate, GZIP;q=0.5", True), ("*", True), ("gzip;q=0", False),
     ("*;q=1,gzip;q=0", False), ("identity", False), ("", False)],
)  # fmt: skip
def test_gzip_is_for_who_takes_it(header: str, takes: bool) -> None:
    assert takes_gzip(header) == takes


@pytest.mark.parametrize(
    "bad",
    [
        [*sample("fabricheck_port_active", 1, "n", "d", "1")] * 2,
        [*sample("fabricheck_port_active", 1, "n", "d")],
        [*sample("fabricheck_port_active", float("nan"), "n", "d", "1")],
    ],
)
def test_what_prometheus_would_refuse_is_never_served(bad: list[Sample]) -> None:
    with pytest.raises(ValueError, match="fabricheck_port_active"):
        render(bad)


def test_the_page_is_that_of_the_code() -> None:
    script = ROOT / "ci" / "document-metrics.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    text = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` ", text, re.MULTILINE)) >= FAMILIES.keys()
