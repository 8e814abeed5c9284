"""Which references and tolerance a case gets from a file that is right."""

import math

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.judge.reference_file import load
from fabricheck.judge.references import CaseKey, Reference, resolve

GOOD = """\
MpiPointToPoint:
  $index: [$system, $environ, benchmark, placement]
  testbed:
    (openmpi|mpich):
      latency:
        tcp-2n: &tcp {latency_p50_1B: [20, -0.95, 25.0, us], latency_p50_2B: [21, null, 1, us]}
        shm-1n:
          latency_p50_1B: ["$xfail", "bug 123", [0.5, -0.9, 3.0, us]]
      (bw|bibw):
        tcp-.*: {bandwidth_avg_1MiB: [900, -0.5, null, MB/s]}
    other:
      latency:
        tcp-2n: &other
          <<: *tcp
          latency_p50_2B: [40, null, 1, us]
        tcp-4n: *other
MpiPointToPoint.levels:
  $index: [$system, benchmark, transport]
  testbed:
    latency:
      .*: {warning: [null, 0.9], kind: bound, source: "a bound", date: 2026-11-21, monotone: 1.0}
    .*:
      tcp: {warning: [-0.2, null], kind: measured, source: "ten runs", date: "2026-01-02"}
MpiCollective:
  $index: [$partition, num_nodes, transport, benchmark]
  testbed:compute:
    2: {tcp: {barrier: {latency_avg: [30, null, 2, us]}}}
    4: {tcp: {allreduce: {latency_p99_1KiB: [0, 0, 50, us]}}}
MpiCollective.levels:
  $index: [benchmark]
  .*: {warning: [null, null], kind: vendor, source: "data sheet", date: 2026-11-21}
TransportOrder:
  $index: [placement]
  tcp-2n: {shm_faster_8B: [1, 0, null, ratio]}
TransportOrder.levels:
  $index: [placement]
  .*: {warning: [null, null], kind: ratio, source: "one run", date: 2026-11-21}
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "testbed.yaml"
    file.write_text(GOOD)
    return file


def key(benchmark="latency", placement="tcp-2n", environ="openmpi", system="testbed"):
    return CaseKey(system, f"{system}:compute", environ, benchmark, placement)


def test_references_and_tolerance_of_a_case(path):
    references, tolerance = resolve(path, "MpiPointToPoint", key())
    assert references == {
        "latency_p50_1B": Reference(20, -0.95, 25.0, "us"),
        "latency_p50_2B": Reference(21, None, 1, "us"),
    }
    assert tolerance.warning == (None, 0.9)
    assert (tolerance.kind, tolerance.source, tolerance.date) == ("bound", "a bound", "2026-11-21")
    assert tolerance.monotone == 1.0


def test_keys_are_anchored_regular_expressions(path):
    references, tolerance = resolve(path, "MpiPointToPoint", key("bibw", "tcp-16n", "mpich"))
    assert references == {"bandwidth_avg_1MiB": Reference(900, -0.5, None, "MB/s")}
    assert (tolerance.kind, tolerance.date, tolerance.monotone) == ("measured", "2026-01-02", None)
    assert resolve(path, "MpiPointToPoint", key(environ="openmpi5"))[0] == {}


def test_expected_failures_keep_their_reason(path):
    references, _ = resolve(path, "MpiPointToPoint", key(placement="shm-1n"))
    assert references["latency_p50_1B"] == Reference(0.5, -0.9, 3.0, "us", "bug 123")


@pytest.mark.parametrize("placement", ["tcp-2n", "tcp-4n"])
def test_merged_mappings_are_overridden_as_in_yaml(path, placement):
    references, _ = resolve(path, "MpiPointToPoint", key(environ="other", placement=placement))
    assert references["latency_p50_1B"].value == 20
    assert references["latency_p50_2B"].value == 40


def test_nodes_and_partition_are_index_names(path):
    assert set(resolve(path, "MpiCollective", key("barrier"))[0]) == {"latency_avg"}
    assert set(resolve(path, "MpiCollective", key("allreduce", "tcp-4n"))[0]) == {
        "latency_p99_1KiB"
    }
    assert resolve(path, "MpiCollective", key("barrier", "tcp-4n"))[0] == {}


def test_checks_without_a_curve_name_their_variables_freely(path):
    references, tolerance = resolve(path, "TransportOrder", key("transport_order"))
    assert references == {"shm_faster_8B": Reference(1, 0, None, "ratio")}
    assert tolerance.kind == "ratio"


@pytest.mark.parametrize(
    "unmatched", [key(system="elsewhere"), key(placement="ud-2n"), key(environ="mvapich2")]
)
def test_a_case_without_entry_has_no_references(path, unmatched):
    assert resolve(path, "MpiPointToPoint", unmatched)[0] == {}


def test_a_file_without_the_check_has_no_references(tmp_path):
    file = tmp_path / "one.yaml"
    file.write_text(GOOD[: GOOD.index("MpiCollective:")])
    assert resolve(file, "MpiCollective", key("barrier")) == ({}, None)


def test_a_changed_file_is_read_again(path):
    resolve(path, "MpiPointToPoint", key())
    path.write_text(GOOD.replace("[20, -0.95, 25.0, us]", "[222, -0.95, 25.0, us]"))
    assert resolve(path, "MpiPointToPoint", key())[0]["latency_p50_1B"].value == 222


def test_reframe_gets_the_same_references_from_the_file(path):
    import reframe.core.pipeline as rfm  # noqa: PLC0415

    # The reader of $ref behind RegressionTest.reference; without it the contract can't be tested.
    class MpiPointToPoint(rfm.RegressionTestPlugin):
        pass

    external = rfm._ReferenceDict({"$ref": str(path)}, test=None)
    external._ReferenceDict__test_entry_name = "MpiPointToPoint"
    raw = external._read_ref_file(str(path))
    entry = raw["testbed"]["(openmpi|mpich)"]["latency"]["tcp-2n"]
    references, _ = resolve(path, "MpiPointToPoint", key())
    assert entry == {n: (r.value, r.lower, r.upper, r.unit) for n, r in references.items()}
    assert raw["$index"] == load(path).references["MpiPointToPoint"].index


@pytest.mark.parametrize("value", [0, 0.5, 20, 9000.25])
@pytest.mark.parametrize(("lower", "upper"), [(-0.95, 25.0), (None, 0.1), (-1, None), (0, 0)])
def test_bounds_are_those_of_reframe(value, lower, upper):
    from reframe.utility.sanity import reference_bounds  # noqa: PLC0415

    ours = Reference(value, lower, upper, "us").bounds()
    for mine, theirs in zip(ours, reference_bounds(value, lower, upper), strict=True):
        if mine is None:
            assert theirs is None or math.isinf(theirs)
        else:
            assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("placement", ["tcp", "tcp-0n", "tcp-2", "-2n", "tcp-2n\n", "tcp-2N", ""])
def test_placements_have_one_form(placement):
    with pytest.raises(FabricheckError, match="expected a placement such as tcp-2n"):
        key(placement=placement)


def test_placement_gives_transport_and_nodes():
    assert (key(placement="shm-1n").transport, key(placement="tcp-16n").num_nodes) == ("shm", 16)


def test_unknown_check_and_foreign_benchmark(path):
    with pytest.raises(FabricheckError, match="unknown check 'MpiPt2pt': known are MpiPointTo"):
        resolve(path, "MpiPt2pt", key())
    with pytest.raises(FabricheckError, match="unknown benchmark 'latncy'"):
        resolve(path, "MpiPointToPoint", key("latncy"))
    with pytest.raises(FabricheckError, match="judges pt2pt benchmarks, found barrier"):
        resolve(path, "MpiPointToPoint", key("barrier"))
