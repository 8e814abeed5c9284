"""The meeting of a server and its client, with programs that fail in every way."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.waiting import wait_until

from fabricheck.errors import FabricheckError
from fabricheck.transports.pair import PAIR_WRAPPER, arguments, read_faults, read_runs, read_version

# They listen on the same ports.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("pair")]

JOB = 7
FIRST_PORT = 18515 + JOB * 40
LIMITS = {"FABRICHECK_PAIR_WAIT": "3", "FABRICHECK_PAIR_GRACE": "2", "FABRICHECK_PAIR_LIMIT": "20"}

# A server and a client that speak TCP. --server-MODE and --client-MODE make one end misbehave.
PROGRAM = """
import os, socket, sys, time
arguments = sys.argv[1:]
port = int(arguments[arguments.index("-p") + 1])
server = arguments[-2] == "-p"
role = "server" if server else "client"
def asked(mode):
    return f"--{role}-{mode}" in arguments
if "--like-mpi" in arguments and not os.isatty(0):
    sys.exit("This test should be run with exactly 2 processes in p2p case (actual: 1)")
if asked("dies-first"):
    sys.exit("no such device")
if server:
    if asked("deaf"):
        time.sleep(60)
    listener = socket.create_server(("", port))
    talk, _ = listener.accept()
else:
    talk = socket.create_connection((arguments[-1], port))
if asked("dies"):
    sys.exit("out of memory")
if asked("hangs"):
    open(role + ".hangs", "w").close()
    time.sleep(60)
if server:
    talk.sendall(b"hello")
    print("served", *arguments)
else:
    print("heard", talk.recv(5).decode(), *arguments)
if asked("stays"):
    time.sleep(60)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "chat"
    path.write_text(f"#!{sys.executable}\n{PROGRAM}")
    path.chmod(0o755)
    return path


