"""What differs across an event, and how telling it is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from tests.history.recorded import case, read, record
from tests.trend.made import DAY, FIRST, noise, series, stepped

from fabricheck.history.provenance import Provenance
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series
from fabricheck.history.store import History
from fabricheck.record.entries import Nodes
from fabricheck.trend.attribution import REACH, Difference, around, attribute
from fabricheck.trend.detect import analyse
from fabricheck.trend.trend_text import difference_words

NIGHTS, AT = 100, 92
ORIGIN = Nodes(
    time="",
    session="",
    system="hpc",
    partition="rdma",
    environ="openmpi",
    nodes=("n1", "n2"),
    machine={"kernel": "6.1"},
    software={"ucx": "1.13"},
)


def origins(**changes: Any) -> list[Nodes]:
    """The same every night."""
    return [replace(ORIGIN, session=f"night-{each}", **changes) for each in range(NIGHTS)]


def since(origins: list[Nodes], night: int, **changes: Any) -> list[Nodes]:
    """Others from a night on."""
    return [*origins[:night], *(replace(each, **changes) for each in origins[night:])]


def members(**changed: Any) -> list[Series]:
    """Two series that step, and two of the same that don't."""
    return [
        *(series(stepped(at=AT, size=0.5, seed=size), size=size, **changed) for size in (8, 16)),
        *(series(noise(NIGHTS, size), size=size) for size in (32, 64)),
    ]


def across(found: list[Series], *records: list[Nodes]) -> list[Difference]:
    (event,) = analyse(found, {}).events
    return attribute(event, found, Provenance([each for some in records for each in some]))


def test_what_only_the_changed_series_saw_comes_first():
    found = members(environ="mpich")
    mpich = since(origins(environ="mpich"), AT, software={"ucx": "1.15"})
    openmpi = since(origins(), AT, machine={"kernel": "6.6"})
    # The same nodes: the kernel is that of all series.
    first, second = across(found, mpich, openmpi)
    assert (first.field, first.before, first.after, first.where) == ("ucx", "1.13", "1.15", "rdma")
    assert (len(first.explained), first.changed) == (2, 2)
    assert (len(first.contradicted), first.unchanged) == (0, 2)
    assert first.score == 1
    assert first.since == FIRST + AT * DAY
    assert (second.field, second.where, second.score) == ("kernel", "n[1-2]", 0)
    assert difference_words(first).startswith(
        "ucx 1.13 → 1.15 on rdma since 2026-04-03 03:00 (2 of"
    )


def test_one_node_of_several_is_named():
    others = since(origins(nodes=("n2",)), AT, machine={"kernel": "6.6"})
    (only,) = across(members(), origins(nodes=("n1",)), others)
    assert (only.field, only.before, only.after, only.where) == ("kernel", "6.1", "6.6", "n2")


def test_another_node_is_a_difference_and_is_compared_with_those_before():
    records = since(origins(), AT, nodes=("n1", "n3"), machine={"kernel": "6.6"})
    records = [each if "n3" not in each.nodes else replace(each, nodes=("n3",)) for each in records]
    same = origins(nodes=("n1",))[AT:]
    found = {(each.field, each.before, each.after): each.where for each in
             across(members(), records, same)}  # fmt: skip
    assert found == {
        ("nodes", "without n3", "with n3"): "rdma",
        ("nodes", "with n2", "without n2"): "rdma",
        ("kernel", "6.1", "6.6"): "n3",
    }


def test_what_changed_within_reach_counts_and_what_changed_earlier_does_not():
    for place, expected in ((AT - REACH, 1), (AT - REACH - 1, 0), (AT + REACH, 1)):
        assert len(across(members(), since(origins(), place, software={"ucx": "2"}))) == expected


def test_of_two_that_explain_the_same_the_nearer_comes_first():
    records = since(origins(), AT - 2, machine={"kernel": "6.6"})
    records = since(records, AT, software={"ucx": "1.15"})
    assert [each.field for each in across(members(), records)] == ["ucx", "kernel"]


def test_nights_of_which_nothing_is_known_are_passed_over():
    records = since(origins(), AT, software={"ucx": "1.15"})
    assert len(across(members(), records[: AT - 1], records[AT + 1 :])) == 1
    assert across(members()) == []
    assert across(members(), records[AT:]) == []


def test_facts_that_could_not_be_read_are_no_difference():
    assert across(members(), since(origins(), AT, software={"ucx": "not available"})) == []
    assert across(members(), since(origins(), AT, software={"unheard": "of"})) == []


def test_series_that_were_not_measured_on_both_sides_do_not_count():
    young = series(noise(4, 9), nights=np.arange(AT + 2, AT + 6), size=128)
    other = series(noise(NIGHTS, 9), system="other")
    records = since(origins(), AT, software={"ucx": "1.15"})
    (only,) = across([*members(), young, other], records)
    assert only.unchanged == 2


def test_another_session_counts_with_the_night_that_it_is_nearer_to():
    records = since(origins(), AT - REACH, software={"ucx": "1.15"})
    later = [replace(each, session=f"later-{place}") for place, each in enumerate(records)]
    names = np.array([each.session for each in later])
    one = series(noise(NIGHTS, 9), size=128)
    for hours, contradicted in ((10, 3), (-10, 3), (-14, 2)):
        other = Series(one.key, one.times + np.timedelta64(hours, "h"), one.values, names)
        (only,) = across([*members(), other], records, later)
        assert (len(only.contradicted), only.unchanged) == (contradicted, 3)


def test_of_long_facts_the_words_are_shown_that_differ():
    before = "quiet mitigations=auto " + "x" * 60
    after = before.replace("auto", "off") + " nosmt"
    records = since(origins(machine={"kernel_options": before}), AT,
                    machine={"kernel_options": after})  # fmt: skip
    (only,) = across(members(), records)
    assert "kernel_options mitigations=auto → mitigations=off nosmt on" in difference_words(only)


def test_of_a_long_history_only_what_is_needed_is_asked_for():
    found = members()
    (event,) = analyse(found, {}).events
    needed = around([event], Selection({"system": ("hpc",)}))
    records = since(origins(), AT, software={"ucx": "1.15"})
    assert needed.since is not None
    first = int((needed.since - datetime(2026, 1, 1, 3, tzinfo=UTC)) / timedelta(days=1))
    assert 0 < first < AT - REACH
    assert needed.fields == {"system": ("hpc",)}
    assert attribute(event, found, Provenance(records[first:])) == across(found, records)


def test_without_events_nothing_is_asked_for(tmp_path: Path):
    record(tmp_path / "logs", case(0, commit="abc"), case(1, session=""))
    read(tmp_path / "store", tmp_path / "logs")
    with History.open_to_read(tmp_path / "store") as history:
        series = next(history.series())
        known = history.provenance(around([], Selection()))
        assert known.of(series.key, str(series.sessions[0])).software == {}
        known = history.provenance()
        assert known.of(series.key, str(series.sessions[0])).software == {
            "commit": "abc",
            "program": "mpi_probe",
        }
