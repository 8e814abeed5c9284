"""What schedulers are asked, and the lines for administrators to copy."""

import shlex
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.localise.located import dead_ports
from fabricheck.schedulers import launcher_of, scheduler_of, to_copy
from fabricheck.schedulers.slurm import SLURM

LISTED = "n1 allocated\\nn2 down*\\nn3 mixed*\\nn4 idle\\nn4 idle\\nn5 failing"


def test_of_a_scheduler_without_a_row_nothing_is_known() -> None:
    flux = scheduler_of("flux")
    assert (flux.lists_nodes, flux.is_alone, flux.known_states()) == (False, False, {})
    assert flux.job({"SLURM_JOB_ID": "7"}) == ("", 0)
    assert not flux.time_limit.search("*** JOB 7 CANCELLED DUE TO TIME LIMIT ***")
    with refused("FC2401", "can submit a stress, found flux"):
        flux.submit("s", Path("job.sh"), Path("log"), {})
    assert launcher_of("lrun").with_mpi == ()


def test_rows_have_reframes_names() -> None:
    assert scheduler_of("squeue") is scheduler_of("slurm") is SLURM
    assert scheduler_of("allocation").command != SLURM.command
    assert SLURM.job({"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "2"}) == ("7", 2)


@pytest.mark.integration
def test_nodes_that_are_down_or_do_not_respond_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinfo = tmp_path / "sinfo"
    sinfo.write_text(f"#!/bin/sh\nprintf '{LISTED}\\n'\n")
    sinfo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert SLURM.silent_nodes(["n1", "n2", "n3", "n4", "n5", "n9"]) == ("n2", "n3", "n5")


@pytest.mark.integration
def test_without_slurm_nothing_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert SLURM.silent_nodes(["n1"]) == ()


def test_lines_name_the_nodes_folded_and_the_reason_quoted():
    without, drain = to_copy(["n1", "n2", "n3"], "link down on n1; it's $(touch x) `date`")
    assert without == "without: --exclude=n[1-3]"
    assert shlex.split(drain.partition(": ")[2]) == [
        *("scontrol", "update", "nodename=n[1-3]", "state=drain"),
        "reason=fabricheck: link down on n1 its (touch x) date",
    ]


@pytest.mark.parametrize(
    "name",
    ["n8;touch${IFS}x;", "$(id)", "`id`", "n[1-3]", "n1,n2", "n 1", "", "-n1", "n\x1b[0m", "n1\n"],
)
def test_a_name_that_is_no_hosts_gives_no_line(name):
    (line,) = to_copy(["n1", name], "slow")
    assert line.startswith("no line to copy: expected names of hosts, found ")
    assert "scontrol" not in line
    assert line.isprintable()


def test_a_dead_port_is_of_a_node_whose_name_may_have_dots(tmp_path):
    (tmp_path / "port.n1.cluster.example").write_text("down mlx5_0:1\n")
    assert dead_ports(tmp_path) == {"n1.cluster.example": "mlx5_0:1"}
