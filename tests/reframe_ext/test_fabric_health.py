"""What ReFrame makes of the health of the ports below a case."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.fabric.conftest import unpack
from tests.reframe_ext.recorded import LOGGING, measured, reframe

from fabricheck.launch.disturbance import STOLEN_SHARE
from fabricheck.record.entries import CaseEntry
from fabricheck.reframe_ext.again import DISTURBED_AGAIN
from fabricheck.report.load import build_case

pytestmark = pytest.mark.integration

SUITE = Path(__file__).with_name("fabric_suite.py")
SURVEY = Path(__file__).parents[2] / "checks" / "fabric_health.py"
PORT = "sys/class/infiniband/rxe0/ports/1"
COUNTERS = f"{PORT}/hw_counters"


def configuration(gid_index: int, launcher: str = "local") -> str:
    partition = {
        "name": "rdma",
        "scheduler": "local",
        "launcher": launcher,
        "environs": ["builtin"],
        "features": ["rdma"],
        "extras": {"gid_index": gid_index},
    }
    system = {"name": "recorded", "hostnames": [".*"], "partitions": [partition]}
    builtin = {"name": "builtin", "features": ["verbs"]}
    settings = {"systems": [system], "environments": [builtin], "logging": LOGGING}
    return f"import fabricheck.reframe_ext.recorder\nsite_configuration = {settings!r}\n"


def test_a_job_looks_again_where_the_launcher_killed_the_ranks(tmp_path: Path) -> None:
    """The script that ReFrame would submit; srun is not here to run it."""
    reframe(tmp_path, SUITE, "--dry-run", configuration=configuration(1, "srun"))
    (script,) = tmp_path.glob("stage/**/rfm_job.sh")
    assert "[ $status -eq 0 ] || timeout 30 env -u SLURM_HOSTFILE srun" in script.read_text()
    assert "collect.sh after ports adapters >>node.$(hostname)" in script.read_text()


def run(tmp_path: Path, check: Path | None = None, **env: str) -> tuple[int, dict[str, Any]]:
    """ReFrame's exit code and the last attempt of the only case of its record."""
    root = str(unpack("rxe", tmp_path / "tree"))
    again = f"--max-retries={int(DISTURBED_AGAIN in env)}"
    # Of the suite that has no such variable, ReFrame warns.
    places = {"FABRICHECK_NODE_ROOT": root, "TREE": root, "RFM_WARN_AS_ERROR": "n"}
    done = reframe(
        tmp_path,
        check or SUITE,
        *("--run", again, "--setvar=FabricHealth.pause=0"),
        configuration=configuration(int(env.get("GID_INDEX", "1"))),
        **(places | env),
    )
    return done.returncode, measured(tmp_path)[-1]


def test_healthy_ports_leave_a_case_alone(tmp_path: Path) -> None:
    code, case = run(tmp_path)
    assert (code, case["level"], case["findings"]) == (0, "good", ())
    assert case["fabric_causes"] == ()


def test_a_link_that_goes_down_makes_a_good_case_red(tmp_path: Path) -> None:
    code, case = run(tmp_path, DURING=f'echo "1: DOWN" >"$TREE/{PORT}/state"')
    assert (code, case["level"], case["result"]) == (1, "critical", "fail")
    assert case["findings"][0].startswith("link down on ")
    assert case["fabric_causes"] == case["findings"][:1]
    assert "the port was ACTIVE before the run and is DOWN" in case["fail_reason"]
    assert case["samples"], "the values stay in the record"


def test_a_warning_lets_a_case_pass(tmp_path: Path) -> None:
    raised = f'echo 9000 >"$TREE/{COUNTERS}/completer_retry_err"; ' + (
        f'echo 212088 >"$TREE/{COUNTERS}/sent_pkts"'
    )
    code, case = run(tmp_path, DURING=raised)
    assert (code, case["level"], case["result"]) == (0, "warning", "pass")
    assert case["findings"][0].startswith("completer_retry_err on ")


def test_a_wrong_gid_index_is_told(tmp_path: Path) -> None:
    code, case = run(tmp_path, GID_INDEX="5")
    assert code == 1
    assert "index 5 is empty (there are 0: fe80:" in case["findings"][0]


def test_health_stands_beside_another_reason_to_fail(tmp_path: Path) -> None:
    _, case = run(tmp_path, DURING=f'echo "1: DOWN" >"$TREE/{PORT}/state"', UNTRUSTED="1")
    assert case["level"] == "untrusted"
    first, second = case["findings"]
    assert first.startswith("link down on ")
    assert second == "the peer never came"
    assert "untrusted: link down on " in case["fail_reason"]
    assert case["fail_reason"].endswith("; the peer never came")


def test_no_snapshot_is_not_green(tmp_path: Path) -> None:
    code, case = run(tmp_path, SLURM_LOCALID="1")
    assert (code, case["level"]) == (1, "critical")
    assert case["findings"][0].startswith("fabric health: no node has left a snapshot")


STOLEN = 'sleep 0.5; [ {} ] || echo "0 9000000000 0" >"$FABRICHECK_STEAL"; touch "$TREE/again"'


def disturbed(tmp_path: Path, **env: str) -> list[dict[str, Any]]:
    """All attempts of a case whose emulator waits.

    The hypervisor may take 80 %, of which real ones take no part that counts.
    """
    (tmp_path / "schedstat").write_text("0 0 0\n")
    shutil.rmtree(tmp_path / "perflogs", ignore_errors=True)
    steal = {"FABRICHECK_STEAL": str(tmp_path / "schedstat"), STOLEN_SHARE: "0.8"}
    run(tmp_path, None, **steal, **{DISTURBED_AGAIN: "1"}, **env)
    return measured(tmp_path)


