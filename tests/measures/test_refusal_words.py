"""What is no table of ours is refused by its name: other programs' outputs, and crashes."""

import pytest
from tests.refusals import refused

from fabricheck.errors import ParseError
from fabricheck.measures.parser import parse

UNREAD = {
    "osu_latency_mp": "# OSU MPI Multi-process Latency Test v5.6.3\n0 0.2\n",
    "mpiGraph": "START mpiGraph v1.6\n",
    "iperf3": "[ ID] Interval           Transfer     Bitrate\n",
    "iperf": "Client connecting to n2, TCP port 5001\n",
    "NetPIPE": "  0:       1 bytes   2462 times -->      0.06 Mbps in     122.09 usec\n",
    "sockperf": "sockperf: == version #3.7-no.git == \n",
    "nxnlatbw": "8,0,2.04,3038.883001 \n",
    "fabtests of libfabric": "bytes   #sent   #ack     total       time     MB/sec\n",
    "HPL": "HPLinpack 2.3  --  High-Performance Linpack benchmark\n",
}


@pytest.mark.parametrize("program", UNREAD)
def test_the_output_of_another_program_is_named(program: str) -> None:
    with refused("FC3606", f"the output of {program}, which is not read"):
        parse(UNREAD[program], "out")


TITLE = "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.5\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        TITLE,
        "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n",
    ],
)
def test_a_crash_is_the_news(text: str) -> None:
    line = "srun: error: nid1: task 0: Segmentation fault (core dumped)"
    with refused("FC3605", "the program ended with 'srun: error: nid1: task 0: Segmentation fault"):
        parse(f"{text}{line}\n", "out")


TABLE = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1 1.25\n2 1.26\n"
# How launchers and libraries say that a rank died: Hydra, Open MPI 4 and 5, Slurm, UCX.
ENDS = [
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 11 (Segmentation "
    "fault).",
    "[n1:12345] Signal: Segmentation fault (11)",
    "prterun noticed that process rank 1 with PID 9 on node n1 exited on signal 11.",
    "srun: error: n1: task 1: Segmentation fault",
    "[n1:77 :0:77] Caught signal 11 (Segmentation fault: address not mapped to object)",
]


@pytest.mark.parametrize("line", ENDS)
def test_a_table_that_a_crash_cut_is_no_shorter_curve(line: str) -> None:
    assert len(parse(TABLE, "out").points) == 2
    with refused("FC3605", "rows may be missing"):
        parse(f"{TABLE}{line}\n", "out")


BARRIER = """# OSU MPI Non-blocking Barrier Latency Test v5.7.1
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

  Overall(us)  Compute(us)  Coll. Init(us)  MPI_Test(us)  MPI_Wait(us)  Pure Comm.(us)  Overlap(%)
        89.72        68.02            5.67          0.00         15.91           63.15       65.64
"""


def test_osu_5_names_the_columns_of_barriers_without_a_mark() -> None:
    (point,) = parse(BARRIER, "out").points
    assert (point.size, sorted(point.values.values())) == (None, [63.15, 65.64, 89.72])


def test_and_5_6_has_two_columns_fewer() -> None:
    columns = "       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)"
    row = "              8.85              5.04              4.02              5.04"
    head = "".join(BARRIER.splitlines(keepends=True)[:3]).replace("5.7.1", "5.6.3")
    (point,) = parse(f"\n{head}{columns}\n{row}\n", "out").points
    assert (point.size, sorted(point.values.values())) == (None, [4.02, 5.04, 8.85])


def test_columns_are_named_once() -> None:
    lines = BARRIER.splitlines(keepends=True)
    with pytest.raises(ParseError, match="found a second"):
        parse("".join([*lines[:4], lines[3], lines[4]]), "out")
