"""Bandwidth inside a leaf and across leaves, on real leaves and spines: a slow link shows there."""

import json
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import yaml
from tests.testbeds import SHARES, measured_again

from fabricheck.measures.registry import sweep
from fabricheck.provenance import SUITE
from fabricheck.record.entries import CaseEntry, Session
from fabricheck.record.read import entries, record_files
from fabricheck.units import format_size
from fabricheck_testbed import Testbed, fabric, faults

# Nights on eight nodes, of which those with slow links take minutes.
pytestmark = pytest.mark.lab

LARGEST = 1 << 20
LINKS = 100 / 8
"""MB/s of the testbed's links."""


@pytest.fixture(scope="module")
def leaves(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    directory = tmp_path_factory.mktemp("groups")
    testbed = Testbed(directory / "tb")
    try:
        testbed.up(fabric=fabric.LEAF_SPINE_LFT, shares=[directory.parent, SUITE])
        yield testbed
    finally:
        testbed.down()


@pytest.fixture(scope="module")
def place(leaves: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of a site of its own: that of the testbed, with the leaves that it has."""
    place = tmp_path_factory.mktemp("place")
    site = yaml.safe_load((SUITE / "sites" / "testbed.yaml").read_text())
    system = site["systems"][0] | {"name": "leaves"}
    main = next(each for each in system["partitions"] if each["name"] == "main")
    main["environs"] = ["mpich"]
    main["extras"] |= {"topology": "leaves.topology", "time_budget": 0.03}
    mpich = next(each for each in site["environments"] if each["name"] == "mpich")
    made = {
        "systems": [system | {"partitions": [main]}],
        "environments": [mpich | {"target_systems": ["leaves"]}],
        "night": {"nodes": {"at_least_every": 2}},
    }
    (place / "sites").mkdir()
    (place / "sites" / "leaves.yaml").write_text(yaml.safe_dump(made))
    (place / "sites" / "leaves.topology").write_text(leaves.files.topology.read_text())
    # Only where the link is the limit: half of it is a fault.
    values = {format_size(size): LINKS if size >= LARGEST else 1e-6 for size in sweep(1, LARGEST)}
    rules = [
        {
            "for": {"check": "MpiSwitchGroup"},
            "value": {"bandwidth": values},
            "bound": [-0.6, None],
            "warning": [-0.5, None],
            "kind": "bound",
            "source": "the rate of the links",
            "date": date(2026, 11, 24),
        }
    ]
    (place / "references").mkdir()
    (place / "references" / "leaves.yaml").write_text(yaml.safe_dump({"rules": rules}))
    return place


def run(testbed: Testbed, place: Path) -> tuple[dict[str, CaseEntry], Session]:
    """The cases of a night by their layout, and what the night says at its end."""
    words = ("run", "--system=leaves", "--mode=nightly", "--benchmark=bw", "--transport=tcp")
    program = SUITE / ".venv" / "bin" / "fabricheck"
    shares = (f"{name}={share}" for name, share in SHARES.items())
    settings = (f"FABRICHECK_SITES={place}", *shares)
    command = testbed.command("login", "env", *settings, str(program), *words)
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    found = [each for path in record_files(place / "perflogs") for each in entries(path)[0]]
    end = max((each for each in found if isinstance(each, Session)), key=lambda each: each.time)
    cases = [each for each in found if isinstance(each, CaseEntry) and each.session == end.session]
    groups = {each.layout: each for each in cases if each.check == "MpiSwitchGroup"}
    assert groups.keys() == {"leaf", "spine"}, done.stdout + done.stderr
    return groups, end


def night(testbed: Testbed, place: Path) -> tuple[dict[str, CaseEntry], Session]:
    """The same, again where other work disturbed it."""
    return measured_again(
        lambda: run(testbed, place),
        lambda found: any(each.level == "disturbed" for each in found[0].values()),
    )


def test_a_slow_link_of_a_leaf_is_red_across_leaves_and_good_inside(
    leaves: Testbed, place: Path
) -> None:
    leaf_of = {f"n{number}": f"leaf{(number + 1) // 2}" for number in range(1, 9)}
    groups, end = night(leaves, place)
    assert {name: each.level for name, each in groups.items()} == {"leaf": "good", "spine": "good"}
    for name, count in (("leaf", 1), ("spine", 2)):
        assert len({leaf_of[node] for node in groups[name].nodes}) == count
    told = end.info["rota"]["main"]
    assert told["nodes"] == sorted(leaf_of)
    used = {node for each in groups.values() for node in each.nodes}
    assert used <= {*told["chosen"]}
    assert json.loads((place / "reports" / "turns").read_text())["every"] == 2
    # Whichever nodes come next, their way leads through one of these.
    for leaf in ("leaf1", "leaf2", "leaf3"):
        for spine in fabric.SPINES:
            faults.inject(leaves.files, f"{leaf}-{spine}", ["rate", "20mbit"])
    groups, _ = night(leaves, place)
    assert {name: each.level for name, each in groups.items()} == {
        "leaf": "good",
        "spine": "critical",
    }
