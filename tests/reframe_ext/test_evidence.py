"""Each guard broken once: the stage directory of a good job, with one thing wrong."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from tests.programs.results import document

from fabricheck.launch.evidence import RESULT_JSON, examine
from fabricheck.launch.expectation import Expectation
from fabricheck.launch.measurement import Evidence
from fabricheck.schedulers.slurm import Slurm
from fabricheck.transports.families import choice
from fabricheck.transports.table import find

SIZES = (1, 2, 4)
UCX_LOG = """\
[1795240120.054744] [HOST:7:0]     ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded from x)
[1795240120.059730] [HOST:7:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(tcp/eth0)
"""
COMPLAINTS = """\
[1795254523.132145] [n2:762  :0]     ucp_context.c:1014 UCX  WARN  \
transport 'rc' is not available, please use one or more of: cma
[1795254523.378048] [n2:762  :0]          select.c:549  UCX  ERROR   \
no active messages transport to n1: Unsupported operation
[1795254523.378060] [n2:762  :0]          select.c:550  UCX  ERROR   what follows from it
"""
WITNESS = """\
rank RANK
host HOST
allocation n[1-2]
cpus RANK
below_ports
ipoib
device
netdev before eth0 tx_bytes 100
netdev before eth0 rx_bytes 100
netdev before eth0 tx_packets 1
netdev after eth0 tx_bytes 90000
netdev after eth0 rx_bytes 90000
netdev after eth0 tx_packets 30001
exit 0
"""


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    (tmp_path / "out").write_text("")
    (tmp_path / "err").write_text("")
    results = [
        {
            "size": size,
            "iterations": 10_000,
            "latency": {"avg": 9e-6, "p50": 9e-6, "p99": 12e-6},
            "tcp_segments": 20_000,
            "valid": True,
        }
        for size in SIZES
    ]
    (tmp_path / RESULT_JSON).write_text(json.dumps(document("mpi_probe", "latency", results)))
    for rank, host in enumerate(("n1", "n2")):
        (tmp_path / f"ucx.{host}.7.log").write_text(UCX_LOG.replace("HOST", host))
        (tmp_path / f"witness.{rank}").write_text(
            WITNESS.replace("HOST", host).replace("RANK", str(rank))
        )
    return tmp_path


class Asked(Slurm):
    """Slurm, which holds nodes for dead."""

    dead: ClassVar[Sequence[str]] = ()

    def node_states(self) -> dict[str, str]:
        return dict.fromkeys(self.dead, "down*")


class WithoutFirst(Asked):
    dead = ("n1",)


def look(
    stage: Path, transport: str = "tcp", num_nodes: int = 2, num_tasks: int = 2, **more: object
) -> Evidence:
    return examine(
        stage,
        stage / "out",
        stage / "err",
        Expectation(
            benchmark="latency",
            transport=find(transport),
            num_nodes=num_nodes,
            num_tasks=num_tasks,
            sizes=SIZES,
            bound=True,
            quiet=True,
            **{"scheduler": Asked(), **more},  # type: ignore[arg-type]
            choice=choice("openmpi", transport),
            result=RESULT_JSON,
        ),
    )


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("11", "found 1 (n1): 2 ranks share n1 instead of 1: the launcher filled it first"),
        ("1111", "found 1 (n1): 4 ranks share n1 instead of 2: the launcher filled it first"),
        ("1123", "found 3 (n1, n2, n3): the launcher placed them elsewhere"),
    ],
)
def test_ranks_that_share_a_host_are_counted(stage: Path, hosts: str, words: str) -> None:
    """As by Open MPI 5's mapping policy ``:oversubscribe`` on hosts without a scheduler."""
    for rank, host in enumerate(hosts):
        text = WITNESS.replace("HOST", f"n{host}").replace("RANK", str(rank))
        (stage / f"witness.{rank}").write_text(text)
    found = look(stage, num_tasks=len(hosts)).objections
    assert f"expected ranks on 2 host(s), {words}" in found


def test_a_good_job_is_believed(stage: Path) -> None:
    found = look(stage)
    assert found.objections == ()
    assert found.hosts == ("n1", "n2")
    assert found.ucx_version == "1.13.1"
    assert found.curve is not None
    assert [point.size for point in found.curve.points] == list(SIZES)


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(stage: Path) -> None:
        text = (stage / name).read_text()
        assert old in text
        (stage / name).write_text(text.replace(old, new))

    return change


def result(old: str, new: str) -> Callable[[Path], None]:
    return edit(RESULT_JSON, old, new)


def both(host: str, other: str, cpus: str, others: str) -> Callable[[Path], None]:
    def change(stage: Path) -> None:
        edit("witness.1", host, other)(stage)
        edit("witness.1", cpus, others)(stage)

    return change


def drop(name: str) -> Callable[[Path], None]:
    return lambda stage: (stage / name).unlink()


def append(name: str, text: str) -> Callable[[Path], None]:
    def change(stage: Path) -> None:
        with (stage / name).open("a") as file:
            file.write(text)

    return change


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (result('"ranks": 2', '"ranks": 1'), "expected a world of 2 ranks, found 1"),
        (result('"complete": true}', ""), "the file is cut"),
        (result('"size": 4', '"size": 8'), "expected size 4 after 2, found 8"),
        (result('"valid": true', '"valid": false'), "data validation failed"),
        (
            result('"valid": true', '"valid": null'),
            "found no validation at 3 of them, the first 1 B",
        ),
        (both("host n2", "host n1", "cpus 1", "cpus 0"), "both on CPUs 0 of n1"),
        (result('"interrupted": null', '"interrupted": "SIGTERM"'), "was ended by SIGTERM"),
        (result('"latency",', '"pot",'), "unknown benchmark 'pot'"),
        (result('k": "latency"', 'k": "bcast"'), "benchmark latency, found bcast"),
        (drop(RESULT_JSON), "expected the results in result.json, found no such file"),
        (drop("witness.1"), "expected 2 ranks to start, found 1"),
        (edit("witness.1", "exit 0", "exit 139"), "rank 1 on n2: 139"),
        (edit("witness.1", "host n2", "host n1"), "expected ranks on 2 host"),
        (edit("witness.1", "host n2", "host n7"), "expected ranks on n[1-2], found rank 1 on n7"),
        (edit("witness.1", "after eth0 tx_bytes 90000", "after eth0 tx_bytes 200"), None),
        (drop("ucx.n2.7.log"), "expected 2 UCX logs"),
        (edit("ucx.n2.7.log", "tag(tcp/eth0)", "tag(sysv/memory)"), "found tag(sysv/memory) on n2"),
        (edit("witness.0", "after eth0 rx_bytes 90000", "after eth0 rx_bytes x"), "damaged"),
        (
            append("err", "slurmstepd: error: *** JOB 7 ON n2 CANCELLED AT 2026-11-21T06:00:00 DUE "
                   "TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"),
            "node failure: Slurm lost a node of n1, n2",
        ),
        (append("err", "srun: error: Node failure on n2\n"), "Slurm lost node n2 in"),
        (
            append("err", "srun: error: Task launch for StepId=7.0 failed on node n2: "
                   "Communication connection failure\n"),
            "Slurm lost node n2 in",
        ),
        (
            append("err", "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-21T06:00:00 DUE "
                   "TO TIME LIMIT ***\n"),
            "time limit",
        ),
    ],
)  # fmt: skip
def test_each_guard_sees_what_it_guards(
    stage: Path, break_it: Callable[[Path], None], message: str | None
) -> None:
    break_it(stage)
    found = look(stage)
    if message is None:
        assert found.objections == (), "one direction of a port may be quiet"
    else:
        assert any(message in objection for objection in found.objections), found.objections


