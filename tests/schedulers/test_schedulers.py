"""What schedulers are asked, and the lines for administrators to copy."""

import shlex
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.localise.located import dead_ports
from fabricheck.schedulers import launcher_of, scheduler_of, to_copy
from fabricheck.schedulers.pbs import PBS
from fabricheck.schedulers.slurm import SLURM
from fabricheck.schedulers.unseen import ROWS as UNSEEN

LISTED = "n1 allocated\\nn2 down*\\nn3 mixed*\\nn4 idle\\nn4 idle\\nn5 failing"


def test_of_a_scheduler_without_a_row_nothing_is_known() -> None:
    sge = scheduler_of("sge")
    assert (sge.lists_nodes, sge.is_alone, sge.known_states()) == (False, False, {})
    assert sge.job({"SLURM_JOB_ID": "7"}) == ("", 0)
    assert not sge.time_limit.search("*** JOB 7 CANCELLED DUE TO TIME LIMIT ***")
    with refused("FC2401", "can submit a stress, found sge"):
        sge.submit("s", Path("job.sh"), Path("log"), {})
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


# As their manuals have it: pbsnodes(8), bhosts(1), flux-resource(1).
PBSNODES = """\
n1
     Mom = n1.cluster
     ntype = PBS
     state = free
     pcpus = 4

n2.cluster
     Mom = n2.cluster
     state = down,offline

n3
     state = job-exclusive
"""
BHOSTS = """\
HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
n1                 ok              -       4    0        0    0      0        0
n2.cluster         unreach         -       4    0        0    0      0        0
n3                 closed_Full     -       4    4        4    0      0        0
"""
SEEN = (Path(__file__).parents[1] / "data" / "pbs" / "pbsnodes.txt").read_text()
FLUX = "free n1\ndown n2.cluster\nallocated n[3-4]\n"
PRINTED = {"torque": PBSNODES, "lsf": BHOSTS, "flux": FLUX}


@pytest.mark.integration
@pytest.mark.parametrize("name", UNSEEN)
def test_states_of_schedulers_that_were_not_seen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / UNSEEN[name].asks_states[0]
    program.write_text(f"#!/bin/sh\ncat <<'TEXT'\n{PRINTED[name]}TEXT\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = scheduler_of(name)
    assert {"n1", "n2.cluster", "n3"} <= found.known_states().keys()
    assert found.silent_nodes(["n1", "n2.cluster", "n3"]) == ("n2.cluster",)
    program.write_text("#!/bin/sh\nexit 1\n")
    assert found.known_states() == {}
    with refused("FC3607", f"run it where {found.name} is"):
        found.node_states()


def test_states_that_openpbs_printed() -> None:
    states = scheduler_of("pbs").read_states(SEEN)
    assert states == {"n1": "free", "n2": "job-exclusive", "n3": "job-exclusive", "n4": "down"}
    assert [name for name, state in states.items() if PBS.is_silent(state)] == ["n4"]
    assert [name for name, state in states.items() if PBS.is_free(state)] == ["n1"]
    assert PBS.is_silent("state-unknown,down")
    assert PBS is scheduler_of("pbspro") is scheduler_of("openpbs")


def test_a_node_of_openpbs_with_jobs_on_some_of_its_cpus_is_not_free() -> None:
    begin, end = SEEN.split("     state = free\n", 1)
    shared = PBS.read_states(f"{begin}     state = free\n     jobs = 7.login/0\n{end}")
    assert shared["n1"] == "free, with jobs"
    assert not PBS.is_free(shared["n1"])
    assert not PBS.partitions(lambda _: "n1\n     state = free\n"), "Torque's has no version"
    assert PBS.partitions(lambda _: SEEN)


# As OpenPBS 20.0.0 printed them (its pull request 1931), but for names of hosts and states.
VNODES = """\
{0}
     Mom = {1}
     Port = 15002
     pbs_version = 20.0.0
     ntype = PBS
     state = {2}
     resources_available.arch = linux
     resources_available.host = {1}
     resources_available.vnode = {0}
     in_multivnode_host = 1

"""


@pytest.mark.parametrize(
    ("sockets", "host"),
    [
        (("free", "free"), "free"),
        (("free", "job-exclusive"), "job-exclusive"),
        (("job-exclusive", "free"), "job-exclusive"),
        (("free", "offline"), "offline"),
        (("offline", "down,offline"), "down,offline"),
        (("down", "free"), "down"),
    ],
)
def test_vnodes_of_one_host_are_one_host_in_the_worst_state(
    sockets: tuple[str, ...], host: str
) -> None:
    printed = VNODES.format("n1", "n1", "free")
    for number, state in enumerate(sockets):
        printed += VNODES.format(f"n1[{number}]", "n1", state)
    assert PBS.read_states(printed) == {"n1": host}
    assert PBS.is_free(host) is (host == "free")
    [all_nodes] = PBS.partitions(lambda _: printed + VNODES.format("ip-0A001007", "n2", "free"))
    assert (all_nodes.nodes, all_nodes.names) == (2, "n[1-2]")


def test_vnodes_are_asked_for_only_where_there_are_some() -> None:
    assert PBS.asks_states == ("pbsnodes", "-av")
    assert UNSEEN["torque"].asks_states == ("pbsnodes", "-a")


def test_what_openpbs_said_of_a_job() -> None:
    assert PBS.time_limit.search("=>> PBS: job killed: walltime 10 exceeded limit 3")
    assert PBS.own_line.match("=>> PBS: job killed: walltime 10 exceeded limit 3")
    assert PBS.job({"PBS_JOBID": "5.login"}) == ("5.login", 0)


ENDED = {
    "torque": ("=>> PBS: job killed: walltime 62 exceeded limit 60", {"PBS_JOBID": "7.head"}),
    "lsf": ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.", {"LSB_JOBID": "7"}),
    "flux": (
        "flux-job: job.exception type=timeout severity=0 resource allocation expired",
        {"FLUX_JOB_ID": "f7"},
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_they_say_of_a_job(name: str) -> None:
    scheduler, (line, variables) = scheduler_of(name), ENDED[name]
    assert scheduler.time_limit.search(line)
    assert scheduler.own_line.match(line)
    assert scheduler.job(variables) == (next(iter(variables.values())), 0)
    assert not scheduler.lists_nodes


LINES = {
    "qsub": "pbsnodes -C 'fabricheck: slow' -o n1 n2",
    "bsub": "badmin hclose -C 'fabricheck: slow' n1 n2",
    "flux": "flux resource drain n[1-2] 'fabricheck: slow'",
}


@pytest.mark.parametrize("command", LINES)
def test_lines_are_of_the_scheduler_that_is_here(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / command).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    _, drain = to_copy(["n1", "n2"], "slow")
    assert drain == f"as an administrator: {LINES[command]}"
