"""README's block for a cluster and the tutorial of a fault, run as printed, on a testbed."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_docs import blocks, is_script
from tests.test_layout import text_of
from tests.testbeds import SHARES

from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed

pytestmark = pytest.mark.e2e

SETUP = "ci/setup --no-packages && . ./setup-env.sh"
"""README's first line for a cluster: a checkout that runs tests has done it."""
FAULT = "docs/tutorials/a-fault.md"


def scripts(page: str) -> list[str]:
    return [text for language, text in blocks(text_of(page)) if is_script(language)]


def cluster_block() -> list[str]:
    """The lines of README for a cluster, with the partition that the testbed has."""
    (text,) = [each for each in scripts("README.md") if SETUP in each]
    first, *lines = text.replace("-p compute", "-p main").splitlines()
    assert first.startswith(SETUP)
    return lines


def bash(
    *words: str, place: Path, script: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A script with the suite on PATH, after words that begin it; sites and record are its own."""
    given = {
        "FABRICHECK_SITES": str(place),
        **SHARES,
        **variables,
    }
    return subprocess.run(
        [
            *words,
            "env",
            *(f"{name}={value}" for name, value in given.items()),
            *("bash", "-c", f". {SUITE}/setup-env.sh && cd {place} &&\n{script}"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every node of a testbed of this checkout sees."""
    (SUITE / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SUITE / "build") as directory:
        for folder in ("sites", "references"):
            (Path(directory) / folder).mkdir()
        yield Path(directory)


def test_the_block_for_a_cluster_makes_a_site_that_is_right(testbed: Testbed, place: Path) -> None:
    """All but its last line: the run of such a site wants a core for each rank."""
    script = "\n".join(["set -e", *cluster_block()[:-1]])
    done = bash(*testbed.command("login"), place=place, script=script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (place / "sites" / "mycluster.yaml").is_file()
    assert "mycluster: 0 wrong" in done.stdout
    assert "MpiPointToPoint" in done.stdout


@pytest.mark.lab
def test_the_tutorial_of_a_fault_shows_it(can_run_testbeds: None, place: Path) -> None:
    broken, explained, whole = scripts(FAULT)
    (quoted,) = re.findall(r"`(=> [^`]+)`", text_of(FAULT))
    with tempfile.TemporaryDirectory() as directory:
        own = {"FABRICHECK_TESTBED": f"{directory}/tb"}
        try:
            done = bash(place=place, script=broken, **own)
            assert done.returncode == 1, done.stdout + done.stderr
            assert "something limits the path" in done.stdout
            done = bash(place=place, script=explained, **own)
            assert quoted in done.stdout, done.stdout + done.stderr
            done = bash(place=place, script=whole, **own)
            assert done.returncode == 0, done.stdout + done.stderr
        finally:
            bash(place=place, script="fabricheck testbed down", **own)
