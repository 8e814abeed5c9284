"""``fabricheck locate`` on two nodes with four cards each: the slow card is named, or nobody."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed, faults

# A guest of its own, and minutes for each answer.
pytestmark = [pytest.mark.lab, pytest.mark.alone, pytest.mark.timeout(1800)]

CARDS = 4
SLOW_PORT = "gid=fe80::2:0/112"
SOUND = ("rate", "20mbit")
"""Of every card: the cables are the limit, not the cores, which other work takes at times."""
SLOW = ("rate", "5mbit")
PROGRAM = str(SUITE / ".venv" / "bin" / "fabricheck")


@pytest.fixture(scope="module")
def rails(can_run_guests: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    testbed = Testbed(tmp_path_factory.mktemp("rails") / "tb")
    shares = [SUITE, tmp_path_factory.getbasetemp()]
    try:
        testbed.up(nodes=1, rdma=True, cards=CARDS, shares=shares)
        for node in ("rx1", "rx2"):
            for card in range(CARDS):
                faults.inject(testbed.files, f"{node}:{card}", SOUND)
        yield testbed
    finally:
        testbed.down()


def located(testbed: Testbed, place: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A run over all ports, and over each alone."""
    (place / "sites").mkdir(exist_ok=True)
    words = ("locate", "--system=testbed", "--environ=openmpi", "--transport=rc", *options)
    command = testbed.command("login", "env", f"FABRICHECK_SITES={place}", PROGRAM, *words)
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def test_the_slow_card_is_named_with_both_ends_of_its_cable(rails: Testbed, tmp_path: Path) -> None:
    faults.inject(rails.files, "rx2:2", SLOW)
    try:
        done = located(rails, tmp_path)
    finally:
        faults.inject(rails.files, "rx2:2", SOUND)
    said = done.stdout + done.stderr
    found = [line for line in done.stdout.splitlines() if "cable between" in line]
    assert len(found) == 1, said
    assert found[0].startswith(
        f"card {SLOW_PORT} of rx1 or of rx2, or the cable between; rx2 to rx1 at 0."
    )
    assert done.returncode == 1


def test_healthy_cards_are_not_accused(rails: Testbed, tmp_path: Path) -> None:
    done = located(rails, tmp_path, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each["accused_nodes"] for each in json.loads(done.stdout)["cases"]] == [[]] * CARDS