def start(rank: int, directory: Path, *command: object, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PAIR_WRAPPER, *map(str, command)],
        cwd=directory,
        env={
            "PATH": os.environ["PATH"],
            "SLURM_PROCID": str(rank),
            "SLURM_JOB_ID": str(JOB),
            **LIMITS,
            **env,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Ended:
    """Exit codes and outputs of both ends."""

    def __init__(
        self, directory: Path, *command: object, ranks: tuple[int, ...] = (0, 1), **env: str
    ) -> None:
        ends = {rank: start(rank, directory, *command, **env) for rank in ranks}
        texts = {rank: end.communicate(timeout=60) for rank, end in ends.items()}
        self.codes = {rank: end.returncode for rank, end in ends.items()}
        self.stdout = texts.get(1, ("", ""))[0]
        self.faults = {rank: text[1] for rank, text in texts.items()}
        self.said = [
            line
            for rank in sorted(texts)
            for line in texts[rank][1].splitlines()
            if line.startswith("pair: ")
        ]


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    wait_until(lambda: not _processes_in(tmp_path), lambda: f"left: {_processes_in(tmp_path)}")


def _processes_in(directory: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == directory:
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_client_and_server_meet(tmp_path: Path, program: Path) -> None:
    ended = Ended(tmp_path, program, "--size", "8")
    assert ended.codes == {0: 0, 1: 0}, ended.faults
    host = socket.gethostname()
    assert ended.stdout.splitlines() == [
        f"pair: run 1 of 1: {program} --size 8",
        f"heard hello --size 8 -p {FIRST_PORT} {host}",
        "pair: run 1 ended",
    ]
    assert (tmp_path / "server.out").read_text().splitlines() == [
        f"pair: run 1: {program} --size 8 -p {FIRST_PORT}",
        f"served --size 8 -p {FIRST_PORT}",
    ]
    assert ended.said == []


def test_several_runs_in_one_job(tmp_path: Path, program: Path) -> None:
    ended = Ended(tmp_path, program, "-x", "1", ":::", "-s", "2", ":::", "-s", "4", "-n", "9")
    assert ended.codes == {0: 0, 1: 0}, ended.faults
    heard = [line.partition(" -p ")[0] for line in ended.stdout.splitlines() if "heard" in line]
    assert heard == ["heard hello -x 1 -s 2", "heard hello -x 1 -s 4 -n 9"]
    assert ended.stdout.splitlines()[-1] == "pair: run 2 ended"


def test_jobs_of_other_schedulers_have_ranks_and_ports_of_their_own(
    tmp_path: Path, program: Path
) -> None:
    pbs = {"SLURM_PROCID": "", "SLURM_JOB_ID": "", "PBS_JOBID": f"{JOB}[3].server"}
    server, client = (start(rank, tmp_path, program, **pbs, PMIX_RANK=str(rank)) for rank in (0, 1))
    heard = client.communicate(timeout=60)[0]
    assert (server.wait(60), client.returncode) == (0, 0)
    assert f"-p {FIRST_PORT} " in heard
    assert (tmp_path / f"pair.{JOB}.0.0").is_dir()


def test_the_servers_of_all_runs_listen_before_the_first_client_starts(
    tmp_path: Path, program: Path
) -> None:
    command = arguments(str(program), [], [["-s", str(size)] for size in range(4)])
    ended = Ended(tmp_path, *command, ranks=(0,))
    meeting = tmp_path / f"pair.{JOB}.0.0"
    lines = [line.split()[:2] for line in (meeting / "servers").read_text().splitlines()]
    assert lines == [[str(run), str(FIRST_PORT + run - 1)] for run in range(1, 5)]
    assert len((tmp_path / "server.out").read_text().splitlines()) == 4
    # None of the four is left, though only the first one's turn came.
    assert ended.codes == {0: 1}


def test_a_later_server_that_can_not_start_stops_all_of_them(tmp_path: Path, program: Path) -> None:
    ended = Ended(tmp_path, program, ":::", "-s", "2", ":::", "--server-dies-first")
    assert "pair: run 2: the server" in ended.said[0]
    assert "its last words: no such device" in ended.said[0]
    assert "heard" not in ended.stdout


def test_a_taken_port_is_passed_over(tmp_path: Path, program: Path) -> None:
    with socket.create_server(("", FIRST_PORT)):
        ended = Ended(tmp_path, program)
    assert ended.codes == {0: 0, 1: 0}, ended.faults
    assert f"-p {FIRST_PORT + 1} " in ended.stdout


def test_all_ports_taken(tmp_path: Path, program: Path) -> None:
    with ExitStack() as stack:
        for port in range(FIRST_PORT, FIRST_PORT + 40):
            stack.enter_context(socket.create_server(("", port)))
        ended = Ended(tmp_path, program)
    assert ended.codes == {0: 1, 1: 1}
    assert ended.said == [
        f"pair: run 1: expected a free port from {FIRST_PORT} to {FIRST_PORT + 39} on "
        f"{socket.gethostname()}, found all of them taken: end what listens there (ss -ltnp)"
    ]


@pytest.mark.parametrize(
    ("rank", "words"),
    [
        (1, "the client on {} found no server within 3 s: rank 0 did not start"),
        (0, "the server on {} had no client within 3 s: rank 1 did not start"),
    ],
)
def test_an_end_without_the_other(tmp_path: Path, program: Path, rank: int, words: str) -> None:
    ended = Ended(tmp_path, program, ranks=(rank,))
    assert ended.codes == {rank: 1}
    assert ended.said == [f"pair: run 1: {words.format(socket.gethostname())}"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("--server-dies-first",
         "ended with exit code 1 before it listened, its last words: no such"),
        ("--server-deaf", "did not listen on port 18795 within 3 s"),
        ("--server-dies", "ended with exit code 1, its last words: out of memory"),
        ("--server-stays", "the server on HOST did not end within 2 s after the other end"),
        ("--client-dies-first", "the client PROGRAM on HOST ended with exit code 1"),
        ("--client-stays", "the client on HOST did not end within 2 s after the other end"),
    ],
)  # fmt: skip
def test_an_end_that_fails_is_named(
    tmp_path: Path, program: Path, fault: str, message: str
) -> None:
    ended = Ended(tmp_path, program, fault)
    expected = message.replace("HOST", socket.gethostname()).replace("PROGRAM", str(program))
    assert any(expected in line and line.startswith("pair: run 1: ") for line in ended.said), (
        ended.faults
    )
    assert any(ended.codes.values())


def test_a_program_that_starts_mpi_unless_its_input_is_a_terminal(
    tmp_path: Path, program: Path
) -> None:
    (tmp_path / "without").mkdir()
    ended = Ended(tmp_path / "without", program, "--like-mpi")
    assert any("exactly 2 processes" in line for line in ended.said)
    ended = Ended(tmp_path, program, "--like-mpi", FABRICHECK_PAIR_INPUT="/dev/ptmx")
    assert ended.codes == {0: 0, 1: 0}, ended.faults


def test_a_run_that_hangs_on_both_ends_is_bounded(tmp_path: Path, program: Path) -> None:
    ends = [
        start(
            rank, tmp_path, program, "--server-hangs", "--client-hangs", FABRICHECK_PAIR_LIMIT="2"
        )
        for rank in (0, 1)
    ]
    texts = [end.communicate(timeout=60)[1] for end in ends]
    assert all(end.returncode for end in ends)
    assert any("did not end within 2 s: a hang, or a fabric far slower" in text for text in texts)


def test_a_program_that_is_not_installed(tmp_path: Path) -> None:
    ended = Ended(tmp_path, "ib_no_such_bw")
    host = socket.gethostname()
    missing = f"pair: expected the program ib_no_such_bw on PATH of {host}, found none: install it"
    assert ended.codes == {0: 1, 1: 1}
    assert [line[: len(missing)] for line in ended.said] == [missing, missing]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_end_that_is_ended_takes_its_program_along(
    tmp_path: Path, program: Path, rank: int
) -> None:
    ends = [start(each, tmp_path, program, "--server-hangs", "--client-hangs") for each in (0, 1)]
    wait_until(lambda: len(list(tmp_path.glob("*.hangs"))) == 2, "both programs hang")
    ends[rank].send_signal(signal.SIGTERM)
    texts = [end.communicate(timeout=60)[1] for end in ends]
    assert all(end.returncode for end in ends)
    assert "ended by a signal" in texts[1 - rank]


def test_an_earlier_attempt_is_not_read(tmp_path: Path, program: Path) -> None:
    assert Ended(tmp_path, program).codes == {0: 0, 1: 0}
    again = Ended(tmp_path, program)
    assert again.codes == {0: 1, 1: 1}
    assert all("found one of an earlier attempt: remove it" in line for line in again.said)


def test_arguments_and_output_belong_together(tmp_path: Path, program: Path) -> None:
    command = arguments(str(program), ["-x", "1"], [["-s", "2"], ["-s", "4"]])
    text = Ended(tmp_path, *command).stdout
    first, second = read_runs(text, 2)
    assert first.startswith("heard hello -x 1 -s 2 ")
    assert second.startswith("heard hello -x 1 -s 4 ")
    assert read_faults("pair: one\nsrun: error\npair: two\npair: one\n") == ("one", "two")


OUTPUT = "pair: run 1 of 2: p\na\npair: run 1 ended\npair: run 2 of 2: p\nb\npair: run 2 ended\n"


@pytest.mark.parametrize("dropped", [0, 2, 3, 5])
def test_a_run_without_beginning_or_end_is_refused(dropped: int) -> None:
    assert read_runs(OUTPUT, 2) == ["a\n", "b\n"]
    lines = OUTPUT.splitlines(keepends=True)
    with pytest.raises(FabricheckError, match="expected"):
        read_runs("".join(lines[:dropped] + lines[dropped + 1 :]), 2)


@pytest.mark.parametrize("text", [OUTPUT * 2, OUTPUT.replace("of 2", "of 3"), ""])
def test_other_outputs_are_refused(text: str) -> None:
    with pytest.raises(FabricheckError, match="expected"):
        read_runs(text, 2)


def with_version(directory: Path, *versions: str) -> list[Path]:
    """A program for each end, in a folder of its own, that also tells a version."""
    programs = []
    for rank, version in enumerate(versions):
        folder = directory / f"path{rank}"
        folder.mkdir()
        path = folder / "chat"
        tell = f'import sys\nif "--version" in sys.argv: sys.exit("\\nVersion: {version}")\n'
        path.write_text(f"#!{sys.executable}\n{tell}{PROGRAM}")
        path.chmod(0o755)
        programs.append(path)
    return programs


@pytest.mark.parametrize("server", ["6.06", "6.25"])
def test_both_ends_must_have_the_same_version(tmp_path: Path, server: str) -> None:
    ends = [
        start(
            rank,
            tmp_path,
            "chat",
            PATH=f"{path.parent}:{os.environ['PATH']}",
            FABRICHECK_PAIR_VERSION="--version",
        )
        for rank, path in enumerate(with_version(tmp_path, server, "6.06"))
    ]
    (_, _), (out, errors) = (end.communicate(timeout=60) for end in ends)
    if server == "6.06":
        assert [end.returncode for end in ends] == [0, 0], errors
        assert read_version(out) == "6.06"
        return
    host = socket.gethostname()
    assert all(end.returncode for end in ends)
    assert errors.splitlines() == [
        "pair: expected the same version of chat at both ends, found 'Version: 6.25' on "
        f"{host} and 'Version: 6.06' on {host}: install one"
    ]