@pytest.mark.parametrize("segments", [8_999, None])
def test_small_messages_that_no_socket_carried_are_untrusted(
    stage: Path, segments: int | None
) -> None:
    document = json.loads((stage / RESULT_JSON).read_text())
    document["results"][0]["tcp_segments"] = segments
    (stage / RESULT_JSON).write_text(json.dumps(document))
    expected = ["expected 9000 TCP segments or more for messages of 1 B over tcp, found 8999: "
                "something else carried them, at 1 of 3 sizes"]  # fmt: skip
    assert list(look(stage).objections) == ([] if segments is None else expected)


def test_a_size_that_a_whole_run_lacks_is_named(stage: Path) -> None:
    document = json.loads((stage / RESULT_JSON).read_text())
    document |= {"results": document["results"][:2], "expected": 2}
    (stage / RESULT_JSON).write_text(json.dumps(document))
    (objection,) = look(stage).objections
    assert objection.startswith("expected 3 message sizes, but 4B is missing")


def test_shared_memory_with_busy_interfaces_is_not_believed(stage: Path) -> None:
    found = look(stage, transport="shm", num_nodes=1)
    assert any("expected data lanes on shm" in objection for objection in found.objections)


def test_a_job_that_never_began_is_told_apart(stage: Path) -> None:
    for path in stage.iterdir():
        path.unlink()
    (objection,) = look(stage).objections
    assert objection.startswith("expected the job to begin, found no output of it")


