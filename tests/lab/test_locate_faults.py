"""What the drill of leaves and spines takes for named, and for false."""

import importlib.util

from fabricheck.provenance import SUITE
from fabricheck_testbed import ends, fabric

SPEC = importlib.util.spec_from_file_location("locate_faults", SUITE / "lab" / "locate-faults.py")
assert SPEC
assert SPEC.loader
lab = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lab)


def test_a_fault_is_named_by_a_set_that_has_its_place_and_all_else_is_false() -> None:
    places = ("leaf1->spine2",)
    assert lab.seen([["leaf1->spine2", "n2 sends"]], places) == (True, [], 2)
    assert lab.seen([["n3 sends"], ["leaf1->spine2"]], places) == (True, ["n3 sends"], 1)
    assert lab.seen([], places) == (False, [], 0)
    assert lab.seen([["n1 sends", "leaf1 up"]], ()) == (False, ["leaf1 up or n1 sends"], 0)


def test_a_missed_false_or_absent_run_fails_the_drill() -> None:
    good, missed = lab.Seen(True, [], 1), lab.Seen(False, [], 0)
    assert lab.Row("f", "n3 rate 20mbit", 2, [good, good]).passed
    assert not lab.Row("f", "n3 rate 20mbit", 2, [good, missed]).passed
    assert not lab.Row("f", "n3 rate 20mbit", 2, [good]).passed
    assert lab.Row("f", lab.HEALTHY, 1, [missed]).passed
    wrong = lab.Row("f", lab.HEALTHY, 1, [missed, lab.Seen(False, ["n1 sends"], 0)])
    assert not wrong.passed
    assert lab.table([wrong]).splitlines()[2:] == ["| f | healthy | - | 1 of 2 n1 sends | - |"]


def test_faults_that_came_out_alike_share_a_row() -> None:
    named, missed = lab.Seen(True, [], 1), lab.Seen(False, [], 0)
    runs = {"a": named, "b": missed, "c": named}
    rows = [lab.Row("f", fault, 1, [run]) for fault, run in runs.items()]
    assert lab.table([*rows, lab.Row("g", "a", 1, [named]), lab.Row("g", "b", 1, [])]).splitlines()[
        2:
    ] == [
        "| f | a, c | 1 of 1 | 0 of 1 | 1 |",
        "| f | b | 0 of 1 | 0 of 1 | - |",
        "| g | a | 1 of 1 | 0 of 1 | 1 |",
    ]


def test_runs_that_are_due_are_made_in_turns() -> None:
    rows = [lab.Row("f", "a", 2, [lab.Seen(True, [], 1)]), lab.Row("f", "b", 2, [])]
    assert [row.fault for row in lab.turns(rows)] == ["b", "a", "b"]


def test_every_fault_is_of_this_fabric() -> None:
    cables = fabric.cables(fabric.LEAF_SPINE, 8)
    for faults in lab.FAULTS.values():
        for fault in faults:
            assert ends.of_fabric(fault.split()[0], 8, cables)
