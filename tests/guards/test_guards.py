"""The whole pipeline on a real testbed, broken on purpose: each guard goes red by its own name."""

import pytest
from tests.guards.suite import (
    ABSURD,
    REFERENCES,
    REPOSITORY,
    SITE,
    SIZES,
    STATISTICS,
    Outcome,
    Suite,
)

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guards")]

ALL_VARIABLES = {f"latency_{statistic}_{size}" for statistic in STATISTICS for size in SIZES}


def assert_red(outcome: Outcome, level: str, finding: str) -> None:
    """The case is of that level, and everybody who looks is told why."""
    assert outcome.case["result"] == "fail"
    assert outcome.case["level"] == level
    assert outcome.case["fail_phase"] == ("sanity" if level == "untrusted" else "performance")
    assert any(finding in each for each in outcome.case["findings"]), outcome.case["findings"]
    assert finding in outcome.case["fail_reason"] + " ".join(outcome.case["findings"])
    assert f"L: level {level}" in outcome.output
    assert finding in outcome.output
    assert outcome.reframe_exit != 0
    assert "Traceback" not in outcome.output
    (shown,) = outcome.record["cases"]
    assert shown["status"] == level
    assert any(finding in cause for cause in shown["causes"])
    assert outcome.record["passed"] is False
    assert outcome.report_exit == 1


def assert_recorded(suite: Suite, level: str) -> None:
    """Every variable has its sample, none of them better than what happened."""
    records = suite.samples()
    assert records.keys() == ALL_VARIABLES
    assert {record.level for record in records.values()} == {level}


@pytest.mark.parametrize(
    ("placement", "nodes", "lanes"),
    [("shm-1n", "n1", ("memory",)), ("tcp-2n", "n1,n2", ("tcp/eth0",))],
)
def test_a_healthy_suite_is_green(
    suite: Suite, placement: str, nodes: str, lanes: tuple[str, ...]
) -> None:
    outcome = suite.run(placement)
    assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
    assert outcome.case["result"] == "pass"
    assert outcome.case["level"] == "good"
    assert "L: level good" in outcome.output
    for lane in lanes:
        assert lane in outcome.case["evidence"]
    assert " B on n1" in outcome.case["evidence"]
    assert_recorded(suite, "good")
    (case,) = suite.recorded()
    assert (case.reference_kind, ",".join(case.nodes)) == ("bound", nodes)
    for sample in case.samples:
        assert (sample.value or 0) > 0
        assert sample.unit == "us"


def test_another_transport_than_asked_for_is_untrusted(suite: Suite) -> None:
    suite.break_rank("export UCX_TLS=tcp,self UCX_NET_DEVICES=lo")
    outcome = suite.run("shm-1n")
    assert_red(outcome, "untrusted", "expected data lanes on shm")
    assert any("found" in each and "tcp/lo" in each for each in outcome.case["findings"])
    assert_recorded(suite, "untrusted")


def test_variants_are_proved_by_what_each_library_says(suite: Suite) -> None:
    suite.edit(SITE, "[tcp, shm, nodes_1", "[auto, ob1_tcp, ob1_shm, tcp, shm, nodes_1")
    outcome = suite.run("auto-2n", "ob1_tcp-2n", "ob1_shm-1n")
    assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
    evidence = {case["placement"]: case["evidence"] for case in outcome.testcases}
    assert evidence["auto-2n"].startswith("UCX lanes ")
    assert "(tcp/eth0)" in evidence["auto-2n"]
    assert evidence["ob1_tcp-2n"].startswith("BTL tcp; ports moved ")
    assert evidence["ob1_shm-1n"].startswith(("BTL vader; ports moved ", "BTL sm; ports moved "))


def test_auto_that_ends_on_sockets_where_rdma_is_offered_is_told(suite: Suite) -> None:
    suite.edit(SITE, "[tcp, shm, nodes_1", "[auto, rdma, tcp, shm, nodes_1")
    told = "UCX, left to choose, took tcp where the partition offers RDMA"
    assert_red(suite.run("auto-2n"), "critical", told)


def test_ucx_where_open_mpi_was_to_do_without_is_untrusted(suite: Suite) -> None:
    suite.edit(SITE, "[tcp, shm, nodes_1", "[ob1_tcp, tcp, shm, nodes_1")
    allowed = "OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any"
    suite.break_rank(f"export OMPI_MCA_pml=ucx UCX_TLS=tcp,self {allowed}")
    outcome = suite.run("ob1_tcp-2n")
    assert_red(
        outcome, "untrusted", "expected the BTL of all 2 ranks to their peers, found it of 0"
    )


