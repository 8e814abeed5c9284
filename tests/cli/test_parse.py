"""``fabricheck parse`` as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
PROBE = DATA / "mpi_probe"
OSU = DATA / "osu-7.4"


def test_shows_a_table(fabricheck):
    code, out, err = fabricheck("parse", PROBE / "allreduce.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "allreduce of mpi_probe 0.1.0, MPI_FLOAT"
    assert "hosts: n1 n2 n3 n4" in lines
    assert "latency p99 (us)" in out
    assert lines[-2].split()[0] == "64KiB"
    assert lines[-2].split()[-1] == "valid"
    assert lines[-1] == "15 sizes 4B..64KiB, complete"


def test_json_has_sizes_columns_units_and_validation(fabricheck):
    code, out, _ = fabricheck("parse", OSU / "openmpi.lat_valid.txt", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["benchmark"], data["program"], data["version"]) == ("latency", "osu", "7.4")
    assert data["units"] == {"latency": "us"}
    assert data["columns"] == ["latency_avg"]
    assert data["points"][0] == {
        "size": 4,
        "values": {"latency_avg": 0.2},
        "iterations": None,
        "valid": True,
    }
    assert data["complete"] is None


def test_standard_input_and_expected_sizes(fabricheck):
    data = (OSU / "openmpi.bw.txt").read_bytes()
    code, out, _ = fabricheck("parse", "-", "--expect", "1:4MiB", "--json", stdin=data)
    assert (code, json.loads(out)["complete"]) == (0, True)
    code, out, err = fabricheck("parse", "-", "--expect", "1:8MiB", stdin=data)
    assert (code, out) == (2, "")
    assert err.startswith("fabricheck: standard input: expected 24 message sizes, but 8MiB is")


def test_reads_what_ucx_perftest_printed(fabricheck):
    path = DATA / "ucx-1.13.1" / "rc.tag_lat.csv"
    code, out, _ = fabricheck("parse", path)
    assert code == 0
    assert out.splitlines()[0] == "ucx_tag_lat of ucx_perftest"
    assert out.splitlines()[-1] == (
        "21 sizes 1B..1MiB, completeness not checked: ucx_perftest marks no end, give --expect "
        "MIN:MAX"
    )
    code, out, _ = fabricheck("parse", path, "--expect", "1:1MiB", "--json")
    assert (code, json.loads(out)["complete"]) == (0, True)
    code, _, err = fabricheck("parse", path, "--expect", "1:2MiB")
    assert code == 2
    assert "2MiB is missing" in err


@pytest.mark.parametrize(
    "name", ["rdma_batch/write.two.json", "rdma_stream/t6.json", "perftest-4.5/write_bw.rc.all.txt"]
)
def test_what_marks_its_end_is_complete(fabricheck, name):
    code, out, _ = fabricheck("parse", DATA / name)
    assert (code, out.splitlines()[-1].endswith(", complete")) == (0, True)


def test_unchecked_completeness_is_said(fabricheck):
    _, out, _ = fabricheck("parse", OSU / "openmpi.bw.txt")
    assert out.splitlines()[-1].endswith(
        "completeness not checked: OSU marks no end, give --expect MIN:MAX"
    )
    code, out, _ = fabricheck("parse", OSU / "openmpi.barrier.txt", "--json")
    assert (code, json.loads(out)["complete"]) == (0, True)


@pytest.mark.parametrize("expect", ["4MiB", "1:x", "1:4MB", "4:1", ":", "-1:4"])
def test_expectations_that_make_no_sense(fabricheck, expect):
    code, out, err = fabricheck("parse", OSU / "openmpi.bw.txt", f"--expect={expect}")
    assert (code, out) == (2, "")
    assert err.startswith("fabricheck: expected")


def test_a_barrier_has_no_sizes_to_expect(fabricheck):
    code, _, err = fabricheck("parse", OSU / "openmpi.barrier.txt", "--expect", "1:8")
    assert code == 2
    assert "barrier has no message sizes" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found nothing"),
        (b"\xff\xfe", "expected UTF-8 text"),
        ((PROBE / "latency.json").read_bytes()[:-21], "the file is cut"),
        ((OSU / "openmpi.allreduce_valid.txt").read_bytes(), "data validation failed"),
    ],
)
def test_bad_output_is_one_sentence(fabricheck, tmp_path, content, message):
    path = tmp_path / "job.out"
    path.write_bytes(content)
    code, out, err = fabricheck("parse", path, "--json")
    assert (code, out) == (2, "")
    assert err.startswith(f"fabricheck: {path}: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_missing_file_is_one_sentence(fabricheck, tmp_path):
    code, _, err = fabricheck("parse", tmp_path / "absent")
    assert code == 2
    assert "No such file or directory" in err


@pytest.mark.integration
def test_parsing_does_not_wait_for_reframe():
    program = (
        "import sys; from fabricheck.cli import main; sys.argv[1:] = sys.argv[1:]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'fabricheck.measures.parser' in sys.modules\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('reframe', 'yaml', 'bokeh')],"
        " file=sys.stderr)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, "parse", str(PROBE / "bw.json"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stderr.strip() == "[]"


def test_reads_what_perftest_printed_in_one_run_and_in_several(fabricheck):
    folder = DATA / "perftest-4.5"
    code, out, _ = fabricheck("parse", folder / "write_bw.rc.all.txt", "--expect", "2:8MiB")
    assert code == 0
    assert out.startswith("ib_write_bw of perftest\n")
    assert "Connection type: RC\n" in out
    assert "23 sizes 2B..8MiB" in out
    code, out, err = fabricheck("parse", folder / "write_lat.rc.sizes.txt")
    assert (code, err) == (0, "")
    assert "completeness not checked: perftest does not print its sizes, give --expect" in out


def test_a_title_of_several_programs_is_read_with_the_name_of_the_one(fabricheck):
    file = OSU / "families" / "bw_fan_in.txt"
    code, out, _ = fabricheck("parse", file, "--benchmark", "bw_fan_in", "--json")
    assert (code, json.loads(out)["benchmark"]) == (0, "bw_fan_in")
    code, _, err = fabricheck("parse", file)
    assert (code, "expected columns for average bandwidth" in err) == (2, True)
    code, _, err = fabricheck("parse", OSU / "openmpi.lat.txt", "--benchmark", "bw")
    assert (code, "expected bw, found latency in its title" in err) == (2, True)
    code, _, err = fabricheck("parse", file, "--benchmark", "fan_in")
    assert (code, "unknown benchmark 'fan_in'" in err) == (2, True)
