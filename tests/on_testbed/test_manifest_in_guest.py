"""A manifest of a real port, as ``fabricheck site init`` writes it; then the port changes."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricheck.planning.site_manifest import COMMAND, cards_of
from fabricheck_testbed import Testbed, faults

# Python starts slowly in an emulator.
pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("guest")]

SECONDS = 200.0
INCONCLUSIVE = 3


def test_what_changed_since_the_manifest_is_one_sentence(
    clean: Testbed, on: Callable[[str, str], str], tmp_path: Path
) -> None:
    manifest = tmp_path / "site.rdma.manifest.json"
    facts = cards_of(on("rx1", shlex.join(COMMAND)))
    (port,) = (name for name in facts if ":" in name)
    assert facts[port]["state"] == "ACTIVE"
    manifest.write_text(json.dumps({"facts": facts}))

    def judge(*options: str) -> tuple[int, str]:
        program = Path(sys.executable).with_name("fabricheck")
        words = (str(program), "node", "--manifest", str(manifest), *options)
        # An emulator that has much to do does not tell its ports in time.
        for _ in range(5):
            done = clean.run("rx1", *words, timeout_seconds=SECONDS)
            if done.returncode != INCONCLUSIVE:
                break
        return done.returncode, done.stdout

    code, words = judge("--loopback", "--json")
    assert code == 0, words
    (line,) = (each for each in json.loads(words)["lines"] if each["rule"] == "loopback")
    assert re.fullmatch(rf"{port} [1-9]\d* MB/s", line["words"]), line
    faults.set_link(clean.files, "rx1", "down")
    code, words = judge()
    assert (code, f"{port} state DOWN, the manifest has ACTIVE" in words) == (1, True), words
