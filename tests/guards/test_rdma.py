"""MPI over rc and ud on Soft-RoCE: proved when healthy, untrusted when something else served."""

import pytest
from tests.guards.suite import SITE, Outcome, Suite

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guest")]


def untrusted(outcome: Outcome) -> str:
    """What a case that is untrusted, and shown as such, has found."""
    assert outcome.case["level"] == "untrusted"
    assert outcome.case["fail_phase"] == "sanity"
    assert (outcome.reframe_exit, outcome.report_exit) == (1, 1)
    return "\n".join(outcome.case["findings"])


def test_rc_and_ud_are_proved_by_lanes_and_by_both_ports(rdma_suite: Suite) -> None:
    outcome = rdma_suite.run("rc-2n", "ud-2n", environ="openmpi|mpich")
    assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
    cases = {(case["environ"], case["placement"]): case for case in outcome.testcases}
    assert cases.keys() == {
        (mpi, way) for mpi in ("openmpi", "mpich") for way in ("rc-2n", "ud-2n")
    }
    for (_, placement), case in cases.items():
        transport = placement.removesuffix("-2n")
        other = {"rc": "ud", "ud": "rc"}[transport]
        evidence = case["evidence"]
        assert f"tag({transport}_verbs/rxe0:1), tag({transport}_verbs/rxe1:1)" in evidence
        assert f"{other}_verbs" not in evidence
        assert " packets on rx1, " in evidence
        assert evidence.endswith(" packets on rx2")


@pytest.mark.parametrize(
    ("served", "environ", "findings"),
    [
        pytest.param(
            "UCX_TLS=ud,self",
            "openmpi",
            ["expected data lanes on rc (rc_mlx5, rc_verbs), found tag(ud_verbs/rxe0:1) on rx1"],
            marks=pytest.mark.lab,
        ),
        (
            "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0",
            "mpich",
            [
                "expected data lanes on rc (rc_mlx5, rc_verbs), found am(tcp/eth0), "
                "rma_am(tcp/eth0), tag(tcp/eth0) on rx1",
                "packets or more from the RDMA ports of rx1 for rc, found ",
                "packets or more from the RDMA ports of rx2 for rc, found ",
            ],
        ),
    ],
    ids=["ud", "tcp"],
)
def test_another_transport_than_rc_is_untrusted(
    rdma_suite: Suite, served: str, environ: str, findings: list[str]
) -> None:
    rdma_suite.break_rank(f"export {served}")
    found = untrusted(rdma_suite.run("rc-2n", environ=environ))
    for finding in findings:
        assert finding in found


def offer(suite: Suite, *features: str) -> None:
    """Let the partition offer more."""
    suite.edit(SITE, "[rdma, nodes_2", f"[{', '.join(features)}, rdma, nodes_2")


@pytest.mark.lab
def test_variants_are_proved_on_rdma_ports(rdma_suite: Suite) -> None:
    offer(rdma_suite, "auto", "rc_verbs", "ud_verbs_sm")
    outcome = rdma_suite.run("auto-2n", "rc_verbs-2n", "ud_verbs_sm-2n")
    assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
    evidence = {case["placement"]: case["evidence"] for case in outcome.testcases}
    assert "tag(rc_verbs/rxe0:1), tag(rc_verbs/rxe1:1)" in evidence["rc_verbs-2n"]
    assert "tag(ud_verbs/rxe0:1), tag(ud_verbs/rxe1:1)" in evidence["ud_verbs_sm-2n"]
    assert evidence["rc_verbs-2n"].endswith(" packets on rx2")
    assert evidence["ud_verbs_sm-2n"].endswith(" packets on rx2")
    # Which lanes it takes is UCX's affair; that it was believed says that counters bore them out.
    assert evidence["auto-2n"].startswith("UCX lanes ")


@pytest.mark.lab
def test_shared_memory_cannot_serve_between_nodes(rdma_suite: Suite) -> None:
    rdma_suite.break_rank("export UCX_TLS=sm,self")
    found = untrusted(rdma_suite.run("rc-2n"))
    assert "UCX on rx" in found
    assert "no active messages transport" in found


def test_shared_memory_that_serves_inside_one_node_is_untrusted(rdma_suite: Suite) -> None:
    rdma_suite.edit(
        "src/fabricheck/programs/osu/launch.py",
        "        return Ranks(total, -(-total // nodes))",
        "        return Ranks(total, total)",
    )
    rdma_suite.break_rank("export UCX_TLS=sm,self")
    found = untrusted(rdma_suite.run("rc-2n"))
    assert "expected data lanes on rc (rc_mlx5, rc_verbs), found tag(cma/memory)" in found
    assert "RDMA ports of rx1 for rc, found 0" in found
    assert "expected ranks on 2 host(s), found 1 (rx1)" in found


def test_a_link_that_is_down_is_named_by_its_layers(rdma_suite: Suite) -> None:
    rdma_suite.testbed.link_down("rx2")
    found = untrusted(rdma_suite.run("ud-2n", environ="mpich"))
    assert "UCX on rx1: transport 'ud' is not available" in found
    assert "link down on rx2 rxe1:1" in found
