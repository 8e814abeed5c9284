"""What cards are plugged into, from trees of files."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run
from tests.node_health.trees import configure, grow, plug, write

from fabricheck.nodes.pcie import shared_links
from fabricheck.nodes.told import SCRIPT, parse

pytestmark = pytest.mark.integration

PORT, SWITCH_UP, SWITCH_DOWN, CARD = (
    "0000:20:01.0", "0000:21:00.0", "0000:22:00.0", "0000:23:00.0",
)  # fmt: skip
X16, X8 = "x16@32.0", "x8@32.0"
# MaxPayload 256, MaxReadReq 4096, relaxed ordering on.
CONTROL = 1 << 5 | 5 << 12 | 1 << 4


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "tree"))
    return grow(tmp_path / "tree", cards=1)


def judged(*options: object) -> tuple[int, str, dict[str, Any]]:
    result = run("node", "--json", *map(str, options))
    said = json.loads(result.output)
    return result.exit_code, said["words"], said["facts"].get("mlx5_0", {})


def behind_a_switch(root: Path, **links: str) -> None:
    way = {"port": X16, "up": X16, "down": X16, "card": X16, **links}
    addresses = zip((PORT, SWITCH_UP, SWITCH_DOWN, CARD), way.values(), strict=True)
    plug(root, "mlx5_0", *(f"{address} {now} {X16}" for address, now in addresses))


def test_a_card_below_a_switch_is_read_up_to_the_root_port(root: Path) -> None:
    behind_a_switch(root)
    code, _, facts = judged()
    assert code == 0
    assert (facts["PCIe link"], facts["PCIe way"]) == ("x16 32 GT/s", "x16 32 GT/s")
    assert "PCIe loss" not in facts


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ({"card": X8}, "mlx5_0 0000:23:00.0 has x8 32 GT/s, it and 0000:22:00.0 can x16 32 GT/s"),
        ({"card": "x16@8.0"}, "mlx5_0 0000:23:00.0 has x16 8 GT/s, it and 0000:22:00.0 can x16 32"),
        ({"up": X8}, "mlx5_0 0000:21:00.0 has x8 32 GT/s, it and 0000:20:01.0 can x16 32 GT/s"),
    ],
)
def test_a_link_below_what_both_its_ends_can_is_critical_unless_the_manifest_has_it(
    root: Path, tmp_path: Path, links: dict[str, str], words: str
) -> None:
    behind_a_switch(root, **links)
    code, said, _ = judged()
    assert code == 1
    assert words in said
    manifest = tmp_path / "manifest"
    manifest.write_text(run("node", "--json").output)
    assert judged("--manifest", manifest)[0] == 0


def test_a_slot_that_can_no_more_is_no_loss(root: Path) -> None:
    plug(root, "mlx5_0", f"{PORT} {X8} {X8}", f"{CARD} {X8} {X16}")
    code, _, facts = judged()
    assert (code, facts["PCIe link"]) == (0, "x8 32 GT/s")


@pytest.mark.parametrize("now", ["x0@Unknown", "x255@Unknown", "x0@2.5"])
def test_a_link_that_is_not_told_is_no_fact(root: Path, now: str) -> None:
    plug(root, "mlx5_0", f"{PORT} {X16} {X16}", f"{CARD} {now} {X16}")
    assert "PCIe link" not in judged()[2]


def test_a_card_without_a_port_above_it_has_no_link(root: Path) -> None:
    plug(root, "mlx5_0", f"{CARD} {X16} {X16}")
    assert "PCIe link" not in judged()[2]


@pytest.mark.parametrize(("acs", "said"), [(None, "off"), (0b0011101, "on"), (0b0000001, "off")])
def test_settings_of_the_configuration_space(root: Path, acs: int | None, said: str) -> None:
    behind_a_switch(root)
    for address in (PORT, SWITCH_UP, CARD):
        configure(root, address, CONTROL)
    configure(root, SWITCH_DOWN, CONTROL, acs)
    facts = judged()[2]
    names = ("MaxPayload", "MaxReadReq", "relaxed ordering", "ACS redirect")
    assert [facts[name] for name in names] == ["256", "4096", "on", said]


def test_without_root_they_are_not_told(root: Path) -> None:
    behind_a_switch(root)
    for address in (PORT, SWITCH_UP, SWITCH_DOWN, CARD):
        configure(root, address, CONTROL, 0)
    for path in root.glob("sys/devices/**/config"):
        path.write_bytes(path.read_bytes()[:64])
    facts = judged()[2]
    assert not {"MaxPayload", "MaxReadReq", "relaxed ordering", "ACS redirect"} & facts.keys()


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x40" * 256, b"\xff" * 4096])
def test_a_card_that_fell_off_the_bus_is_read_to_the_end(root: Path, content: bytes) -> None:
    behind_a_switch(root)
    for address in (PORT, SWITCH_UP, SWITCH_DOWN, CARD):
        configure(root, address, CONTROL)
    for path in root.glob("sys/devices/**/config"):
        path.write_bytes(content)
    assert "MaxPayload" not in judged()[2]


@pytest.mark.parametrize(
    ("masks", "said"),
    [(("0-3", "2"), "near"), (("0-7", "2"), "partly far"), (("4", "5-7"), "far"), ((), None)],
)
def test_interrupts(root: Path, masks: tuple[str, ...], said: str | None) -> None:
    device = "sys/class/infiniband/mlx5_0/device"
    write(root, f"{device}/local_cpulist", "0-3\n")
    for irq, mask in enumerate(masks, start=101):
        write(root, f"{device}/msi_irqs/{irq}", "msix\n")
        write(root, f"proc/irq/{irq}/smp_affinity_list", f"{mask}\n")
    assert judged()[2].get("IRQ affinity") == said


def test_iommu_and_numa_node(root: Path) -> None:
    device = "sys/class/infiniband/mlx5_0/device"
    write(root, f"{device}/numa_node", "-1\n")
    (root / "sys/class/iommu").mkdir()
    facts = judged()[2]
    assert (facts["IOMMU"], facts.get("NUMA node")) == ("off", None)
    write(root, f"{device}/numa_node", "1\n")
    write(root, f"{device}/iommu_group/type", "identity\n")
    facts = judged()[2]
    assert (facts["IOMMU"], facts["NUMA node"]) == ("identity", "1")


def test_links_that_cards_share_are_named_with_the_bridge_above_them(tmp_path: Path) -> None:
    root = grow(tmp_path / "tree", cards=6)
    above = f"{PORT} {X16} {X16}", f"{SWITCH_UP} {X8} {X16}"
    for card, down in enumerate(("0000:22:00.0", "0000:22:01.0")):
        plug(
            root,
            f"mlx5_{card}",
            *above,
            f"{down} {X16} {X16}",
            f"0000:{35 + card}:00.0 {X16} {X16}",
        )
    for card, function in ((2, 0), (3, 1)):
        plug(
            root, f"mlx5_{card}", f"0000:40:01.0 {X16} {X16}", f"0000:41:00.{function} {X16} {X16}"
        )
    plug(root, "mlx5_4", f"0000:50:01.0 {X16} {X16}", f"0000:51:00.0 {X16} {X16}")
    done = subprocess.run(
        [SCRIPT, "now", "cards"], env={**os.environ, "FABRICHECK_NODE_ROOT": str(root)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (told,) = parse(done.stdout, "tree")
    assert sorted(shared_links(told)) == [
        f"mlx5_0, mlx5_1 share the PCIe link of {SWITCH_UP} (x8 32 GT/s)",
        "mlx5_2, mlx5_3 share the PCIe link of 0000:40:01.0 (x16 32 GT/s)",
    ]
