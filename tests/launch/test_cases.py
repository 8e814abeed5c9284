"""A case is a benchmark on a placement."""

import copy

from fabricheck.launch.cases import Case


def test_a_case_is_told_from_one_on_another_placement():
    case = Case("latency", "rc-2n")
    assert case == copy.deepcopy(case) == Case("latency", case.placement)
    others = {Case("latency", "tcp-2n"), Case("bw", "rc-2n"), Case("latency", "rc-2n", number=1)}
    assert len({case, *others}) == 4
    assert case != "latency"


def test_a_case_is_shown_by_its_fields():
    assert str(Case("latency", "rc-2n")) == "latency"
    assert Case("latency", "rc-2n").shown == "latency %transport=rc %num_nodes=2"
    block = Case("bw", "tcp-4n-full", sizes=(8,), iterations=5, number=2)
    assert block.shown == "bw %transport=tcp %num_nodes=4 %layout=full %block=2"