STEP_IS_GONE = (
    "srun: error: _server_read: fd 14 error reading header: Connection reset by peer\n"
    "srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 1\n"
    "srun: error: Timed out waiting for job step to complete\n"
)


@pytest.mark.parametrize("said", ["srun: error: Node failure on n2\n", STEP_IS_GONE])
def test_a_dead_node_is_the_only_fault(stage: Path, said: str) -> None:
    append("err", said)(stage)
    drop("out")(stage)
    edit("witness.1", "exit 0\n", "")(stage)
    (objection,) = look(stage).objections
    assert "Slurm lost node n2 in mid-job (" in objection
    assert "rank 1 on n2 never ended" in objection


FRAME = "-" * 74
MPI_ABORT = (
    "mpi_probe: out of luck\nAbort(1) on node 1 (rank 1 in comm 0): application called "
    "MPI_Abort(MPI_COMM_WORLD, 1) - process 1\n"
    "[n1:7] mca: bml: Using tcp btl for send to [[1,1],0] on node n2\n"
    "Terminated\nsrun: error: n2: task 1: Exited with code 1\n"
    "[n1:7] 1 more process has sent help message help-mca-base.txt / find-available:none\n"
    '[n1:7] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help messages\n'
    "[n1:7] PMIX ERROR: PMIX_ERR_UNREACH in file ../../../src/server/pmix_server.c at line 3184\n"
)
FRAMED = f"{FRAME}\nMPI_ABORT was invoked\n\nNOTE:\n{FRAME}\n"
# The last but one line is that of Open MPI 5.
EXPLAINED = f"mpi_probe: MPI_Bcast failed\n{FRAMED}\0Terminated\n{FRAMED}"
SEGFAULT = "srun: error: n2: task 1: Segmentation fault"
UCX_DIED = (
    "[rx1:318  :a:322]   ib_device.c:210  Assertion `wait_ctx->cb_id == NULL' failed\n"
    "==== backtrace (tid:    322) ====\n"
    " 0  /lib/x86_64-linux-gnu/libucs.so.0(ucs_handle_error+0x2bc) [0x7f17088a264c]\n"
    "=================================\nAborted (core dumped)\n"
)
ALONE = "mpi_probe: latency needs exactly two ranks, but MPI_COMM_WORLD has 1 (a launcher"
UNREACHABLE = "[n2:27] OPAL ERROR: Unreachable in file x.c at line 112"
EXITED = "\nsrun: error: n2: task 1: Exited with exit code 2\n"
WRONG_DATA = "mpi_probe: wrong data at 2 bytes: rank 1, expected 17, found 0\n"
OTHER_PMI = ".*correct extras.pmi of the environment"


@pytest.mark.parametrize(
    ("end", "errors", "objection"),
    [
        ("exit 1", MPI_ABORT, ".*last words: mpi_probe: out of luck$"),
        ("exit 125", "no -x\n\nUsage:  do\n\nRun 'do --help' for more\n", ".*words: no -x$"),
        ("exit 139", f"{SEGFAULT}\n\n", f".*last words: {SEGFAULT}$"),
        ("exit 134", UCX_DIED, ".*last words: UCX: ib_device.c:210  Assertion .* failed$"),
        ("exit 1", EXPLAINED, ".*last words: mpi_probe: MPI_Bcast failed$"),
        (
            "",
            "mpi_probe: killed\n",
            "expected every rank to end, rank 1 on n2 did not; last words: mpi_probe: killed$",
        ),
        ("exit 2", ALONE + EXITED, f"expected a world of 2 ranks, found 1{OTHER_PMI}"),
        (
            "exit 2",
            UNREACHABLE + EXITED,
            rf"expected a world of 2 ranks, found none \(OPAL ERROR: Unreachabl{OTHER_PMI}",
        ),
        # Named before the exit code that follows from them.
        (
            "exit 1",
            WRONG_DATA,
            "expected validated data at every size, found wrong data at 2 bytes: rank 1",
        ),
    ],
)
def test_the_only_objection_has_the_words_that_explain_it(
    stage: Path, end: str, errors: str, objection: str
) -> None:
    edit("witness.1", "exit 0", end)(stage)
    append("err", errors)(stage)
    (found,) = look(stage).objections
    assert re.match(objection, found), found


