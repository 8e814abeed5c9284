"""What a node says of itself for the record, from trees made as real ones are."""

import subprocess
from pathlib import Path

import pytest

from fabricheck.node_health.facts import NODE_PROBE
from fabricheck.nodes.machine import read_machines
from fabricheck.nodes.told import SCRIPT
from fabricheck.record.facts import MACHINE
from fabricheck.transports.witness import RANK_WRAPPER

pytestmark = pytest.mark.integration

TREE = {
    "proc/uptime": "17.5 30.0\n",
    "proc/sys/kernel/osrelease": "5.14.0-427.el9.x86_64\n",
    "proc/cmdline": "BOOT_IMAGE=(hd0)/vmlinuz root=UUID=1 mitigations=off iommu=pt [x]*\n",
    "proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0x2b000590\nflags\t\t: fpu\n",
    "etc/os-release": 'NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n',
    "usr/lib64/libibverbs.so.1.14.47.0": "",
    "sys/module/mlx5_core/version": "24.04-0.6.6\n",
    "sys/class/dmi/id/sys_vendor": "Dell Inc.\n",
    "sys/class/dmi/id/product_name": "PowerEdge R650\n",
    "sys/class/dmi/id/bios_version": "1.13.2\n",
    "sys/class/dmi/id/bios_date": "12/19/2023\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave\n",
    "sys/class/infiniband/mlx5_0/fw_ver": "28.39.1002\n",
    "sys/class/infiniband/mlx5_0/board_id": "MT_0000000838\n",
    "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "sys/class/infiniband/mlx5_1/fw_ver": "28.39.1002\n",
    "sys/class/net/ib0/mtu": "4092\n",
    "sys/class/net/lo/mtu": "65536\n",
    "sys/class/net/veth12/mtu": "1500\n",
}
FACTS = {
    "kernel": "5.14.0-427.el9.x86_64",
    "kernel_options": "mitigations=off iommu=pt [x]*",
    "os": "Rocky Linux 9.4 (Blue Onyx)",
    "bios": "Dell Inc. PowerEdge R650 1.13.2 12/19/2023",
    "microcode": "0x2b000590",
    "governor": "performance, powersave",
    "ofed": "mlx5_core 24.04-0.6.6",
    "rdma_core": "libibverbs 1.14.47.0",
    "firmware": "mlx5_0 28.39.1002 (MT_0000000838), mlx5_1 28.39.1002",
    "link": "mlx5_0:1 400 Gb/sec (4X NDR)",
    "mtu": "ib0 4092",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    (tmp_path / "stage").mkdir()
    return tmp_path / "stage"


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(
    ("variables", "left_out"),
    [({}, set()), ({"FABRICHECK_CONTAINER": "yes"}, {"os", "rdma_core"})],
    ids=["node", "container"],
)
def test_every_fact_is_read(
    tree: Path, stage: Path, shell: str, variables: dict[str, str], left_out: set[str]
) -> None:
    with (stage / "node.n1").open("w") as file:
        environment = {"FABRICHECK_NODE_ROOT": str(tree), **variables}
        command = [shell, SCRIPT, "now", "node", "ports"]
        subprocess.run(command, stdout=file, env=environment, check=True)
    expected = {name: fact for name, fact in FACTS.items() if name not in left_out}
    assert read_machines(stage) == {"n1": expected}
    assert set(FACTS) == set(MACHINE)


def test_a_node_that_tells_nothing_has_no_facts(tmp_path: Path, stage: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/uptime").write_text("17.5 30.0\n")
    (tmp_path / "proc/cmdline").write_text("\n")
    with (stage / "node.n1").open("w") as file:
        environment = {"FABRICHECK_NODE_ROOT": str(tmp_path)}
        subprocess.run([SCRIPT, "now", "node"], stdout=file, env=environment, check=True)
    assert read_machines(stage) == {"n1": {}}


def test_the_wrapper_of_ranks_and_the_probe_of_nodes_leave_the_same(tree: Path, stage: Path):
    environment = {"PATH": "/usr/bin:/bin", "FABRICHECK_NODE_ROOT": str(tree)}
    subprocess.run([RANK_WRAPPER, "true"], cwd=stage, env=environment, check=True)
    probe = {**environment, "SLURMD_NODENAME": "n7"}
    subprocess.run([NODE_PROBE], cwd=stage, env=probe, input=b"", check=True)
    found = read_machines(stage)
    assert len(found) == 2
    assert all(facts == FACTS for facts in found.values())


def test_only_the_first_rank_of_a_node_tells_it(stage: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "SLURM_LOCALID": "1"}
    subprocess.run([RANK_WRAPPER, "true"], cwd=stage, env=environment, check=True)
    assert read_machines(stage) == {}


CUT = "told now n1 17.5\nproc/cmdline:quiet\nproc/sys/kernel/osrelease:6.1\n"


@pytest.mark.parametrize("text", ["", CUT, "kernel 6.1\nend\n"])
def test_facts_that_are_cut_say_nothing(stage: Path, text: str) -> None:
    (stage / "node.n1").write_text(text)
    (stage / "node.n2.part").write_text(f"{CUT}end\n")
    assert read_machines(stage) == {}
