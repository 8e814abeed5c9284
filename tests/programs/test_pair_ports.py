"""Scripts that find ports that are down before MPI waits for them, and leave their nodes out."""

import subprocess
from pathlib import Path

import pytest

from fabricheck.programs.pair_health import launch
from fabricheck.schedulers import launcher_of

pytestmark = pytest.mark.integration

FOLDER = Path(launch.__file__).parent


def told(directory: Path, *words: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "SLURMD_NODENAME": "n1"}
    command = ["sh", str(FOLDER / "ports.sh"), *words]
    subprocess.run(command, cwd=directory, env=environment, check=True)
    return (directory / "port.n1").read_text()


def test_ports_that_are_not_there_are_down(tmp_path: Path) -> None:
    assert told(tmp_path, "sockets") == "up\n"
    assert told(tmp_path, "sockets", "none0", "none1") == "down none0 none1\n"
    assert told(tmp_path, "rdma", "none_0:1") == "down none_0:1\n"
    assert told(tmp_path, "rdma", "gid=fd00:0001*", "netdev=none0") == (
        "down gid=fd00:0001* netdev=none0\n"
    )


def test_nodes_with_a_dead_port_are_left_out(tmp_path: Path) -> None:
    def options() -> str:
        command = ["sh", str(FOLDER / "without.sh"), launcher_of("srun").leaving_out]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    assert options() == ""
    for node, state in (("n1", "up"), ("n2", "down eth0"), ("n3", "up"), ("n4", "down eth0")):
        (tmp_path / f"port.{node}").write_text(f"{state}\n")
    assert options() == "--exclude=n2,n4 --nodes=2 --ntasks=2\n"