def test_a_disturbed_case_runs_once_more_and_that_counts(tmp_path: Path) -> None:
    first, second = disturbed(tmp_path, DURING=STOLEN.format('-e "$TREE/again"'), UNTRUSTED="1")
    assert (first["level"], second["level"]) == ("disturbed", "untrusted")
    assert first["findings"][0].startswith("the hypervisor took ")
    assert first["findings"][1] == "what it gave: the peer never came"
    assert second["findings"] == ("the peer never came",)
    built = build_case([CaseEntry(**first), CaseEntry(**second)])
    assert built.status == "untrusted"
    assert built.disturbed_before == (first["findings"][0],)


def test_a_fault_that_counters_tell_is_named_beside_a_second_disturbance(tmp_path: Path) -> None:
    grows = 'sleep 0.5; read -r _ was _ <"$FABRICHECK_STEAL"; '
    grows += 'echo "0 $((was + 9000000000)) 0" >"$FABRICHECK_STEAL"; '
    first, second = disturbed(tmp_path, DURING=grows)
    assert (first["level"], second["level"]) == ("disturbed", "disturbed")
    down = grows + f'echo "1: DOWN" >"$TREE/{PORT}/state"'
    first, second = disturbed(tmp_path, DURING=down)
    assert (first["level"], second["level"]) == ("disturbed", "critical")
    assert second["findings"][0].startswith("link down on ")


def test_a_case_that_nothing_disturbed_runs_once(tmp_path: Path) -> None:
    down = f'echo "1: DOWN" >"$TREE/{PORT}/state"; echo >>"$TREE/ran"'
    (only,) = disturbed(tmp_path, DURING=down)
    assert (only["level"], only["attempt"]) == ("critical", 1)
    assert (tmp_path / "tree" / "ran").read_text() == "\n"


@pytest.mark.parametrize("verdict", ["critical", "untrusted", "good"])
def test_a_little_is_enough_where_a_case_is_not_good(tmp_path: Path, verdict: str) -> None:
    # Half of the one CPU that the rank may use.
    a_little = 'sleep 3; [ -e "$TREE/again" ] || echo "0 1500000000 0" >"$FABRICHECK_STEAL"; '
    a_little += 'touch "$TREE/again"'
    found = disturbed(tmp_path, DURING=a_little, VERDICT=verdict, FABRICHECK_PIN="cyclic")
    expected = ["good"] if verdict == "good" else ["disturbed", verdict]
    assert [each["level"] for each in found] == expected
    assert found[0].get("gave", "") == ("" if verdict == "good" else verdict)


def test_values_that_say_nothing_have_a_second_run(tmp_path: Path) -> None:
    found = disturbed(tmp_path, DURING="true", VERDICT="untrusted")
    assert [each["level"] for each in found] == ["disturbed", "untrusted"]
    assert found[0]["findings"] == ("in this noise nothing is seen",)


@pytest.mark.parametrize("env", [{"TRANSPORT": "tcp"}, {"WRAPPER": "env"}])
def test_cases_that_use_no_port_are_not_judged(tmp_path: Path, env: dict[str, str]) -> None:
    code, case = run(tmp_path, DURING=f'echo "1: DOWN" >"$TREE/{PORT}/state"', **env)
    assert (code, case["findings"]) == (0, ())


def test_a_good_case_over_sockets_that_lost_segments_is_a_warning(tmp_path: Path) -> None:
    lost = 'sed -i "s/^tcp before sockets again .*/tcp before sockets again -1000/" witness.0'
    code, case = run(tmp_path, DURING=lost, TRANSPORT="tcp")
    assert (code, case["level"]) == (0, "warning")
    assert case["findings"][0].startswith("TCP segments sent again on ")


def test_where_there_are_ports_auto_may_use_them(tmp_path: Path) -> None:
    down = f'echo "1: DOWN" >"$TREE/{PORT}/state"'
    code, case = run(tmp_path, DURING=down, TRANSPORT="auto")
    assert (code, case["level"]) == (1, "critical")


def test_the_survey_lists_ports_and_records_what_they_can_tell(tmp_path: Path) -> None:
    code, case = run(tmp_path, SURVEY)
    assert (code, case["level"], case["findings"]) == (0, "good", ())
    port, lacking = case["ports"]
    assert "rxe0:1: ACTIVE, Ethernet, 10 Gbit/s (1X FDR10), RDMA MTU 4096 B over v0" in port
    assert "GID 1 fe80:" in port
    assert "all of counters" in lacking
    (sample,) = case["samples"]
    assert (sample.variable, sample.level) == ("ecn_rate_max", "good"), "no packet, so no ratio"


def test_the_survey_is_red_where_a_port_is(tmp_path: Path) -> None:
    code, case = run(tmp_path, SURVEY, GID_INDEX="5")
    assert (code, case["level"]) == (1, "critical")
    assert "index 5 is empty" in case["findings"][0]


def test_a_survey_that_a_node_did_not_answer_is_not_believed(tmp_path: Path) -> None:
    code, case = run(tmp_path, SURVEY, SLURM_LOCALID="1")
    assert (code, case["level"]) == (1, "untrusted")
    assert "expected the ports of 1 nodes, found those of none" in case["findings"][0]
