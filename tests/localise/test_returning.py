from itertools import combinations

import numpy as np
import pytest
from tests.history.recorded import case, read, record

from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.localise.returning import Returning, returning

NIGHTS = 20
PAIRS = tuple(map("".join, combinations("abcde", 2)))


def found(tmp_path, suspicions, name="r") -> list[Returning]:
    """Of nights in which ``suspicions`` says which pairs were critical at first."""
    lines = []
    for night in range(NIGHTS):
        for place, pair in enumerate(PAIRS):
            own = {"benchmark": f"bw{place}", "nodes": tuple(pair), "job": f"{night}{pair}"}
            if pair in suspicions(night):
                first = {"level": "disturbed", "gave": "critical", "result": "fail"}
                lines.append(case(night, None, (), **own, **first))
                own |= {"attempt": 2, "job": f"{night}{pair}2"}
            lines.append(case(night, **own))
    read(tmp_path / name, record(tmp_path / f"{name}.logs", *lines))
    with History.open_to_read(tmp_path / name) as history:
        return returning(history.cases(Selection()))


def test_the_case_that_is_critical_at_first_again_and_again_is_named(tmp_path):
    (one,) = found(tmp_path, lambda night: ("cd",) if night % 4 == 1 else ())
    assert (one.what, one.nights, one.of) == ("bw7 openmpi tcp of 2 nodes", 5, NIGHTS)
    assert (one.elsewhere, one.of_others) == (0, 9 * NIGHTS)
    assert str(one.since) == "2026-11-02T06:00:00"


def test_the_node_that_such_cases_share_is_named(tmp_path):
    suspicions = {
        1: ("ab",),
        4: ("bd", "bc"),
        6: ("be",),
        9: ("ab",),
        12: ("bd",),
        15: ("ab", "bc"),
    }
    names = [one.what for one in found(tmp_path, lambda night: suspicions.get(night, ()))]
    assert names[0] == "b"
    assert not {"a", "c", "d", "e"} & set(names)


def test_cases_of_another_suite_which_nobody_judged_name_nobody(tmp_path):
    own = {"level": "", "result": "", "gave": ""}
    lines = [case(night, None, (), **own, job=f"{night}") for night in range(NIGHTS)]
    read(tmp_path / "r", record(tmp_path / "r.logs", *lines))
    with History.open_to_read(tmp_path / "r") as history:
        assert returning(history.cases(Selection())) == []


@pytest.mark.parametrize("nights", [(), (3,), (3, 8)])
def test_twice_is_no_fault_that_comes_back(tmp_path, nights):
    assert not found(tmp_path, lambda night: ("cd",) if night in nights else ())


def test_what_happens_everywhere_names_nobody(tmp_path):
    noise = np.random.default_rng(20271101)
    false = 0
    for fabric in range(20):
        busy = noise.random((NIGHTS, len(PAIRS))) < 0.15
        names = [tuple(np.array(PAIRS)[each]) for each in busy]
        false += bool(found(tmp_path, names.__getitem__, f"r{fabric}"))
    assert false <= 1


def test_a_second_run_that_is_critical_too_is_no_return(tmp_path):
    lines = [
        case(night, None, (), level="disturbed", gave="critical", nodes=("a", "b"))
        for night in range(NIGHTS)
    ] + [
        case(night, level="critical", attempt=2, nodes=("a", "b"), job=f"{night}x")
        for night in range(NIGHTS)
    ]
    read(tmp_path / "s", record(tmp_path / "r", *lines))
    with History.open_to_read(tmp_path / "s") as history:
        assert not returning(history.cases(Selection()))
