import os
import subprocess
import time
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.launch.disturbance import read_suffered
from fabricheck.transports.witness import (
    RANK_WRAPPER,
    read_ucx_complaints,
    read_witness,
    read_witnesses,
    unfinished_ranks,
)

pytestmark = pytest.mark.integration


def program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def run_rank(directory: Path, rank: int, *command: str, **env: str) -> int:
    return subprocess.run(
        [RANK_WRAPPER, *command],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "PMI_RANK": str(rank)} | env,
        check=False,
    ).returncode


def test_the_wrapper_witnesses_a_rank(tmp_path: Path) -> None:
    assert run_rank(tmp_path, 1, "true", FABRICHECK_PIN="cyclic") == 0
    assert run_rank(tmp_path, 0, "false") == 1
    first, second = read_witnesses(tmp_path)
    assert (first.rank, first.exit_code) == (0, 1)
    assert (second.rank, second.exit_code) == (1, 0)
    assert second.cpus == str(1 % os.cpu_count())  # type: ignore[operator]
    assert ("netdev", "lo", "rx_bytes") in second.moved
    assert first.below_ports == second.below_ports == frozenset()
    assert ("tcp", "sockets", "again") in second.moved


def test_the_first_rank_of_a_node_tells_what_its_cpus_did_and_each_what_it_took(
    tmp_path: Path,
) -> None:
    work = ("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    emulator = tmp_path / "schedstat"
    emulator.write_text("1 2 3\n")
    began = time.monotonic()
    assert run_rank(tmp_path, 0, *work, FABRICHECK_STEAL=str(tmp_path / "sched*")) == 0
    took = time.monotonic() - began
    assert run_rank(tmp_path, 1, "true", SLURM_LOCALID="1") == 0
    (suffered,) = read_suffered(tmp_path, shared=False)
    assert suffered.cpus == os.cpu_count()
    # Both are read in ticks of 10 ms. Its own time has what the wrapper asked of the node, too, and
    # that was before or after its seconds.
    assert 0 < suffered.own <= took + 0.02
    assert 0 < suffered.seconds <= took + 0.02
    (told,) = tmp_path.glob("node.*")
    assert told.read_text().count("schedstat:1 2 3\n") == 2
    assert not list(tmp_path.glob("times.*"))


def test_the_devices_of_the_node_go_where_a_program_wants_them(tmp_path: Path) -> None:
    command = ("sh", "-c", 'echo "devices=$CARDS" >cards')
    assert run_rank(tmp_path, 0, *command, FABRICHECK_DEVICES="CARDS", CARDS="other") == 0
    devices = sorted(path.name for path in Path("/sys/class/infiniband").glob("*"))
    assert (tmp_path / "cards").read_text() == f"devices={':'.join(devices)}\n"


def test_what_the_mpi_library_was_built_for_is_looked_up(tmp_path: Path) -> None:
    program(tmp_path / "ldd", 'echo "	libmpi.so.12 => $LIBRARY (0x7f)"')
    library = tmp_path / "libmpi.so.12"
    library.write_bytes(b"\0[ch3:sock] failed\0--with-device=ch3:mrail\0ch3:nemesis\0")
    asked = {"FABRICHECK_DEVICE_OF_MPI": "ch3:", "LIBRARY": str(library)}
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert run_rank(tmp_path, 0, "true", PATH=path, **asked) == 0
    assert run_rank(tmp_path, 1, "true") == 0
    assert [witness.device for witness in read_witnesses(tmp_path)] == ["ch3:nemesis", ""]


@pytest.mark.parametrize("kill", ["kill -9 $PPID", "kill -TERM $$"])
def test_a_rank_that_never_ends_is_named(tmp_path: Path, kill: str) -> None:
    run_rank(tmp_path, 3, "sh", "-c", kill)
    assert read_witnesses(tmp_path) == []
    assert str(unfinished_ranks(tmp_path)[0]).startswith("rank 3 on ")


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_damaged_witness_is_refused(tmp_path: Path, cut: int) -> None:
    run_rank(tmp_path, 0, "true")
    path = tmp_path / "witness.0"
    path.write_text(path.read_text()[:cut])
    with pytest.raises(FabricheckError, match=r"witness\.0"):
        read_witness(path)


def test_what_ucx_complained_of_is_told_once_and_the_reason_first(tmp_path: Path) -> None:
    (tmp_path / "ucx.rx1.7.log").write_text(
        "[1795252884.5] [rx1:7 :0]  sock.c:1   UCX  WARN  CPU affinity is not set (bound to 16)\n"
        "[1795252884.5] [rx1:7 :0]  ib_device.c:1405 UCX  DIAG  invalid gid[99] on rxe0:1\n"
        "[1795252884.5] [rx1:7 :0]  ucp_context.c:1014 UCX  WARN  network device 'x:1' is not "
        "available, please use one or more of: 'rxe0:1'(ib)\n"
        "[1795252885.7] [rx1:7 :0]  libperf.c:1080 UCX  ERROR ucp_ep_create() failed\n"
        "[1795252885.8] [rx1:7 :0]  ib_device.c:1405 UCX  DIAG  invalid gid[99] on rxe0:1\n"
        "[1795252885.8] [rx1:7 :0]  parser.c:1916 UCX  INFO  UCX_* env variables: UCX_TLS=rc\n"
    )
    (tmp_path / "ucx.rx3.9.log").write_text(
        "[1795252885.7] [rx3:9 :0]  ucp_context.c:1479 UCX  WARN  transports 'cuda_copy',"
        "'cuda_ipc' are not available, please use one or more of: cma, posix, self\n"
    )
    (tmp_path / "ucx.rx2.9.log").write_text(
        "[1795252885.7] [rx2:9 :0]  ud_ep.c:276  UCX  FATAL UD endpoint: unhandled timeout error\n"
    )
    assert read_ucx_complaints(tmp_path) == [
        "on rx1: invalid gid[99] on rxe0:1",
        "on rx1: network device 'x:1' is not available, please use one or more of: 'rxe0:1'(ib)",
        "on rx1: ucp_ep_create() failed",
        "on rx2: UD endpoint: unhandled timeout error",
        "on rx3: transports 'cuda_copy','cuda_ipc' are not available, please use one or more of: "
        "cma, posix, self",
    ]
