"""``fabricheck judge`` as a user meets it."""

import json
from functools import partial
from pathlib import Path

import pytest

from fabricheck.measures.registry import FAMILIES, REGISTRY

DATA = Path(__file__).parents[1] / "data"
REFERENCES = DATA.parents[1] / "references"
LATENCY = DATA / "mpi_probe" / "latency.json"
BARRIER = DATA / "mpi_probe" / "barrier.json"

SIZES = [f"{1 << n}B" for n in range(10)] + [f"{1 << n}KiB" for n in range(10)] + ["1MiB"]
CASE = ("--system", "testbed:compute", "--environ", "openmpi", "--placement", "tcp-2n")


def reference_file(tmp_path, p50=(100, "[-0.95, 50.0]"), warning=49.0, sizes=tuple(SIZES)):
    path = tmp_path / "testbed.yaml"
    value, bound = p50
    values = "".join(f"    latency_p50_{size}: {value}\n" for size in sizes)
    others = ", ".join(f"{size}: 100" for size in sizes)
    path.write_text(
        "rules:\n"
        "- for: {check: MpiPointToPoint, partition: compute, placement: tcp-2n}\n"
        f"  value:\n{values}"
        f"    latency_avg: {{{others}}}\n"
        f"    latency_p99: {{{others}}}\n"
        f"  bound: {{latency_p50: {bound}, .*: [-1, 99]}}\n"
        f"  warning: [null, {warning}]\n"
        "  kind: bound\n  source: a test\n  date: 2026-11-21\n"
        "- for: {check: MpiCollective, benchmark: barrier}\n"
        "  value: {latency_avg: 9, latency_p50: 9, latency_p99: 9}\n"
        "  bound: [null, 1]\n  warning: [null, 1]\n"
        "  kind: paper\n  source: a paper\n  date: 2026-11-21\n"
    )
    return path


@pytest.fixture
def fabricheck(fabricheck):
    return partial(fabricheck, "judge")


