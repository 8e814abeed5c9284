"""A cable between leaf and spine slows down: short nights show it, and a campaign rejects it.

The up-link of leaf 1 carries 100 Mbit/s here, as the nodes' cables do, so that one pair fills it:
n1's way to n4. Eight runs in five nights are the least history that a verdict takes.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricheck.launch.disturbance import FOREIGN_SHARE
from fabricheck.provenance import SUITE
from fabricheck.record.sessions import ended
from fabricheck_testbed import Testbed, fabric, faults

pytestmark = [pytest.mark.lab, pytest.mark.alone]

LINK = "leaf1-spine2"
FULL, LESS, HALF = "100mbit", "80mbit", "50mbit"
CASES = ("bw", "mbw_mr")


class Fabric:
    """A testbed of leaves and spines, and a site whose cases run on two of its nodes."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "suite"
        self.testbed = Testbed(directory / "tb")
        self.testbed.up(fabric=fabric.LEAF_SPINE_LFT, shares=[directory, SUITE])
        site = yaml.safe_load((SUITE / "sites" / "testbed.yaml").read_text())
        main = next(e for e in site["systems"][0]["partitions"] if e["name"] == "main")
        main["environs"] = ["mpich"]
        # 64 of a megabyte take five seconds.
        main["extras"]["max_message_size"] = 65536
        mpich = next(each for each in site["environments"] if each["name"] == "mpich")
        made = {
            "systems": [site["systems"][0] | {"name": "leaves", "partitions": [main]}],
            "environments": [mpich | {"target_systems": ["leaves"]}],
            "trend": {"least_history": 8},
        }
        for folder in ("sites", "references"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "sites" / "leaves.yaml").write_text(yaml.safe_dump(made))
        for part in ("", ".measured"):
            text = (SUITE / "references" / f"testbed{part}.yaml").read_text()
            # The cable carries 12 MB/s.
            text = text.replace("shape: {best: 30}", "shape: {best: 3}")
            (self.root / "references" / f"leaves{part}.yaml").write_text(text)
        self.rate(FULL)

    def rate(self, rate: str) -> None:
        """What the cable carries in each direction."""
        faults.inject(self.testbed.files, LINK, ["rate", rate])

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """A command on the login node."""
        share = f"{FOREIGN_SHARE}={os.environ.get(FOREIGN_SHARE, '')}"
        settings = ("env", f"FABRICHECK_SITES={self.root}", f"PATH={os.environ['PATH']}", share)
        command = self.testbed.command("login", *settings, sys.executable, "-m", "fabricheck")
        done = subprocess.run(
            [*command, *words], cwd=self.root, capture_output=True, text=True, check=False
        )
        sys.stdout.write(done.stdout[-3000:] + done.stderr)
        return done

    def night(self, runs: int = 1) -> str:
        """The cases by TCP and by shared memory; the first session."""
        chosen = [f"--benchmark={each}" for each in CASES]
        before = len(ended(self.root / "perflogs"))
        for _ in range(runs):
            self.run("run", "--system=leaves", *chosen, "--transport=tcp", "--transport=shm",
                     "--nodelist=n[1,4]")  # fmt: skip
        return ended(self.root / "perflogs")[before].session

    def trend(self) -> list[dict[str, Any]]:
        self.run("history", "refresh")
        self.run("trend")
        events: list[dict[str, Any]] = json.loads(self.run("trend", "--json").stdout)["events"]
        return [each for each in events if each["kind"] == "regression"]

    @contextmanager
    def switched(self) -> Iterator[tuple[str, str]]:
        """Commands on the login node that set the rate from outside: before, after a change."""
        asked, ends = self.root / "rate", threading.Event()

        def serve() -> None:
            while not ends.wait(0.1):
                if asked.exists():
                    self.rate(asked.read_text().strip())
                    asked.unlink()

        thread = threading.Thread(target=serve)
        thread.start()
        wait = f"while [ -e {asked} ]; do sleep 0.1; done"
        write = f"echo %s >{asked}.new && mv {asked}.new {asked}; {wait}"
        try:
            yield write % FULL, write % HALF
        finally:
            ends.set()
            thread.join()


@pytest.fixture
def leaves(can_run_testbeds: None, tmp_path: Path) -> Iterator[Fabric]:
    made = Fabric(tmp_path)
    try:
        yield made
    finally:
        made.testbed.down()


def test_short_nights_show_a_cable_at_four_fifths_of_its_rate(leaves: Fabric) -> None:
    for runs in (2, 2, 2, 1, 1):
        leaves.night(runs)
    assert leaves.trend() == []
    leaves.rate(LESS)
    sixth = leaves.night()
    events = leaves.trend()
    for night in range(7, 11):
        if events:
            break
        leaves.night()
        events = leaves.trend()
        sys.stdout.write(f"night {night}: {len(events)} events\n")
    [event] = events
    assert event["shared"]["transport"] == ["tcp"]
    assert len(event["changes"]) > event["alike"] / 2
    assert {each["session"] for each in event["changes"]} == {sixth}


OPTIONS = (
    "--system=leaves:main",
    "--name=MpiPointToPoint",
    "--filter-expr=benchmark in ('bw', 'mbw_mr') and placement == 'tcp-2n'",
    "--job-option=nodelist=n[1,4]",
)


def test_a_campaign_rejects_a_cable_at_half_its_rate_after_three_pairs(leaves: Fabric) -> None:
    with leaves.switched() as (before, after):
        done = leaves.run("accept", "--campaign=cable", f"--before={before}", f"--after={after}",
                          "--", *OPTIONS)  # fmt: skip
    assert done.returncode == 1
    assert "3 runs before, 3 after" in done.stdout


def test_a_campaign_of_twelve_pairs_in_which_nothing_changes_accepts(leaves: Fabric) -> None:
    done = leaves.run("accept", "--campaign=control", "--control", "--", *OPTIONS)
    assert done.returncode == 0
    assert "12 runs before, 12 after" in done.stdout
