"""What the drill of leaves and spines takes for named, and for false."""

import importlib.util

import pytest

from fabricheck.provenance import SUITE
from fabricheck.testbed import ends, fabric

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


def test_a_missed_or_false_one_fails_the_drill(capsys: pytest.CaptureFixture[str]) -> None:
    good, missed = lab.Seen(True, [], 1), lab.Seen(False, [], 0)
    assert lab.told("f", "n3 rate 20mbit", [good, good])
    assert not lab.told("f", "n3 rate 20mbit", [good, missed])
    assert not lab.told("f", "healthy", [missed, lab.Seen(False, ["n1 sends"], 0)])
    assert lab.told("f", "healthy", [missed])
    assert "| f | n3 rate 20mbit | 1 of 2 | 0 in 2 runs | 1 |" in capsys.readouterr().out


def test_every_fault_is_of_this_fabric() -> None:
    cables = fabric.cables(fabric.LEAF_SPINE, 8)
    for faults in lab.FAULTS.values():
        for fault in faults:
            assert ends.of_fabric(fault.split()[0], 8, cables)