def test_good_curve(fabricheck, tmp_path):
    code, out, err = fabricheck(LATENCY, "--references", reference_file(tmp_path), *CASE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "latency tcp-2n with openmpi on testbed:compute: 63 values, 63 good"
    assert lines[1] == "references: bound, a test, 2026-11-21"
    assert lines[2:] == ["good"]


@pytest.mark.parametrize(("upper", "level", "code"), [(9999, "warning", 0), (10, "critical", 1)])
def test_level_is_the_last_line_and_the_exit_code(fabricheck, tmp_path, upper, level, code):
    path = reference_file(tmp_path, (5, f"[-0.9, {upper}]"), 1.0)
    found, out, _ = fabricheck(LATENCY, "--references", path, *CASE)
    assert (found, out.splitlines()[-1]) == (code, level)
    assert f"- latency_p50 {level} at " in out


def test_a_curve_without_references_fails(fabricheck, tmp_path):
    case = [word.replace("tcp-2n", "ud-2n") for word in CASE]
    code, out, _ = fabricheck(LATENCY, "--references", reference_file(tmp_path), *case)
    assert (code, out.splitlines()[-1]) == (1, "no-reference")
    assert "no reference for latency_avg, latency_p50, latency_p99 at 21 sizes 1B..1MiB" in out


def test_a_removed_reference_is_red(fabricheck, tmp_path):
    path = reference_file(tmp_path)
    path.write_text(path.read_text().replace("    latency_p50_8B: 100\n", ""))
    code, out, _ = fabricheck(LATENCY, "--references", path, *CASE)
    assert (code, out.splitlines()[-1]) == (1, "no-reference")
    assert "no reference for latency_p50 at 8B" in out


def test_a_shorter_sweep_than_referenced_is_red(fabricheck, tmp_path):
    path = reference_file(tmp_path, sizes=(*SIZES, "2MiB"))
    code, out, _ = fabricheck(LATENCY, "--references", path, *CASE)
    assert (code, out.splitlines()[-1]) == (1, "critical")
    assert "latency_p50 has references but was not measured at 2MiB" in out


def test_collectives_take_their_own_class(fabricheck, tmp_path):
    stdin = BARRIER.read_bytes()
    case = [word.replace("tcp-2n", "tcp-4n") for word in CASE]
    code, out, _ = fabricheck("-", "--references", reference_file(tmp_path), *case, stdin=stdin)
    assert code == 1
    assert "references: paper, a paper, 2026-11-21" in out


def test_a_table_that_may_be_cut_is_untrusted(fabricheck, tmp_path):
    """OSU's first row alone, with references for that size alone."""
    lines = (DATA / "osu-7.4" / "openmpi.lat_tail.txt").read_text().splitlines(keepends=True)
    row = next(number for number, line in enumerate(lines) if line.startswith("1 "))
    cut = "".join(lines[: row + 1]).encode()
    path = reference_file(tmp_path, (100, "[-1, 50.0]"), sizes=("1B",))
    code, out, _ = fabricheck("-", "--references", path, *CASE, stdin=cut)
    assert (code, out.splitlines()[-1]) == (1, "untrusted")
    assert "- completeness not checked: OSU marks no end, give --expect MIN:MAX" in out
    code, out, _ = fabricheck("-", "--references", path, *CASE, "--json", stdin=cut)
    assert (code, json.loads(out)["level"], json.loads(out)["complete"]) == (1, "untrusted", None)
    code, out, _ = fabricheck("-", "--references", path, *CASE, "--expect", "1:1", stdin=cut)
    assert (code, out.splitlines()[-1]) == (0, "good")
    code, _, err = fabricheck("-", "--references", path, *CASE, "--expect", "1:8", stdin=cut)
    assert (code, "2B, 4B, 8B are missing" in err) == (2, True)


@pytest.mark.parametrize(
    ("benchmark", "name", "placement", "system"),
    [
        ("rdma_batch_read", "mori-io/read_8dev_qp2_b256", "rc-2n", "thor2-2n"),
        ("rdma_batch_write", "mori-io/write_1dev_qp4_b128", "rc-2n", "thor2-2n"),
        ("rdma_batch_write_batches", "mori-io/write_1dev_qp16_batches", "rc-2n", "thor2-2n"),
        ("rdma_stream_t1", "seren/t1", "rc-10n", "seren-10n"),
        ("rdma_stream_t4", "seren/t4", "rc-1n", "seren-10n"),
    ],
)
def test_the_sources_tables_are_judged_by_the_name_of_their_benchmark(
    fabricheck, benchmark, name, placement, system
):
    words = ("--references", REFERENCES / f"{system}.yaml", "--system", system)
    words += ("--environ", "openmpi", "--placement", placement)
    file = DATA / f"{name}.txt"
    code, out, _ = fabricheck(file, *words, "--benchmark", benchmark)
    assert (code, out.splitlines()[-1]) == (0, "good")
    code, _, err = fabricheck(file, *words, "--benchmark", "latency")
    assert (code, "rdma_batch_read" in err or "rdma_stream_t1" in err) == (2, True)


def test_figures_of_other_options_are_not_judged(fabricheck):
    code, _, err = fabricheck(
        *(DATA / "rdma_batch" / "write.two.json", "--references", REFERENCES / "thor2-2n.yaml"),
        *("--system", "thor2-2n", "--environ", "builtin", "--placement", "rc-2n"),
    )
    assert code == 2
    assert "expected transfer_batch_size: 128 as in rdma_batch_write, found 16" in err


def test_perftest_over_another_connection_than_the_placement_is_not_judged(fabricheck, tmp_path):
    file = DATA / "perftest-4.5" / "send_lat.ud.all.txt"
    code, _, err = fabricheck(file, "--references", reference_file(tmp_path), *CASE)
    assert code == 2
    assert "expected the connection type of tcp-2n, found ud" in err


def test_json(fabricheck, tmp_path):
    path = reference_file(tmp_path, (5, "[-0.9, 10]"), 1.0)
    code, out, _ = fabricheck(LATENCY, "--references", path, *CASE, "--json")
    data = json.loads(out)
    assert (code, data["level"], data["check"]) == (1, "critical", "MpiPointToPoint")
    assert (data["system"], data["partition"]) == ("testbed", "testbed:compute")
    assert data["tolerance"]["kind"] == "bound"
    judgement = next(j for j in data["judgements"] if j["variable"] == "latency_p50_1MiB")
    assert judgement["level"] == "critical"
    assert judgement["reference"] == {
        "value": 5.0,
        "critical": [pytest.approx(0.5), 55.0],
        "warning": [None, 10.0],
        "expected_failure": None,
    }
    assert data["findings"]


def test_bad_input_is_one_sentence(fabricheck, tmp_path):
    path = reference_file(tmp_path, (5, "[10, -0.9]"))
    code, out, err = fabricheck(LATENCY, "--references", path, *CASE)
    assert (code, out) == (2, "")
    assert err.startswith(
        f"fabricheck: {path}: line 27: rules > 1 > bound > latency_p50 > 1: expected a lower bound"
    )
    code, _, err = fabricheck(LATENCY, "--references", tmp_path / "absent.yaml", *CASE)
    assert code == 2
    assert "absent.yaml: expected rules of references" in err
    cut = LATENCY.read_bytes()[:-21]
    code, _, err = fabricheck("-", "--references", reference_file(tmp_path), *CASE, stdin=cut)
    assert (code, "the file is cut" in err) == (2, True)


def test_a_foreign_check_is_refused(fabricheck, tmp_path):
    code, _, err = fabricheck(
        LATENCY, "--references", reference_file(tmp_path), *CASE, "--check", "MpiCollective"
    )
    assert code == 2
    assert "MpiCollective judges collective benchmarks, found latency" in err


def test_every_benchmark_belongs_to_a_family_with_a_check():
    assert {benchmark.family for benchmark in REGISTRY.values()} == set(FAMILIES)
    assert all(family.checks for family in FAMILIES.values())
