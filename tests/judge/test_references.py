"""Which references a case gets from files that are right, and what they rest on."""

import math

import pytest
import yaml
from tests.refusals import refused

from fabricheck.judge.reference_file import written
from fabricheck.judge.references import CaseKey, Reference, resolve

GOOD = """\
rules:
- for: {check: MpiPointToPoint, environ: openmpi|mpich, benchmark: latency, placement: tcp-2n}
  value: {latency_p50_1B: 20, latency_p50_2B: 21}
  bound: {latency_p50_1B: [-0.95, 25.0]}
- for: {check: MpiPointToPoint, environ: openmpi|mpich, benchmark: latency, placement: shm-1n}
  value: {latency_p50_1B: 0.5}
  known_failure: {latency_p50: bug 123}
- for: {check: MpiPointToPoint, benchmark: (bw|bibw), placement: tcp-.*, environ: openmpi|mpich}
  value: {bandwidth: {1MiB: 900, 2MiB: 901}}
  bound: [-0.5, null]
  warning: 0.4
  kind: measured
  source: ten runs
  date: 2026-01-02
- for: {check: MpiPointToPoint, benchmark: latency}
  bound: [null, 1]
  warning: {latency_p50: [null, 0.9]}
  shape: {monotone: 1.0}
  kind: bound
  source: a bound
  date: 2026-11-21
- for: {check: MpiPointToPoint, metric: latency, nodes: 2}
  shape: {best: 7, monotone: 9}
- for: {check: MpiCollective, partition: compute, nodes: 2, transport: tcp, benchmark: barrier}
  value: {latency: 30}
- for: {check: MpiCollective, nodes: 4, benchmark: allreduce}
  value: {latency_p99_1KiB: 0}
  bound: [0, 50]
- for: {check: TransportOrder, placement: tcp-2n}
  value: {ratio_p50_8B: 1}
  bound: [0, null]
  unit: ratio
- bound: [null, 2]
  warning: [null, null]
  kind: vendor
  source: data sheet
  date: 2026-11-21
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "testbed.yaml"
    file.write_text(GOOD)
    return file


def key(benchmark="latency", placement="tcp-2n", environ="openmpi", system="testbed"):
    return CaseKey(system, f"{system}:compute", environ, benchmark, placement)


def named(*case):
    references, tolerance = resolve(*case)
    return {str(variable): reference for variable, reference in references.items()}, tolerance


def test_the_first_rule_that_says_something_holds(path):
    references, tolerance = named(path, "MpiPointToPoint", key())
    assert references == {
        "latency_p50_1B": Reference(20, -0.95, 25.0, "us", warning=(None, 0.9)),
        "latency_p50_2B": Reference(21, None, 1, "us", warning=(None, 0.9)),
    }
    assert (tolerance.kind, tolerance.source, tolerance.date) == ("bound", "a bound", "2026-11-21")
    assert (tolerance.monotone, tolerance.best) == (1.0, 7)


def test_patterns_fit_the_whole_field_and_a_metric_stands_for_its_statistics(path):
    references, tolerance = named(path, "MpiPointToPoint", key("bibw", "tcp-16n", "mpich"))
    assert references == {
        f"bandwidth_avg_{size}": Reference(value, -0.5, None, "MB/s", warning=(-0.2, None))
        for size, value in (("1MiB", 900), ("2MiB", 901))
    }
    assert (tolerance.kind, tolerance.date, tolerance.monotone) == ("measured", "2026-01-02", None)
    assert named(path, "MpiPointToPoint", key(environ="openmpi5")) == ({}, None)


def test_known_failures_keep_their_reason(path):
    references, _ = named(path, "MpiPointToPoint", key(placement="shm-1n"))
    assert references["latency_p50_1B"].expected_failure == "bug 123"


def test_nodes_partition_and_transport_are_fields(path):
    barrier, _ = named(path, "MpiCollective", key("barrier"))
    assert set(barrier) == {"latency_avg", "latency_p50", "latency_p99", "latency_max"}
    reduced, _ = named(path, "MpiCollective", key("allreduce", "tcp-4n"))
    assert reduced == {"latency_p99_1KiB": Reference(0, 0, 50, "us")}
    assert named(path, "MpiCollective", key("barrier", "tcp-4n")) == ({}, None)


def test_checks_without_a_curve_name_the_unit_of_their_values(path):
    references, tolerance = named(path, "TransportOrder", key("transport_order"))
    assert references == {"ratio_p50_8B": Reference(1, 0, None, "ratio")}
    assert tolerance.kind == "vendor"


MEASURED = {
    "best": [
        {
            "check": "MpiPointToPoint",
            "benchmark": "latency",
            "placement": "ud-2n",
            "value": {"latency": {"1B": 9.0, "2B": 9.5}},
        }
    ],
    "measured": [
        {
            "case": {
                "check": "MpiPointToPoint",
                "partition": "compute",
                "environ": "openmpi",
                "benchmark": "latency",
                "placement": "tcp-2n",
            },
            "warning": 0.5,
            "samples": 40,
            "source": "nights",
            "date": yaml.safe_load("2026-10-10"),
            "values": {"latency_p50_2B": [19.0, -0.2, 0.1]},
        }
    ],
}


def test_measured_references_go_before_rules_and_best_values_after(path):
    path.with_name("testbed.measured.yaml").write_text(written(MEASURED))
    references, tolerance = named(path, "MpiPointToPoint", key())
    assert references["latency_p50_2B"] == Reference(19, -0.2, 0.1, "us", warning=(-0.1, 0.05))
    assert references["latency_p50_1B"].value == 20
    assert (tolerance.kind, tolerance.samples, tolerance.monotone) == ("measured", 40, 1.0)
    assert "19" not in str(named(path, "MpiPointToPoint", key(environ="mpich")))
    path.write_text(GOOD.replace("warning: {latency_p50: ", "warning: {latency: "))
    best, tolerance = named(path, "MpiPointToPoint", key(placement="ud-2n"))
    assert len(best) == 8
    assert best["latency_max_2B"] == Reference(9.5, None, 1, "us", warning=(None, 0.9))
    assert tolerance.kind == "bound"


def test_measured_references_need_no_rules(tmp_path):
    path = tmp_path / "testbed.yaml"
    path.with_name("testbed.measured.yaml").write_text(written({"measured": MEASURED["measured"]}))
    assert set(named(path, "MpiPointToPoint", key())[0]) == {"latency_p50_2B"}


@pytest.mark.parametrize("unmatched", [key(placement="ud-2n"), key(environ="mvapich2")])
def test_a_case_without_value_has_no_references(path, unmatched):
    assert named(path, "MpiPointToPoint", unmatched) == ({}, None)


def test_a_changed_file_is_read_again(path):
    named(path, "MpiPointToPoint", key())
    path.write_text(GOOD.replace("latency_p50_1B: 20", "latency_p50_1B: 222"))
    assert named(path, "MpiPointToPoint", key())[0]["latency_p50_1B"].value == 222


def test_a_file_is_parsed_once_for_all_cases(path, monkeypatch):
    from fabricheck.judge import reference_file

    parsed = []
    read = reference_file.load_document
    monkeypatch.setattr(
        reference_file, "load_document", lambda *given: parsed.append(given[0]) or read(*given)
    )
    for environ in ("openmpi", "mpich", "mvapich2"):
        named(path, "MpiPointToPoint", key(environ=environ))
    assert parsed == [path]


@pytest.mark.parametrize("value", [0, 0.5, 20, 9000.25])
@pytest.mark.parametrize(("lower", "upper"), [(-0.95, 25.0), (None, 0.1), (-1, None), (0, 0)])
def test_bounds_are_those_of_reframe(value, lower, upper):
    from reframe.utility.sanity import reference_bounds

    ours = Reference(value, lower, upper, "us").bounds()
    for mine, theirs in zip(ours, reference_bounds(value, lower, upper), strict=True):
        if mine is None:
            assert theirs is None or math.isinf(theirs)
        else:
            assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("placement", ["tcp", "tcp-0n", "tcp-2", "-2n", "tcp-2n\n", "tcp-2N", ""])
def test_placements_have_one_form(placement):
    with refused("FC1005"):
        key(placement=placement)


def test_placement_gives_transport_and_nodes():
    assert (key(placement="shm-1n").transport, key(placement="tcp-16n").num_nodes) == ("shm", 16)


def test_unknown_check_and_foreign_benchmark(path):
    with refused("FC0805", "unknown check 'MpiPt2pt': known are MpiPointTo"):
        named(path, "MpiPt2pt", key())
    with refused("FC1119", "unknown benchmark 'latncy'"):
        named(path, "MpiPointToPoint", key("latncy"))
    with refused("FC0806", "judges pt2pt benchmarks, found barrier"):
        named(path, "MpiPointToPoint", key("barrier"))


RULES_OF_PORTS = """\
rules:
- for: {check: VerbsPerftest, benchmark: ib_write_bw, placement: rc-2n, port: mlx5_1:1}
  value: {bandwidth_avg_1MiB: 50}
