"""A manifest that ``fabricheck site init`` wrote; then one card changes: one sentence names it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import run
from tests.node_health.survey import line_of, survey
from tests.node_health.test_one_node import judge
from tests.node_health.trees import grow, plug, write

from fabricheck.judge.levels import Level
from fabricheck.node_health.facts import facts_of
from fabricheck.node_health.one_node import ask
from fabricheck.node_health.survey import Line, read_expectations
from fabricheck.sites.files import extras_of

pytestmark = pytest.mark.integration

CARD = "mlx5_3"
FILES = f"sys/class/infiniband/{CARD}"


def half_the_lanes(tree: Path) -> None:
    """As a card trains now and then after it was swapped."""
    write(tree, f"{FILES}/device/current_link_width", "8\n")


def older_firmware(tree: Path) -> None:
    write(tree, f"{FILES}/fw_ver", "22.31.1014\n")


def another_name(tree: Path) -> None:
    (tree / FILES).rename(tree / FILES.replace(CARD, "mlx5_9"))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "tree"))
    monkeypatch.setenv("FABRICHECK_SITES", str(tmp_path))
    (tmp_path / "sites").mkdir()
    tree = grow(tmp_path / "tree")
    for card in range(8):
        link = "x16@32.0 x16@32.0"
        plug(tree, f"mlx5_{card}", f"0000:20:{card:02x}.0 {link}", f"0000:{33 + card}:00.0 {link}")
    return tree


@pytest.mark.parametrize(
    ("change", "rule", "level", "words"),
    [
        (half_the_lanes, "pcie", Level.CRITICAL,
         f"{CARD} 0000:36:00.0 has x8 32 GT/s, it and 0000:20:03.0 can x16 32 GT/s: reseat card"),
        (half_the_lanes, "cards", Level.WARNING,
         f"{CARD} PCIe link x8 32 GT/s, the manifest has x16 32 GT/s: another slot, riser or"),
        (older_firmware, "cards", Level.WARNING,
         f"{CARD} firmware 22.31.1014, the manifest has 22.39.2048: update the card's firmware"),
        (another_name, "ports", Level.CRITICAL,
         f"{CARD} is missing, the manifest has it; {CARD}:1 is missing, the manifest has it"),
    ],
)  # fmt: skip
def test_the_card_that_changed_is_named(
    tree: Path, change: Callable[[Path], None], rule: str, level: Level, words: str
) -> None:
    written = run("site", "init", "one", "--alone")
    assert written.exit_code == 0, written.output
    (manifest,) = (tree.parent / "sites").glob("*.manifest.json")
    expected = read_expectations((), extras_of(f"one:{manifest.name.split('.')[1]}"))

    def line() -> Line:
        facts = facts_of(ask(), {"clock": ["0"]}, "")
        return line_of(rule, survey(facts, expected=expected), facts.node)

    assert (judge("--manifest", manifest)[0], line().level) == (0, "good")
    change(tree)
    code, said = judge("--manifest", manifest)
    assert (code, line().level) == (int("critical" in said["level"]), level)
    for told in (said["words"], line().words):
        assert words in told
        assert told.count(CARD) == told.count("mlx5_")
