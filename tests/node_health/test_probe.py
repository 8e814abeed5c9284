"""What the probe reads from a machine, and from trees that are made as real ones are."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest
from tests.node_health.conftest import Probe

from fabricheck.node_health.facts import NODE_PROBE, NumaNode, PortFacts, read_facts
from fabricheck.node_health.nodes import probe_arguments

pytestmark = pytest.mark.integration

WHERE = {"PATH": os.environ["PATH"]}
CARD = "class/infiniband/mlx5_0"
CPU = "devices/system/cpu"
NODE = "devices/system/node"


def install(directory: Path, command: str, script: str) -> str:
    """A program that stands in for a command; the ``PATH`` on which it is the first."""
    directory.mkdir(exist_ok=True)
    (directory / command).write_text(f"#!/bin/sh\n{script}\n")
    (directory / command).chmod(0o755)
    return f"{directory}:/usr/bin:/bin"


def ask(directory: Path, node: str, questions: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["dash", NODE_PROBE], cwd=directory, env=WHERE | {"SLURMD_NODENAME": node},
        input=questions, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_this_machine_tells_its_facts(tmp_path: Path) -> None:
    subprocess.run(["dash", NODE_PROBE, "ucx"], cwd=tmp_path, input=b"", check=True)
    (path,) = tmp_path.glob("node.*")
    facts = read_facts(path)
    host = os.uname()
    assert (facts.node, facts.kernel) == (host.nodename.split(".")[0], host.release)
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    assert facts.memlock == (None if limit == resource.RLIM_INFINITY else limit)
    assert facts.cpus == os.sched_getaffinity(0)
    assert facts.interfaces["lo"] == 65536
    assert facts.clock > 1_700_000_000_000_000_000


def test_a_node_that_has_nothing_tells_nothing(probe: Probe) -> None:
    facts = probe({}, "ucx", "openmpi==ompi_info --version", PATH="/bin")
    assert facts.governors == {}
    assert facts.hugepages == {}
    assert facts.transparent_hugepages == ""
    assert (facts.numa, facts.ports, facts.interfaces) == ((), (), {})


def test_governors_pages_and_numa_nodes(probe: Probe) -> None:
    facts = probe(
        {
            f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
            f"{CPU}/cpu11/cpufreq/scaling_governor": "powersave\n",
            "kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "1024\n",
            "kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "0\n",
            f"{NODE}/node0/cpulist": "0,2\n",
            f"{NODE}/node1/cpulist": "1,3\n",
            f"{NODE}/node0/distance": "10 21\n",
            f"{NODE}/node1/distance": "21 10\n",
        }
    )
    assert facts.governors == {0: "performance", 11: "powersave"}
    assert facts.transparent_hugepages == "madvise"
    assert facts.hugepages == {1 << 21: 1024, 1 << 30: 0}
    assert facts.numa == (
        NumaNode(0, frozenset({0, 2}), (10, 21)),
        NumaNode(1, frozenset({1, 3}), (21, 10)),
    )


def test_a_card_on_roce(probe: Probe) -> None:
    facts = probe(
        {
            f"{CARD}/device/numa_node": "1\n",
            f"{CARD}/ports/1/state": "4: ACTIVE\n",
            f"{CARD}/ports/1/gid_attrs/ndevs/0": "ens1f0\n",
            f"{CARD}/ports/2/state": "1: DOWN\n",
            "class/net/ens1f0/mtu": "9000\n",
        }
    )
    assert facts.ports == (
        PortFacts("mlx5_0:1", 1, "ens1f0", "ACTIVE"),
        PortFacts("mlx5_0:2", 1, "", "DOWN"),
    )
    assert facts.interfaces == {"ens1f0": 9000}


def test_a_card_on_infiniband(probe: Probe) -> None:
    facts = probe(
        {
            f"{CARD}/device/numa_node": "-1\n",
            f"{CARD}/device/net/ib0/mtu": "2044\n",
            f"{CARD}/ports/1/state": "2: INIT\n",
        },
    )
    assert facts.ports == (PortFacts("mlx5_0:1", -1, "ib0", "INIT"),)


def test_software_on_an_interface_is_no_card(probe: Probe) -> None:
    facts = probe(
        {
            "class/infiniband/rxe0/ports/1/state": "4: ACTIVE\n",
            "class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0": "v0\n",
        }
    )
    assert facts.ports == (PortFacts("rxe0:1", None, "v0", "ACTIVE"),)


@pytest.mark.parametrize(
    ("names", "prints", "told"),
    [
        (("ucx", "ucx_info"), "# Version 1.13.1\n# Git branch\n", "Version 1.13.1"),
        (("openmpi", "ompi_info"), "Open MPI v4.1.4\n\nhttp\n", "Open MPI v4.1.4"),
        (("mpich", "mpichversion"), "MPICH Version:\t4.0.2\n", "MPICH Version: 4.0.2"),
        (("mvapich2", "mpichversion"), "MVAPICH2 Version: \t2.3.7\n", "MVAPICH2 Version: 2.3.7"),
        (("osu", "osu_latency"), "\n# OSU MPI Latency Test v7.4\n", "OSU MPI Latency Test v7.4"),
        (("osu", "osu_bw"), "# OSU MPI Bandwidth Test v7.4\n", ""),
    ],
)
def test_programs_tell_their_versions(
    probe: Probe, tmp_path: Path, names: tuple[str, str], prints: str, told: str
) -> None:
    program, command = names
    path = install(tmp_path / "bin", command, f"printf '{prints}'")
    asked = program if program in ("ucx", "osu") else probe_arguments(program, "mpicc")[0]
    facts = probe({}, asked, PATH=path)
    assert facts.versions == {program: told}


def test_a_program_in_a_folder_of_its_own_comes_first(probe: Probe, tmp_path: Path) -> None:
    install(tmp_path / "own", "mpichversion", "echo MVAPICH2 Version: 2.3.7")
    path = install(tmp_path / "others", "mpichversion", "echo MPICH Version: 4.0.2")
    facts = probe({}, f"mvapich2={tmp_path / 'own'}=mpichversion", "mpich==mpichversion", PATH=path)
    assert facts.versions == {
        "mvapich2": "MVAPICH2 Version: 2.3.7",
        "mpich": "MPICH Version: 4.0.2",
    }


def test_a_benchmark_is_asked_alone(probe: Probe, tmp_path: Path) -> None:
    """Below a launcher it would wait for ranks that do not come."""
    path = install(tmp_path / "bin", "osu_latency", 'echo "v7 in ${SLURM_JOB_ID:-no job}"')
    facts = probe({}, "osu", PATH=path, SLURM_JOB_ID="17")
    assert facts.versions == {"osu": "v7 in no job"}


def test_the_probe_answers_each_question(tmp_path: Path) -> None:
    done = ask(tmp_path, "n7", "1\n2\n")
    assert done.returncode == 0
    assert re.fullmatch(r"answer 1 n7 \d{19}\nanswer 2 n7 \d{19}\n", done.stdout)


def test_a_probe_that_cannot_write_leaves_nothing_whole(tmp_path: Path) -> None:
    (tmp_path / "node.n1" / "node.n1.part").mkdir(parents=True)
    assert ask(tmp_path, "n1", "").returncode == 2


def test_what_is_asked_no_time_does_not_wait_for_the_end_of_its_input(tmp_path):
    # As Hydra leaves it open on every host but the first.
    process = subprocess.Popen(
        ["dash", NODE_PROBE, "--once"],
        cwd=tmp_path, env=WHERE | {"SLURMD_NODENAME": "n1"}, stdin=subprocess.PIPE,
    )  # fmt: skip
    assert process.wait(60) == 0
    assert (tmp_path / "node.n1").exists()
    assert process.stdin is not None
    process.stdin.close()
