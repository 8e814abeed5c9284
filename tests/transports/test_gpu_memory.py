"""From which memory messages came: logs of UCX on a driver that stands in for a GPU's."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabricheck.transports.gpu_memory import Load, MemoryReport, check_counts, check_memory
from fabricheck.transports.proof import prove
from fabricheck.transports.statement import read_lanes
from fabricheck.transports.table import Memory, find
from fabricheck.transports.witness import UcxLog, Witness, read_ucx_log

DATA = Path(__file__).parents[1] / "data" / "ucx-cuda"
COUNTED = DATA.with_name("ucx-counts")
SIZES = dict.fromkeys((4**power for power in range(12)), 3)
LOAD = Load(sum(size * count for size, count in SIZES.items()), sum(SIZES.values()), SIZES)
STAGED = replace(find("shm"), memory=Memory.HOST)
WAYS = ("cuda_ipc", "cuda_copy", "tcp_cuda", "staged")
_CARD = "rc_mlx5/mlx5_0:1"
OVER_RC = {
    **dict.fromkeys(("sysv/memory", "cuda_ipc/cuda", "tcp/lo", "tcp/eth0"), _CARD),
    "intra-node": "inter-node",
}


def logs(served: str, mpi: str = "openmpi", **other: str) -> list[UcxLog]:
    texts = ((DATA / f"1.22.0-{served}-{mpi}.{rank}.txt").read_text() for rank in (0, 1))
    return [read_ucx_log(_altered(text, other)) for text in texts]


def _altered(text: str, other: dict[str, str]) -> str:
    for old, new in other.items():
        text = text.replace(old, new)
    return text


def read_report(asked: str, served: str, mpi: str = "openmpi", **other: str) -> MemoryReport:
    return check_memory(find(asked), LOAD, logs(served, mpi, **other))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("served", WAYS)
@pytest.mark.parametrize("asked", WAYS)
def test_a_path_is_believed_only_where_it_was_taken(asked: str, served: str, mpi: str) -> None:
    carried = logs(served, mpi)
    transport = STAGED if asked == "staged" else find(asked)
    said = replace(read_lanes(transport, carried, 2), logs=tuple(carried))
    # On the host network of the recording, sockets were the loopback's.
    still = [Witness(rank, f"n{rank}", "", "0", 0, {}) for rank in (0, 1)]
    proof = prove(replace(transport), LOAD, said, still, quiet=False)
    others = [each for each in proof.objections if "B or more on the interfaces" not in each]
    # The lanes beside the tables had cuda_ipc on offer, which shared memory has not.
    others = [each for each in others if asked != "staged" or "data lanes" not in each]
    assert (others == []) == (asked == served)


@pytest.mark.parametrize(
    ("mpi", "told"),
    [
        ("openmpi", "30 × zero-copy flushed write to remote by cuda_ipc; from host memory none; "
                    "copied by UCX up to 5471 B"),
        ("mpich", "from GPU 72 × zero-copy flushed write to remote by cuda_ipc; "),
    ],
)  # fmt: skip
def test_the_evidence_counts_messages_and_records_where_ucx_copies_itself(
    mpi: str, told: str
) -> None:
    assert told in read_report("cuda_ipc", "cuda_ipc", mpi).evidence


@pytest.mark.parametrize(
    ("served", "other", "words"),
    [
        ("cuda_copy", {}, "expected zero-copy from memory of a GPU over cuda_ipc for cuda_ipc, "
                          "found .*: UCX copied everything through the host$"),
        ("staged", {}, r"found only those from host memory \(120 messages\)"),
        ("cuda_ipc", {"  1..5471": "1..inf"},
         "expected zero-copy over cuda_ipc for the largest messages of cuda_ipc, "
         "found 42 × eager copy-in copy-out by sysv for them"),
    ],
)  # fmt: skip
def test_cuda_ipc_that_is_there_and_does_not_carry_all_is_not_believed(
    served: str, other: dict[str, str], words: str
) -> None:
    (objection,) = read_report("cuda_ipc", served, **other).objections
    assert re.search(words, objection)


def test_the_staged_path_hands_mpi_no_memory_of_a_gpu() -> None:
    heard = check_memory(STAGED, LOAD, logs("staged"))
    assert heard == MemoryReport("from GPU none; from host memory 120 messages", ())
    (objection,) = check_memory(STAGED, LOAD, logs("cuda_copy")).objections
    assert "on the staged path, found" in objection
    (lost,) = check_memory(STAGED, replace(LOAD, calls=1000), logs("staged")).objections
    assert "expected 900 messages or more from host memory for shm" in lost


@pytest.mark.parametrize("served", ["cuda_ipc", "staged"])
def test_where_an_mpi_may_copy_itself_it_is_only_told_what_it_did(served: str) -> None:
    either = replace(find("cuda_ipc"), memory=Memory.EITHER)
    heard = check_memory(either, LOAD, logs(served))
    assert heard.objections == ()
    assert heard.evidence.startswith("from GPU none" if served == "staged" else "from GPU 42")
    (objection,) = check_memory(either, LOAD, [UcxLog("n1", "1.13.1", ())] * 2).objections
    assert "expected UCX 1.16 or later" in objection


def test_gpudirect_rdma_is_zero_copy_of_a_card() -> None:
    heard = read_report("rc_cuda", "cuda_ipc", **OVER_RC)
    assert heard.objections == ()
    assert "30 × zero-copy flushed write to remote by rc_mlx5" in heard.evidence
    (without,) = read_report("rc_cuda", "tcp_cuda", "mpich", **OVER_RC).objections
    assert "expected zero-copy from memory of a GPU over rc_mlx5 or rc_verbs" in without
    assert read_report("rc_cuda_nogdr", "tcp_cuda", "mpich", **OVER_RC).objections == ()
    (with_it,) = read_report("rc_cuda_nogdr", "cuda_ipc", **OVER_RC).objections
    assert with_it.startswith("expected UCX to copy memory of a GPU through the host")
    assert with_it.endswith("the lane read it itself")


@pytest.mark.parametrize(
    ("of", "count", "words"),
    [
        ("zero-copy flushed", 6, "expected 14 messages or more above 5471 B as zero-copy over "
                                 "cuda_ipc for cuda_ipc, found 12: UCX copied the others"),
        ("eager copy-in", 1, "expected 33 messages or more from memory of a GPU for cuda_ipc, "
                             "found 32"),
    ],
)  # fmt: skip
def test_too_few_messages_are_not_believed(of: str, count: int, words: str) -> None:
    texts = ((DATA / f"1.22.0-cuda_ipc-openmpi.{rank}.txt").read_text() for rank in (0, 1))
    carried = [
        read_ucx_log(re.sub(rf"\|\s+\d+ (?=\|[^|]+\| {of})", f"| {count} ", text)) for text in texts
    ]
    (objection,) = check_memory(find("cuda_ipc"), LOAD, carried).objections
    assert words in objection


def test_ucx_without_counts_is_believed_by_its_tables() -> None:
    log = read_ucx_log((DATA / "1.20.1-cuda_ipc-y.txt").read_text())
    heard = check_memory(find("cuda_ipc"), LOAD, [log, log])
    assert heard.objections == ()
    assert heard.evidence.startswith("from GPU eager short by sysv, ")
    assert heard.evidence.endswith("from host memory some, not counted; copied by UCX up to 8240 B")
    assert check_memory(find("cuda_copy"), LOAD, [log, log]).objections


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.22.0", "UCX_PROTO_INFO did not reach the ranks"),
        ("1.20.1", "UCX 1.20.1 prints them only with UCX_PROTO_INFO=y: add"),
        ("1.13.1", "expected UCX 1.16 or later for cuda_ipc, .* found UCX 1.13.1: the path can't"),
        ("", "found UCX of no version"),
    ],
)
def test_a_ucx_without_tables_proves_nothing(version: str, words: str) -> None:
    silent = [UcxLog("n1", version, ())] * 2
    (objection,) = check_memory(find("cuda_ipc"), LOAD, silent).objections
    assert re.search(words, objection)
    assert check_memory(STAGED, LOAD, silent).objections == ()


def test_what_a_rank_sends_itself_says_nothing() -> None:
    log = read_ucx_log((DATA / "1.20.1-cuda_ipc-y.txt").read_text().replace("intra-node", "self"))
    assert log.protocols == ()


@pytest.mark.parametrize(
    ("asked", "other", "calls", "found"),
    [
        ("tcp", {}, 1700, ""),
        ("auto", {}, 1700, ""),
        ("rc", {}, 1700, "expected messages on rc_mlx5, rc_verbs for rc, found 2004 × eager"),
        ("tcp", {"tcp/eth0 |": "rc_verbs/rxe0:1 |"}, 1700, "expected messages on tcp for tcp"),
        # Without tables lanes and counters are the proof.
        ("rc", {"inter-node": "self"}, 1700, ""),
        ("tcp", {}, 5000, "4500 messages or more in UCX's counts for tcp, found 3604"),
        ("tcp", {"|  100": "|    0"}, 2000, "expected 1800 messages or more in UCX's counts"),
    ],
)
def test_counts_of_messages_are_held_against_lanes_and_calls(
    asked: str, other: dict[str, str], calls: int, found: str
) -> None:
    texts = (COUNTED / f"1.22.0-tcp-openmpi.{rank}.txt" for rank in (0, 1))
    recorded = [read_ucx_log(_altered(text.read_text(), other)) for text in texts]
    report = check_counts(find(asked), Load(0, calls), recorded)
    assert [found in each for each in report.objections] == [True] * bool(found), report