- for: {check: VerbsPerftest, benchmark: ib_write_bw, placement: rc-2n}
  value: {bandwidth_avg_1MiB: 100}
- {bound: [-0.5, null], warning: 0.5, kind: bound, source: x, date: 2026-11-21}
"""
OF_PORT = """\
measured:
- case:
    {check: VerbsPerftest, partition: cpu, environ: builtin, benchmark: ib_write_bw, placement: %s}
  source: nights
  date: 2026-11-21
  samples: 9
  warning: 0.5
  values:
    bandwidth_avg_1MiB: [77, -0.5, null]
"""


def of_port(path, port):
    key = CaseKey("hpc", "hpc:cpu", "builtin", "ib_write_bw", f"rc-2n{port}")
    found = resolve(path, "VerbsPerftest", key)[0]
    return {str(name): each.value for name, each in found.items()}


def test_a_rule_holds_for_each_port_and_may_name_one(tmp_path):
    path = tmp_path / "hpc.yaml"
    path.write_text(RULES_OF_PORTS)
    values = [of_port(path, port)["bandwidth_avg_1MiB"] for port in ("", "@mlx5_0:1", "@mlx5_1:1")]
    assert values == [100, 100, 50]


def test_a_measured_value_is_of_one_port_and_another_has_none(tmp_path):
    path = tmp_path / "hpc.yaml"
    for placement, known in (("rc-2n", ""), ("rc-2n@mlx5_0:1", "@mlx5_0:1")):
        path.with_name("hpc.measured.yaml").write_text(OF_PORT % placement)
        found = {port: of_port(path, port) for port in ("", "@mlx5_0:1", "@mlx5_1:1")}
        assert [port for port, values in found.items() if values] == [known]
