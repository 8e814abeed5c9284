"""Which node was measured when, and that turns reach every node as soon as they can."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.history.recorded import case, read
from tests.refusals import refused
from typer.testing import CliRunner

from fabricheck.cli.application import build
from fabricheck.errors import FabricheckError
from fabricheck.history.coverage import Coverage, coverage
from fabricheck.history.store import History
from fabricheck.planning.night_past import nodes_of_nights
from fabricheck.record.entries import CaseEntry, Session
from fabricheck.record.write import append
from fabricheck.reframe_ext.rota import Rota
from fabricheck.transports.placement import Placement

NIGHT = "2026-11-{:02d}T06:00:00+00:00"


def night(number: int, *nodes: str, busy: Sequence[str] = ()) -> Session:
    """The end of a night that lists the nodes of partition main."""
    told = {"main": {"nodes": nodes, "busy": busy}} if nodes else {}
    return Session(
        time=NIGHT.format(number), session=f"night-{number}", system="testbed", info={"rota": told}
    )


def on(number: int, *nodes: str, **changes: object) -> CaseEntry:
    """A case between nodes in a night of November."""
    changes = {"time": NIGHT.format(number), "nodes": nodes, "sizes": (8,)} | changes
    return case(number, **changes)  # type: ignore[arg-type]


def covered(place: Path, *entries: CaseEntry | Session, every: int | None = None) -> Coverage:
    append(place / "perflogs", entries)
    read(place / "store", place / "perflogs")
    with History.open_to_read(place / "store") as history:
        return coverage(history, "testbed", every)


def test_a_node_is_as_old_as_its_last_judged_case_between_nodes(tmp_path: Path) -> None:
    found = covered(
        tmp_path,
        on(1, "n1", "n2"),
        on(2, "n3", "n4"),
        on(3, "n1", "n3", level="critical"),
        on(4, "n2", "n4", level="untrusted"),
        on(4, "n2", "n4", level="disturbed"),
        on(5, "n4", transport="shm", num_nodes=1),
        night(5, "n1", "n2", "n3", "n4", "n5", busy=["n2"]),
        every=3,
    )
    assert found.nights == {"n2": 4, "n4": 3, "n1": 2, "n3": 2, "n5": 1}
    assert found.last == {
        **dict.fromkeys(("n1", "n3"), "2026-11-03"), "n2": "2026-11-01", "n4": "2026-11-02",
        "n5": None,
    }  # fmt: skip
    assert (found.never, found.overdue, found.busy) == (["n5"], ["n2", "n4"], ["n2"])
    levels = {(each["node"], each["transport"]): each["level"] for each in found.seen}
    assert levels[("n1", "tcp")] == levels[("n3", "tcp")] == "critical"
    assert levels[("n4", "shm")] == levels[("n2", "tcp")] == "good"


def test_a_node_that_never_was_measured_is_due_as_long_after_it_became_known(
    tmp_path: Path,
) -> None:
    nights = [on(number, "n1", "n2") for number in range(1, 6)]
    known = [night(number, "n1", "n2", "n3") for number in range(3, 6)]
    assert covered(tmp_path, *nights, *known, every=3).overdue == ["n3"]
    assert covered(tmp_path, every=4).overdue == []


def test_a_node_that_is_gone_is_not_waited_for(tmp_path: Path) -> None:
    entries = [on(1, "n1", "n9"), on(2, "n1", "n2"), night(1, "n1", "n9"), night(2, "n1", "n2")]
    assert set(covered(tmp_path, *entries).nights) == {"n1", "n2"}


def test_what_runs_on_all_idle_nodes_is_no_turn(tmp_path: Path) -> None:
    pairs = on(2, "n1", "n2", check="PairHealth", benchmark="pair_health")
    found = covered(tmp_path, on(1, "n1", "n2"), pairs, every=1)
    assert found.overdue == ["n1", "n2"]
    assert {each["layer"] for each in found.seen} == {"MPI", "pair_health"}
    assert not found.listed
    assert nodes_of_nights(tmp_path / "perflogs", "testbed") == dict.fromkeys(
        ("n1", "n2"), "2026-11-01"
    )


def run(place: Path, *words: str) -> tuple[int, str]:
    site = (
        "systems: [{name: testbed, hostnames: [x], partitions: [{name: main, scheduler: local, "
        "launcher: local, environs: []}]}]\nenvironments: []\n"
        "night: {nodes: {at_least_every: 2}}\n"
    )
    (place / "sites").mkdir(exist_ok=True)
    (place / "sites" / "testbed.yaml").write_text(site)
    done = CliRunner().invoke(
        build(["coverage"]),
        ["coverage", f"--store={place / 'store'}", f"--sites={place / 'sites'}", *words],
    )
    if isinstance(done.exception, FabricheckError):
        raise done.exception
    return done.exit_code, done.output


def test_the_command_says_who_is_late_and_ends_with_1(tmp_path: Path) -> None:
    late = [on(1, "n1", "n2"), on(2, "n3", "n4"), on(3, "n3", "n4")]
    covered(tmp_path, *late, night(3, "n1", "n2", "n3", "n4", "n5", busy=["n2"]))
    code, said = run(tmp_path, "--days", "36500")
    assert code == 1
    lines = said.splitlines()
    assert lines[0] == "testbed: 4 of 5 nodes measured within 36500 days; never: n5"
    assert lines[1] == "not for 2 nights or more, as the site wants: n[1-2]; busy in the last " \
        "night: n2"  # fmt: skip
    assert lines[4].split() == ["2026-11-01", "2", "MPI", "tcp", "good", "-", "n[1-2]"]
    assert lines[5].split() == ["2026-11-03", "0", "MPI", "tcp", "good", "-", "n[3-4]"]
    append(tmp_path / "perflogs", [on(4, "n1", "n2"), on(4, "n3", "n5", job="9")])
    read(tmp_path / "store")
    assert run(tmp_path)[0] == 0
    with refused("FC3302", "testbed"):
        run(tmp_path, "--system", "other")


@pytest.mark.parametrize(("share", "busy_for"), [(0.0, 1), (0.3, 1), (0.6, 3)])
def test_400_nodes_are_reached_as_soon_as_they_can_be(
    share: float, busy_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node waits longer than the nights that all need, and those in which it was busy.

    40 nodes a night, pairs of a leaf: an idle node waits only while others are at least as old, so
    it is taken before 400 / 40 nights in which it was idle are over, and those are counted here.
    """
    nodes = [f"c{number:03d}" for number in range(400)]
    leaves = {node: f"leaf{number // 20:02d}" for number, node in enumerate(nodes)}
    tried: dict[str, str] = {}
    idle_since = dict.fromkeys(nodes, 0)
    chance, worst, until = random.Random(5), 0, dict.fromkeys(nodes, 0)
    for tonight in range(120):
        for node in nodes:
            if until[node] <= tonight and chance.random() < share / busy_for:
                until[node] = tonight + busy_for
        idle = [node for node in nodes if until[node] <= tonight]
        rota = Rota()
        monkeypatch.setitem(rota.__dict__, "_given", {"every": 12, "last": tried})
        chosen = rota.order(idle, leaves)[:40]
        assert chosen == rota.order(list(reversed(idle)), leaves)[:40]
        for node in idle:
            idle_since[node] += 1
        worst = max([worst, *(idle_since[node] for node in chosen)])
        tried.update(dict.fromkeys(chosen, f"{tonight:04d}"))
        idle_since.update(dict.fromkeys(chosen, 0))
        assert not any(until[node] > tonight for node in chosen)
    assert worst <= 400 / 40
    assert max(idle_since.values()) <= 400 / 40


def test_a_leaf_and_several_are_chosen_in_turn() -> None:
    leaves = {f"n{number}": f"leaf{(number + 1) // 2}" for number in range(1, 9)}
    rota = Rota()
    inside, across = Placement.read("tcp-2n-leaf"), Placement.read("tcp-2n-spine")
    pairs = []
    for _ in range(4):
        pairs.append(rota.pick(leaves, inside, leaves))
        rota.hand_out(pairs[-1])
    assert pairs == [["n1", "n2"], ["n3", "n4"], ["n5", "n6"], ["n7", "n8"]]
    ways = []
    for _ in range(6):
        pair = rota.pick(leaves, across, leaves)
        ways.append(frozenset(leaves[node] for node in pair))
        rota.hand_out(pair)
    assert len(set(ways)) == 6
    assert all(len(way) == 2 for way in ways)
    assert rota.pick(["n1", "n3"], inside, leaves) == []
    assert rota.pick(["n1", "n2"], across, leaves) == []
    assert rota.pick(["n1", "x"], across, leaves) == []