def test_a_launcher_that_refuses_says_why(stage: Path) -> None:
    for name in ("witness.0", "witness.1", "out"):
        drop(name)(stage)
    refused = "mpirun has detected an attempt to run as root."
    text = f"{FRAME}\n{refused}\n\nRunning as root is\n*strongly* discouraged.\n{FRAME}\n"
    append("err", text)(stage)
    (objection,) = look(stage).objections
    assert objection == f"expected 2 ranks to start, found 0; last words: {refused}"


def test_what_ucx_complained_of_stands_beside_the_fault(stage: Path) -> None:
    edit("witness.1", "exit 0", "exit 1")(stage)
    append("ucx.n2.7.log", COMPLAINTS)(stage)
    _, first, second = look(stage).objections
    assert first == "UCX on n2: transport 'rc' is not available, please use one or more of: cma"
    assert second == "UCX on n2: no active messages transport to n1: Unsupported operation"


def test_a_finalize_that_hung_is_remarked_and_spoils_nothing(stage: Path) -> None:
    append("err", "mpi_probe: MPI_Finalize did not return within 10 s\n" * 2)(stage)
    found = look(stage)
    assert found.objections == ()
    assert found.remarks == ("MPI_Finalize did not return within 10 s",)


def test_the_node_that_srun_names_is_the_lost_one(stage: Path) -> None:
    text = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT x DUE TO NODE FAILURE ***\n"
    append("err", text + "srun: error: Node failure on n2\n")(stage)
    assert "Slurm lost node n2 in" in look(stage).objections[0]


def test_a_node_that_took_the_error_output_with_it_is_asked_for(stage: Path) -> None:
    for rank in (0, 1):
        edit(f"witness.{rank}", "exit 0\n", "")(stage)
    found = look(stage, scheduler=WithoutFirst())
    assert "Slurm lost node n1 in mid-job (rank 0 on n1, rank 1 on n2" in found.objections[0]
    assert found.hosts == ("n1", "n2")


def test_sockets_where_ucx_could_have_rdma_are_a_remark(stage: Path) -> None:
    found = look(stage, "auto", offers=("rdma", "tcp"))
    assert found.objections == ()
    assert "tag(tcp/eth0)" in found.proof
    (remark,) = found.remarks
    assert "took tcp where the partition offers RDMA" in remark
    assert look(stage, "auto", offers=("tcp",)).remarks == ()


def test_open_mpi_without_ucx_is_believed_by_the_btls_it_names(stage: Path) -> None:
    for path in stage.glob("ucx.*"):
        path.unlink()
    line = "[n{}:7] mca: bml: Using tcp btl for send to [[1,1],{}] on node n{}\n"
    (stage / "err").write_text(line.format(1, 1, 2) + line.format(2, 0, 1))
    found = look(stage, "ob1_tcp")
    assert found.objections == ()
    assert found.proof.startswith("BTL tcp; ports moved ")
    assert found.ucx_version == ""
    (stage / "err").write_text(line.format(1, 1, 2))
    assert "found it of 1" in look(stage, "ob1_tcp").objections[0]


@pytest.mark.parametrize("offload", [None, "", "han"])
def test_an_offload_that_gave_way_is_untrusted(stage: Path, offload: str | None) -> None:
    data = Path(__file__).parents[1] / "data" / "offload" / "openmpi-5.0.11-han-asked.txt"
    (stage / "err").write_text(data.read_text())
    found = look(stage, offload=offload)
    assert ("collectives by tuned" in found.proof) == (offload is not None)
    assert [each[:27] for each in found.objections] == ["expected collectives by han"] * (
        offload == "han"
    )
