from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.localise.recorded import infiniband, lldp, load, slurm

TREE = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n3,n4
SwitchName=spines Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]
"""
BLOCKS = """\
BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2
BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2
"""
# Two leaves of one node and two spines; leaf1 and spine1 have names, the spines share one.
FABRIC = """\
#
# Topology file: generated on Sun Nov 22 10:00:00 2026
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x1
switchguid=0xa1(a1)
Switch\t41 "S-00000000000000a1"\t\t# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 11 lmc 0
[1]\t"H-00000000000000c1"[1](c2) \t\t# "n1 mlx5_0" lid 1 4xHDR
[2]\t"S-00000000000000b1"[1]\t\t# "Quantum Mellanox Technologies" lid 21 4xHDR
[3]\t"S-00000000000000b2"[1]\t\t# "Quantum Mellanox Technologies" lid 22 4xHDR
[41]\t"H-00000000000000ee"[1](ee) \t\t# "Mellanox Technologies Aggregation Node" lid 90 4xHDR

switchguid=0xa2(a2)
Switch\t41 "S-00000000000000a2"\t\t# "MF0;leaf2:MQM8700/U1" enhanced port 0 lid 12 lmc 0
[1]\t"H-00000000000000c2"[1](c3) \t\t# "n2 mlx5_0" lid 2 4xHDR
[2]\t"S-00000000000000b1"[2]\t\t# "Quantum Mellanox Technologies" lid 21 4xHDR
[3]\t"S-00000000000000b2"[2]\t\t# "Quantum Mellanox Technologies" lid 22 4xHDR

switchguid=0xb1(b1)
Switch\t41 "S-00000000000000b1"\t\t# "Quantum Mellanox Technologies" base port 0 lid 21 lmc 0
[1]\t"S-00000000000000a1"[2]\t\t# "MF0;leaf1:MQM8700/U1" lid 11 4xHDR
[2]\t"S-00000000000000a2"[2]\t\t# "MF0;leaf2:MQM8700/U1" lid 12 4xHDR

switchguid=0xb2(b2)
Switch\t41 "S-00000000000000b2"\t\t# "Quantum Mellanox Technologies" base port 0 lid 22 lmc 0
[1]\t"S-00000000000000a1"[3]\t\t# "MF0;leaf1:MQM8700/U1" lid 11 4xHDR
[2]\t"S-00000000000000a2"[3]\t\t# "MF0;leaf2:MQM8700/U1" lid 12 4xHDR

caguid=0xc1
Ca\t1 "H-00000000000000c1"\t\t# "n1 mlx5_0"
[1](c2) \t"S-00000000000000a1"[1]\t\t# lid 1 lmc 0 "MF0;leaf1:MQM8700/U1" lid 11 4xHDR
"""
TABLES = """\
Unicast lids [0x0-0x16] of switch Lid 11 guid 0x00000000000000a1 (MF0;leaf1:MQM8700/U1):
  Lid  Out   Destination
       Port     Info
0x0001 001 : (Channel Adapter portguid 0x00000000000000c2: 'n1 mlx5_0')
0x0002 003 : (Channel Adapter portguid 0x00000000000000c3: 'n2 mlx5_0')
0x000b 000 : (Switch portguid 0x00000000000000a1: 'MF0;leaf1:MQM8700/U1')
3 valid lids dumped
"""
NEIGHBOUR = (
    '{"lldp": {"interface": {"eth0": {"via": "LLDP", "chassis": {"%s": {"id": '
    '{"type": "mac", "value": "00:01"}}}, "port": {"descr": "swp1"}}}}}'
)
SEVERAL = (
    '{"lldp": {"interface": [{"eth0": {"chassis": {"leaf1": {"id": {}}}}}, '
    '{"eth1": {"chassis": {"id": {"type": "mac", "value": "00:02"}}}}]}}'
)


def test_leaves_of_slurm() -> None:
    found = slurm(TREE)
    assert found.leaves == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}
    assert found.spines == {}, "its tree has one switch for several spines"
    assert slurm(BLOCKS).leaves["n3"] == "b2"


def test_a_node_at_two_leaves_is_counted_at_the_first_and_said() -> None:
    found = slurm("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n")
    assert found.leaves == {"n1": "a"}
    assert "n1 is connected to a and to b: counted at a" in found.unknown()


def test_leaves_spines_and_routes_of_infiniband() -> None:
    found = infiniband(FABRIC + TABLES)
    assert found.leaves == {"n1": "leaf1", "n2": "leaf2"}
    spines = ("S-00000000000000b1", "S-00000000000000b2")
    assert found.spines == {"leaf1": spines, "leaf2": spines}
    assert found.routes == {"leaf1": {"n2": "S-00000000000000b2"}}
    assert found.path("n1", "n2") == ("leaf1->S-00000000000000b2", "S-00000000000000b2->leaf2")
    assert found.path("n2", "n1") is None, "leaf2's table was not recorded"


def test_a_table_of_an_unknown_switch_is_refused() -> None:
    with refused("FC1708"):
        infiniband(FABRIC + TABLES.replace("a1 (", "a9 ("))


def test_leaves_of_lldp() -> None:
    found = lldp(f'n1 {NEIGHBOUR % "leaf1"}\n\nn2 {SEVERAL}\nn3 {{"lldp": {{}}}}\n')
    assert found.leaves == {"n1": "leaf1"}
    first, second, *_ = found.unknown()
    assert first.startswith("n2 has leaf1, 00:02 as neighbours: record the fabric's interface")
    assert second.startswith("n3 has no switch as neighbours")


@pytest.mark.parametrize(
    "text",
    [
        TREE,
        BLOCKS,
        FABRIC,
        FABRIC + TABLES,
        f"n1 {NEIGHBOUR % 'leaf1'}\n",
        '{"leaves": {"leaf1": ["n1"]}}',
        "leaves:\n  leaf1: n[1-4]\n",
    ],
)
def test_the_kind_is_told_by_what_is_in_the_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "topology"
    path.write_text(text)
    assert load(path).leaf("n1") in ("leaf1", "b1")


def test_damaged_files_give_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "topology"
    with refused("FC1703"):
        load(path)
    texts = [TREE, FABRIC + TABLES, f"n1 {NEIGHBOUR % 'leaf1'}", '{"leaves": {"leaf1": ["n1"]}}']
    damaged = ["", "\0", "[" * 9999, "{" * 9999, "leaves: [", "n1", "SwitchName=a Nodes=n[1-\n"]
    damaged.append(f"n1 {NEIGHBOUR.replace('%s', '')}".replace('{"": {', '{}, "x": {"": {'))
    damaged += [text[:cut] for text in texts for cut in range(0, len(text), 37)]
    damaged += [text.replace("n1", "\udcff").replace("1", "x") for text in texts]
    for text in damaged:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            assert load(path).leaves
        except FabricheckError as error:
            assert str(path) in str(error), text
