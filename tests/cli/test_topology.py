import json
from functools import partial
from pathlib import Path

import pytest

from fabricheck.localise.recorded import load
from fabricheck_testbed import fabric


@pytest.fixture
def say(fabricheck):
    return partial(fabricheck, "topology")


@pytest.fixture
def known(tmp_path: Path) -> Path:
    path = tmp_path / "known"
    path.write_text(json.dumps(fabric.topology(fabric.LEAF_SPINE_LFT, 4)))
    return path


def test_what_is_known_is_shown_and_converted(say, known: Path, tmp_path: Path) -> None:
    code, out, _ = say("show", known)
    assert code == 0
    assert out.splitlines()[0] == (
        "leaf1: n[1-2] | spine[1-2], routes to 4 nodes, 11 flows hit every path"
    )
    again = tmp_path / "again"
    again.write_text(say("show", known, "--json")[1])
    assert load(again) == load(known)


def test_a_check_fails_for_what_is_unknown(say, known: Path) -> None:
    assert say("check", known) == (0, "known: 4 nodes at 2 leaves\n", "")
    code, out, _ = say("check", known, "--nodes", "n[1-5]")
    assert (code, "the leaf of n5 is unknown" in out) == (1, True)


def test_names_that_are_none_of_nodes_are_shown_as_they_are(say, tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_text('leaves: {"sw[1": ["n1", "l]"]}\nspines: {"sw[1": ["s["]}\n')
    for command in ("show", "check"):
        code, out, _ = say(command, path)
        assert (code, "sw[1" in out or "known: 2 nodes" in out) in ((0, True), (1, True))


def test_bad_input_is_one_sentence(say, tmp_path: Path) -> None:
    for words in (("show", tmp_path / "none"), ("check", tmp_path)):
        code, out, complaint = say(*words)
        assert (code, out, complaint.count("\n")) == (2, "", 1), complaint