def test_libfabric_is_proved_and_a_module_that_takes_its_provider_away_is_named(
    suite: Suite,
) -> None:
    wheel, own = "build/mpi/openmpi5", "[OPAL_PREFIX, '{prefix}']"
    suite.edit(SITE, f"prefix: {wheel}", f"prefix: {REPOSITORY / wheel}")
    outcome = suite.run("ofi_tcp-2n", environ="openmpi5")
    assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
    assert outcome.case["evidence"].startswith("libfabric provider tcp")
    suite.forget()
    suite.edit(SITE, f"[{own}]", f"[{own}, [FI_PROVIDER, sockets]]")
    outcome = suite.run("ofi_tcp-2n", environ="openmpi5")
    assert_red(outcome, "untrusted", "FI_PROVIDER=sockets")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("rm result.json", "expected the results in result.json, found no such file"),
        (r'sed -i "/\"size\": 16,/s/16/32/" result.json', "expected size 16 after 8, found 32"),
        (r'sed -i "/\"complete\"/,\$d" result.json', "the file is cut or damaged"),
        pytest.param(
            "truncate -s -600 result.json", "the file is cut or damaged", marks=pytest.mark.lab
        ),
    ],
    ids=["none at all", "one size", "the end", "in the middle of a result"],
)
def test_damaged_results_are_untrusted(suite: Suite, damage: str, message: str) -> None:
    suite.break_rank(f"""[ "$rank" = 0 ] && set -- sh -c '"$@"; {damage}' sh "$@" """)
    assert_red(suite.run(), "untrusted", message)
    assert_recorded(suite, "untrusted")


def test_wrong_data_are_untrusted(suite: Suite) -> None:
    suite.break_rank('set -- "$@" --inject-error')
    assert_red(suite.run(), "untrusted", "expected validated data at every size, found wrong data")


def test_a_rank_that_crashes_is_named(suite: Suite) -> None:
    suite.break_rank("""[ "$rank" = 1 ] && set -- sh -c 'ulimit -c 0; kill -SEGV $$'""")
    assert_red(suite.run(), "untrusted", "rank 1 on n1: 139")


def test_one_missing_reference_fails_the_case_and_keeps_all_values(suite: Suite) -> None:
    head = "placement: shm-1n}\n  value:\n"
    suite.edit(REFERENCES, f"{head}    latency_avg_1B: {ABSURD}\n", head)
    assert_red(suite.run(), "no-reference", "no reference for latency_avg at 1B")
    records = suite.samples()
    assert records.keys() == ALL_VARIABLES
    assert records.pop("latency_avg_1B").level == "no-reference"
    assert {record.level for record in records.values()} == {"good"}
    assert all((record.value or 0) > 0 for record in records.values())


def test_without_reference_file_nothing_is_good(suite: Suite) -> None:
    suite.remove(REFERENCES)
    assert_red(suite.run(), "no-reference", "no reference for latency")
    assert_recorded(suite, "no-reference")
    assert all((record.value or 0) > 0 for record in suite.samples().values())


# Of a reference of a tenth of a picosecond, whose warnings begin at 0.01 us.
CRITICAL_ABOVE_10_NS = "[-0.9999, 1.0e+5]"
CRITICAL_ABOVE_A_DAY = "[-0.9999, 1.0e+18]"


def refer(suite: Suite, bound: str) -> None:
    """Give shm-1n's average at 1 B a value of its own, and this bound."""
    rule = "- for: {check: MpiPointToPoint, benchmark: latency, placement: shm-1n}\n"
    value = "  value: {latency_avg_1B: 1.0e-7}\n  warning: {latency_avg_1B: [-0.999, 1.0e+5]}\n"
    suite.edit(
        REFERENCES, "rules:\n", f"rules:\n{rule}{value}  bound: {{latency_avg_1B: {bound}}}\n"
    )


def test_a_value_outside_its_reference_is_critical(suite: Suite) -> None:
    refer(suite, CRITICAL_ABOVE_10_NS)
    assert_red(suite.run(), "critical", "critical above 0.01 us")
    records = suite.samples()
    assert records.keys() == ALL_VARIABLES
    wrong = records.pop("latency_avg_1B")
    assert (wrong.level, wrong.result) == ("critical", "")
    assert suite.recorded()[0].result == "fail"
    assert {record.level for record in records.values()} == {"good"}


def test_a_finalize_that_hangs_is_a_warning(suite: Suite) -> None:
    suite.break_rank('echo "mpi_probe: MPI_Finalize did not return within 10 s" >&2')
    outcome = suite.run()
    assert (outcome.reframe_exit, outcome.case["result"]) == (0, "pass")
    assert outcome.case["level"] == outcome.record["verdict"] == "warning"
    assert "L: MPI_Finalize did not return within 10 s" in outcome.output


def test_a_warning_passes_and_is_seen_everywhere(suite: Suite) -> None:
    refer(suite, CRITICAL_ABOVE_A_DAY)
    outcome = suite.run()
    assert (outcome.reframe_exit, outcome.case["result"], outcome.report_exit) == (0, "pass", 0)
    assert outcome.case["level"] == outcome.record["verdict"] == "warning"
    assert "L: level warning" in outcome.output
    assert "WARNING" in outcome.shown()
    (finding,) = outcome.case["findings"]
    assert finding in outcome.output
    assert suite.samples()["latency_avg_1B"].level == "warning"
    (case,) = suite.recorded()
    assert (case.level, case.result, case.findings) == ("warning", "pass", (finding,))
