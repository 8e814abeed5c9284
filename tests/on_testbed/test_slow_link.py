"""A cable between leaf and spine slows down: short nights show it, and a campaign rejects it.

The up-link of leaf 1 carries so little here that one pair fills it with messages of each size up to
2 KiB: n1's way to n4. Where the CPUs are the limit, other work decides. A verdict takes a history
of 8 nights.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.testbeds import SHARES

from fabricheck.provenance import SUITE
from fabricheck.record.sessions import ended
from fabricheck_testbed import Testbed, fabric, faults

# Each takes a dozen runs of ReFrame and more, on a busy machine half a minute each.
pytestmark = [pytest.mark.lab, pytest.mark.alone, pytest.mark.timeout(1800)]

LINK = "leaf1-spine2"
FULL, LESS, HALF = "5mbit", "4mbit", "2500kbit"
CHOSEN = ("--system=leaves:main", "--name=MpiPointToPoint", "--job-option=nodelist=n[1,4]")
ACROSS = "--filter-expr=benchmark in ('bw', 'mbw_mr') and placement == 'tcp-2n'"
SIZES = {f"{1 << n}B" if n < 10 else f"{1 << n - 10}KiB": 10.0 for n in range(12)}
RULE = {
    "bound": [-0.99999, 1e9],
    "warning": [-0.9999, 1e8],
    "kind": "bound",
    "source": "what only an absurd value exceeds",
    "date": date(2026, 11, 25),
}
REFERENCES = yaml.safe_dump({"rules": [
    RULE | {"for": {"check": "MpiPointToPoint", "benchmark": where}, "value": {metric: SIZES}}
    for where, metric in (("bw|mbw_mr", "bandwidth"), ("mbw_mr", "message_rate"))
]})  # fmt: skip


class Fabric:
    """A testbed of leaves and spines, and a site whose cases run on two of its nodes."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "suite"
        self.testbed = Testbed(directory / "tb")
        self.testbed.up(fabric=fabric.LEAF_SPINE_LFT, shares=[directory, SUITE])
        site = yaml.safe_load((SUITE / "sites" / "testbed.yaml").read_text())
        main = next(e for e in site["systems"][0]["partitions"] if e["name"] == "main")
        main["environs"] = ["mpich"]
        # 64 of them take a fifth of a second.
        main["extras"]["max_message_size"] = 2048
        mpich = next(each for each in site["environments"] if each["name"] == "mpich")
        made = {
            "systems": [site["systems"][0] | {"name": "leaves", "partitions": [main]}],
            "environments": [mpich | {"target_systems": ["leaves"]}],
            "trend": {"least_history": 8},
        }
        for folder in ("sites", "references"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "sites" / "leaves.yaml").write_text(yaml.safe_dump(made))
        (self.root / "references" / "leaves.yaml").write_text(REFERENCES)

    def rate(self, rate: str) -> None:
        """What the cable carries in each direction."""
        faults.inject(self.testbed.files, LINK, ["rate", rate])

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """A command on the login node."""
        shares = (f"{name}={share}" for name, share in SHARES.items())
        settings = ("env", f"FABRICHECK_SITES={self.root}", f"PATH={os.environ['PATH']}", *shares)
        command = self.testbed.command("login", *settings, sys.executable, "-m", "fabricheck")
        done = subprocess.run(
            [*command, *words], cwd=self.root, capture_output=True, text=True, check=False
        )
        sys.stdout.write(done.stdout[-3000:] + done.stderr)
        return done

    def nights(self, state: str, count: int) -> list[str]:
        """So many runs in a state of the cable, which are nights here; their sessions."""
        self.run("accept", "--campaign=nights", f"--only={state}", f"--pairs={count}", "--",
                 *CHOSEN, "--filter-expr=benchmark == 'bw'")  # fmt: skip
        ends = ended(self.root / "perflogs")
        return [each.session for each in ends if each.info.get("state") == state]

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


@pytest.fixture(scope="module")
def built(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fabric]:
    made = Fabric(tmp_path_factory.mktemp("leaves"))
    try:
        yield made
    finally:
        made.testbed.down()


@pytest.fixture
def leaves(built: Fabric) -> Fabric:
    """With what was built before, and without what was measured."""
    for folder in ("perflogs", "reports"):
        shutil.rmtree(built.root / folder, ignore_errors=True)
    built.rate(FULL)
    return built


def test_short_nights_show_a_cable_at_four_fifths_of_its_rate(leaves: Fabric) -> None:
    leaves.nights("before", 8)
    assert leaves.trend() == []
    leaves.rate(LESS)
    for night in range(1, 6):
        first, *_ = leaves.nights("after", night)
        if events := leaves.trend():
            break
    sys.stdout.write(f"shown after {night} nights\n")
    [event] = events
    assert event["shared"]["transport"] == ["tcp"]
    assert len(event["changes"]) > event["alike"] / 2
    assert {each["session"] for each in event["changes"]} == {first}


def test_a_campaign_rejects_a_cable_at_half_its_rate_after_three_pairs(leaves: Fabric) -> None:
    with leaves.switched() as (before, after):
        done = leaves.run("accept", "--campaign=cable", f"--before={before}", f"--after={after}",
                          "--", *CHOSEN, ACROSS)  # fmt: skip
    assert done.returncode == 1
    assert "3 runs before, 3 after" in done.stdout


def test_a_campaign_in_which_nothing_changes_accepts_within_twelve_pairs(leaves: Fabric) -> None:
    done = leaves.run("accept", "--campaign=control", "--control", "--", *CHOSEN, ACROSS)
    assert done.returncode == 0
    assert "36 of 36 series as good as before, 0 worse, 0 open" in done.stdout
