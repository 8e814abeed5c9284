import re
from pathlib import Path

from fabricheck_testbed.layout import Layout
from fabricheck_testbed.slurm_conf import hosts, slurm_conf

FILES = Layout(Path("/state"))


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_nodes_claim_their_cpus_in_one_partition() -> None:
    found = settings(slurm_conf(FILES, nodes=4, cpus_per_node=8, memory_mb=2000))
    assert found["NodeName"] == (
        "n[1-4] NodeAddr=10.77.0.[1-4] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 "
        "RealMemory=2000 Feature=veth State=UNKNOWN"
    )
    assert found["PartitionName"].startswith("main Nodes=n[1-4] Default=YES ")
    assert found["SlurmdParameters"] == "config_overrides"
    assert found["AuthInfo"] == "socket=/state/run/munge.sock"


def test_a_single_node_is_not_a_range() -> None:
    text = slurm_conf(FILES, nodes=1, cpus_per_node=4, memory_mb=2000)
    assert "NodeName=n1 NodeAddr=10.77.0.1 " in text
    assert "[1-1]" not in text


def test_no_key_is_empty() -> None:
    # Slurm refuses the whole file for one "Key=" without a value.
    assert not re.search(r"=\s", slurm_conf(FILES, nodes=2, cpus_per_node=4, memory_mb=2000))


def test_lost_nodes_end_their_jobs_and_come_back() -> None:
    found = settings(slurm_conf(FILES, nodes=2, cpus_per_node=4, memory_mb=2000))
    assert (found["JobRequeue"], found["SlurmdTimeout"], found["ReturnToService"]) == (
        "1",
        "10",
        "2",
    )


def test_every_host_is_in_etc_hosts() -> None:
    assert hosts(["login", "n1", "rx2"]) == (
        "127.0.0.1 localhost\n10.77.0.254 login\n10.77.0.1 n1\n10.77.0.202 rx2\n"
    )
