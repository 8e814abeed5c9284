"""``fabricheck node`` on recorded trees: what is wrong with one card has its name."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run
from tests.node_health.survey import line_of, node, survey
from tests.node_health.trees import grow, plug, write
from tests.refusals import refused

from fabricheck.node_health import one_node
from fabricheck.node_health.survey import Expectations

PORT = "sys/class/infiniband/mlx5_{}/ports/1/"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "tree"))
    tree = grow(tmp_path / "tree")
    for card in range(8):
        link = "x16@32.0 x16@32.0"
        plug(tree, f"mlx5_{card}", f"0000:20:{card:02x}.0 {link}", f"0000:{33 + card}:00.0 {link}")
    return tree


def judge(*options: object) -> tuple[int, dict[str, Any]]:
    result = run("node", "--json", *map(str, options))
    return result.exit_code, json.loads(result.output)


@pytest.mark.integration
def test_a_sound_node_is_good(root: Path) -> None:
    code, said = judge()
    assert (code, said["level"]) == (0, "good"), said["words"]
    assert said["facts"]["mlx5_7:1"] == {
        "state": "ACTIVE", "link layer": "Ethernet", "rate": "100 Gb/sec", "RoCE v2 GIDs": "1,3",
        "MTU": "9000",
    }  # fmt: skip
    assert run("node").output == f"good: {said['node']}: RDMA ports: 8\n"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("tree", "card", "port"),
    [
        ("mlx5_ib",
         {"board": "MT_0000000223", "firmware": "20.38.1002", "driver": "mlx5_core"},
         {"link layer": "InfiniBand", "rate": "200 Gb/sec"}),
        ("bnxt_re", {"firmware": "231.2.63.0", "driver": "bnxt_en"},
         {"link layer": "Ethernet", "rate": "400 Gb/sec", "RoCE v2 GIDs": "1,3", "MTU": "9000"}),
        ("irdma", {"firmware": "1.75", "driver": "ice"},
         {"link layer": "Ethernet", "rate": "100 Gb/sec", "RoCE v2 GIDs": "0,1", "MTU": "4200"}),
        ("rxe", {"driver": "rdma_rxe"},
         {"link layer": "Ethernet", "rate": "10 Gb/sec", "RoCE v2 GIDs": "0,1", "MTU": "4200"}),
    ],
)  # fmt: skip
def test_a_recorded_card_tells_these_facts_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: str, card: Any, port: Any
) -> None:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(grow(tmp_path, 1, tree)))
    _, device, first = judge()[1]["facts"].values()
    device.pop("PCI address", "")
    assert (device, first) == (card, {"state": "ACTIVE", **port})


@pytest.mark.integration
@pytest.mark.parametrize(
    ("file", "text", "code", "words"),
    [
        (PORT + "state", "1: DOWN", 1, "mlx5_3:1 state DOWN, 7 of 8 ports have ACTIVE"),
        (PORT + "rate", "50 Gb/sec (2X EDR)", 1, "mlx5_3:1 rate 50 Gb/sec, 7 of 8 ports have 100"),
        (PORT + "link_layer", "InfiniBand", 1, "mlx5_3:1 link layer InfiniBand, 7 of 8"),
        ("sys/class/infiniband/mlx5_{}/fw_ver", "22.31.1014", 0, "mlx5_3 firmware 22.31.1014, 7"),
    ],
)
def test_one_odd_card_of_eight_is_named(
    root: Path, file: str, text: str, code: int, words: str
) -> None:
    write(root, file.format(3), f"{text}\n")
    assert judge()[0] == code
    said = judge()[1]["words"]
    assert words in said
    assert said.count(" of 8 ") == 1


@pytest.mark.integration
def test_the_manifest_names_what_is_gone_and_goes_before_the_peers(
    root: Path, tmp_path: Path
) -> None:
    write(root, PORT.format(5) + "state", "1: DOWN\n")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(judge()[1]))
    assert judge("--manifest", manifest)[0] == 0, "a port that is never used"
    (root / PORT.format(6) / "state").unlink()
    code, said = judge("--manifest", manifest)
    assert code == 1
    assert "mlx5_6:1 is missing, the manifest has it" in said["words"]
    assert "RDMA ports 7, the manifest has 8" in said["words"]
    assert "mlx5_5" not in said["words"]


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, "FC1508"), ("{}", "FC1509"), ('{"facts": {"": {"color": "red"}}}', "FC1510")],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str | None, code: str) -> None:
    if text is not None:
        (tmp_path / "manifest").write_text(text)
    with refused(code, "manifest"):
        one_node.look(Expectations(), tmp_path / "manifest")


@pytest.mark.integration
def test_a_kernel_that_does_not_answer_is_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "hang.sh"
    script.write_text("#!/bin/sh\nsleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(one_node, "SCRIPT", script)
    monkeypatch.setattr(one_node, "PATIENCE", 0.1)
    code, said = judge()
    assert (code, said["level"]) == (3, None)
    assert "hangs" in said["words"]


@pytest.mark.integration
def test_it_is_light(root: Path) -> None:
    """No ReFrame, Polars, Bokeh, NumPy or pydantic: a prolog runs before every job."""
    code = (
        "import sys; sys.argv[1:] = ['node']\n"
        "from fabricheck.cli import main\n"
        "heavy = {'reframe', 'polars', 'bokeh', 'msgspec', 'numpy', 'pydantic', 'rich'}\n"
        "try: main()\n"
        "finally: print(*heavy & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [""]


def of(number: int, **facts: str) -> Any:
    cards = {"mlx5_0": {"board": "A", "driver": "mlx5_core", **facts}}
    return node(number, cards={"": {"RDMA ports": "1"}, **cards})


def test_the_odd_card_of_a_partition_is_named_and_its_peers_are_not() -> None:
    told = survey(*(of(each, firmware="1.1" if each == 17 else "1.2") for each in range(32)))
    assert line_of("cards", told, "n17").words.startswith(
        "mlx5_0 firmware 1.1, 31 of 32 cards have 1.2"
    )
    assert line_of("cards", told, "n3").level == "good"


def test_two_nodes_that_differ_are_both_named() -> None:
    told = survey(of(1, firmware="1.1"), of(2, firmware="1.2"))
    assert line_of("cards", told, "n1").words.startswith("mlx5_0 firmware 1.1, 1.2 elsewhere")
    assert line_of("cards", told, "n2").level == "warning"


def test_silence_counts_where_others_speak() -> None:
    told = survey(of(1), of(2, firmware="1.2"), of(3, firmware="1.2"))
    assert line_of("cards", told, "n1").words.startswith("mlx5_0 firmware is not reported, 2 of 2")
    assert line_of("cards", survey(of(1), of(2)), "n1").level == "good"


def test_cards_that_swapped_their_names_are_named() -> None:
    address = {1: "0000:21:00.0", 2: "0000:21:00.0", 3: "0000:9b:00.0"}
    told = survey(*(of(each, **{"PCI address": at}) for each, at in address.items()))
    assert "mlx5_0 PCI address 0000:9b:00.0, 2 of 3" in line_of("cards", told, "n3").words


def test_ports_that_the_site_does_not_name_are_not_judged() -> None:
    expected = Expectations(rdma=True, rdma_ports=("mlx5_1:1",))
    told = survey(*(of(each, firmware=f"1.{each}") for each in (1, 2, 3)), expected=expected)
    assert line_of("cards", told).level == "good"
