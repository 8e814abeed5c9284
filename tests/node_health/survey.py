"""Healthy nodes and their survey, for tests that break one thing."""

import dataclasses
from typing import Any

from fabricheck.node_health.clocks import Skew
from fabricheck.node_health.facts import Facts, NumaNode, PortFacts
from fabricheck.node_health.rules import judge
from fabricheck.node_health.survey import Expectations, Line, Survey

CARD = PortFacts("mlx5_0:1", numa=0, interface="ens1", state="ACTIVE")
SOFTWARE = PortFacts("rxe0:1", numa=None, interface="eth0", state="ACTIVE")

HEALTHY = Facts(
    node="n1",
    kernel="6.1.0-56-amd64",
    virtual=False,
    locks_freely=False,
    memlock=None,
    cpus=frozenset({0}),
    governors={0: "performance", 1: "performance"},
    transparent_hugepages="madvise",
    hugepages={1 << 21: 0},
    numa=(
        NumaNode(0, frozenset({0}), (10, 21)),
        NumaNode(1, frozenset({1}), (21, 10)),
    ),
    interfaces={"lo": 65536, "eth0": 1500, "ens1": 9000},
    ports=(CARD,),
    cards={
        "mlx5_0": {"firmware": "22.39", "PCIe link": "x16 16 GT/s", "module temperature": "45 C"},
        "mlx5_0:1": {"state": "ACTIVE"},
    },
    versions={"openmpi": "Open MPI v4.1.4", "ucx": "Version 1.13.1", "osu": "OSU Test v7.4"},
    clock=0,
)


def node(number: int = 1, **changes: Any) -> Facts:
    return dataclasses.replace(HEALTHY, node=f"n{number}", **changes)


def survey(*nodes: Facts, **changes: Any) -> Survey:
    """A healthy survey of these nodes; two healthy ones if none is named."""
    told = nodes or (node(1), node(2))
    healthy = Survey(
        told,
        Expectations(rdma=True),
        launcher="srun",
        skews={each.node: Skew(0.0, 0.001) for each in told} if len(told) > 1 else {},
    )
    return dataclasses.replace(healthy, **changes)


def lines_of(rule: str, surveyed: Survey) -> list[Line]:
    return [line for line in judge(surveyed) if line.rule == rule]


def line_of(rule: str, surveyed: Survey, name: str = "n1") -> Line:
    """The only line of a rule on a node."""
    (line,) = (line for line in lines_of(rule, surveyed) if name in line.nodes)
    return line
