"""``fabricheck explain`` as a user meets it."""

import json
import re

import pytest
from tests.report import layered, sample


@pytest.fixture
def record(tmp_path):
    def write(*red, without=()):
        document = layered.layered()
        for name in red:
            layered.redden(document, name, "openmpi" if name == "latency" else layered.BELOW_MPI)
        return sample.write(layered.drop(document, *without), tmp_path / "perflogs")

    return write


def test_the_layers_stand_side_by_side_with_the_conclusion(fabricheck, record):
    code, out, err = fabricheck(
        "explain", "latency", "openmpi", "rc-2n", "--perflogs", record("latency")
    )
    assert (code, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == "latency openmpi rc-2n on testbed:rdma, nodes n1, n2: critical"
    assert lines[1] == "  latency_p50_64KiB is beyond its critical bound"
    assert re.split(r"  +", lines[3]) == (
        ["layer", "case", "level", "at 8 B", "at 64 KiB", "at 1 MiB"]
    )
    verbs, ucx, mpi, peer = lines[4:8]
    assert verbs.startswith(
        "verbs  ib_send_lat builtin rc-2n  good      6.66 µs (0.333x of 20.0 µs)"
    )
    assert ucx.startswith("UCX    ucx_tag_lat builtin rc-2n  good")
    assert mpi.startswith("MPI    latency openmpi rc-2n      critical")
    assert "40.9 ms (2045x of 20.0 µs) critical" in mpi
    assert peer.startswith("       latency mpich rc-2n        good")
    assert lines[9] == (
        "=> MPI is red; UCX is good on the same path; verbs is good on the same path: so it is the "
        "MPI (4.1.4) or its settings (mpich is good there)"
    )
    assert lines[-1].startswith("record  ")


def test_an_open_question_ends_with_1_and_says_what_to_run(fabricheck, record):
    path = record("latency", without=("ucx_tag_lat", "ucx_tag_bw", "ib_send_lat", "ib_write_bw"))
    code, out, _ = fabricheck("explain", "latency openmpi", "--perflogs", path)
    assert code == 1
    assert [line.split() for line in out.splitlines()[4:6]] == (
        [["verbs", "not", "measured"], ["UCX", "not", "measured"]]
    )
    assert (
        "to know more: fabricheck run --system testbed --benchmark ucx_tag_lat --transport rc\n"
    ) in out


def test_a_contradiction_ends_with_1(fabricheck, record):
    code, out, _ = fabricheck(
        "explain", "latency openmpi", "--perflogs", record("latency", "ib_send_lat")
    )
    assert code == 1
    assert "=> the layers contradict each other: verbs is red, yet UCX, which runs on top" in out


def test_a_good_case_ends_with_0(fabricheck, record):
    code, out, _ = fabricheck("explain", "bw mpich", "--perflogs", record())
    assert code == 0
    assert "=> nothing is wrong: bw mpich rc-2n is good\n" in out


def test_what_was_measured_since_the_night_is_explained(fabricheck, tmp_path):
    night = sample.at(layered.layered(), "night", "2026-11-21T03:00:10+00:00")
    night["end"]["info"]["kind"] = "nightly"
    sample.write(night, tmp_path)
    red = sample.at(layered.layered(), "red", "2026-11-21T09:00:10+00:00")
    layered.redden(red, "bw", "mpich")
    sample.write(layered.drop(red, "latency", "ucx_tag_lat"), tmp_path)
    skipped = sample.at(layered.layered(), "skipped", "2026-11-21T10:00:10+00:00")
    sample.find(skipped, "bw", "mpich", "rc-2n").update(result="skip", **sample.UNMEASURED)
    sample.write(layered.drop(skipped, "latency"), tmp_path)

    def lines(*words):
        return fabricheck("explain", *words, "--perflogs", tmp_path)[1].splitlines()

    first, *_, last = lines("bw", "mpich")
    assert first.endswith("critical")
    assert last.endswith("run red; before: good in night night")
    assert lines("latency", "mpich")[-1].partition(", ")[2].startswith("night night; newer: ")
    assert lines("bw", "mpich", "--session", "night")[0].endswith("good")
    assert json.loads("".join(lines("bw", "mpich", "--json")))["session"] == "red"


def test_a_node_that_stands_out_is_named(fabricheck, tmp_path):
    document = layered.layered()
    for name, environ, nodes in (
        ("latency", "openmpi", ("n2", "n3")),
        ("ucx_tag_lat", layered.BELOW_MPI, ("n3", "n4")),
    ):
        layered.redden(document, name, environ).update(nodes=nodes)
    sample.write(document, tmp_path)
    _, out, _ = fabricheck("explain", "latency openmpi", "--perflogs", tmp_path)
    assert (
        "=> n3 was in each of the 2 red cases of rdma and in no good one: look there first\n" in out
    )


def test_json_has_the_same(fabricheck, record):
    code, out, _ = fabricheck(
        "explain", "latency openmpi", "--perflogs", record("latency"), "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert (found["case"], found["status"]) == ("latency openmpi rc-2n", "critical")
    assert (found["places"], found["settled"]) == (["MPI"], True)
    assert [(layer["layer"], layer["state"]) for layer in found["layers"]] == [
        ("verbs", "good"),
        ("UCX", "good"),
        ("MPI", "red"),
    ]
    value = found["layers"][2]["cases"][0]["values"][0]
    assert (value["variable"], value["unit"], value["reference"]) == ("latency_p50_8B", "us", 20.0)


def test_the_record_is_read_without_option(fabricheck, record, monkeypatch):
    monkeypatch.chdir(record("latency").parent)
    assert fabricheck("explain", "latency openmpi")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("latncy", "openmpi"), "found 'latncy openmpi': near are latency openmpi rc-2n"),
        (("latency",), "'latency', which fits 2: latency mpich rc-2n (partition rdma), latency op"),
        (("latency", "--partition", "x"), "partition x, found 'latency': near are none at all"),
    ],
)
def test_a_name_that_fits_no_single_case_is_one_sentence(fabricheck, record, words, message):
    code, out, err = fabricheck("explain", *words, "--perflogs", record())
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_without_a_record_the_error_says_where_it_looked(fabricheck, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = fabricheck("explain", "latency")
    assert code == 2
    assert "expected a record in perflogs" in err
