"""Settings of RoCE ports, from what the tools print."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import run
from tests.node_health.trees import grow, write

pytestmark = pytest.mark.integration

NETDEV = "enp33s0f0np0"
MLNX_QOS = """DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0  \x20
\tbuffer      0   0   0   1   0   0   0   0  \x20
"""
DCB = """pfc-cap 8 macsec-bypass off delay 4096
prio-pfc 0:off 1:off 2:off 3:off 4:off 5:off 6:on 7:on
dscp-prio 26:3 48:6
order: dscp pcp
prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
buffer-size 0:130944b 1:130944b 2:0b 3:0b 4:0b 5:0b 6:0b 7:0b
total-size 261888b
"""
TALOS = "pfc-cap 8 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off delay 0\n"
NAMES = ("PFC priorities", "trust", "DSCP entries", "DSCP map")
BUFFERS = {
    "mlnx_qos": (MLNX_QOS, "130944,130944,0,0,0,0,0,0"),
    "dcb": (DCB, "0:130944b 1:130944b 2:0b 3:0b 4:0b 5:0b 6:0b 7:0b"),
    "lldptool": ("enabled=3\n", None),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "tree"))
    return grow(tmp_path / "tree", cards=1)


def facts() -> dict[str, str]:
    found: dict[str, str] = json.loads(run("node", "--json").output)["facts"]["mlx5_0:1"]
    return found


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({}, (None, None, None, None)),
        ({"mlnx_qos": MLNX_QOS},
         ("3", "dscp", None, "0 dscp:07,06,05,04,03,02,01,00 3 dscp:31,30,29,28,27,26,25,24")),
        ({"mlnx_qos": MLNX_QOS.replace("   1  ", "   0  ").replace(": dscp", ": pcp")},
         ("none", "pcp", None, "0 dscp:07,06,05,04,03,02,01,00 3 dscp:31,30,29,28,27,26,25,24")),
        ({"dcb": DCB}, ("6,7", "dscp", "26:3 48:6", None)),
        ({"dcb": TALOS}, ("3", None, None, None)),
        ({"dcb": DCB, "mlnx_qos": MLNX_QOS}, ("6,7", "dscp", "26:3 48:6", None)),
        ({"lldptool": "enabled=3\n"}, ("3", None, None, None)),
        ({"lldptool": "enabled=none\n"}, ("none", None, None, None)),
        ({"dcb": "prio-pfc 3:on\n", "mlnx_qos": ""}, (None, None, None, None)),
    ],
)  # fmt: skip
def test_settings_are_read_or_not_told(
    root: Path, outputs: dict[str, str], said: tuple[str | None, ...]
) -> None:
    for tool, text in outputs.items():
        write(root, f"{tool}/{NETDEV}", text)
    found = facts()
    assert tuple(found.get(name) for name in NAMES) == said


def test_ecn_traffic_class_and_gids(root: Path) -> None:
    assert not {"ECN priorities", "traffic class", "RDMA-CM ToS"} & facts().keys()
    for end in ("np", "rp"):
        for priority in range(8):
            on = int(priority == 3 or (end == "np" and priority == 5))
            write(root, f"sys/class/net/{NETDEV}/ecn/roce_{end}/enable/{priority}", f"{on}\n")
    write(root, "sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n")
    write(root, "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "104\n")
    found = facts()
    assert found["ECN priorities"] == "3"
    assert (found["traffic class"], found["RDMA-CM ToS"]) == ("106", "104")
    assert found["RoCE v2 GIDs"] == "1,3"


@pytest.mark.parametrize("tool", BUFFERS)
def test_buffers_are_a_fact_where_a_tool_tells_them(root: Path, tool: str) -> None:
    said, buffers = BUFFERS[tool]
    write(root, f"{tool}/{NETDEV}", said)
    assert facts().get("receive buffers") == buffers
