"""How far clocks are apart, and how well that is known."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.node_health.survey import node

from fabricheck.errors import FabricheckError
from fabricheck.node_health.clocks import (
    SURVEY,
    Exchange,
    read_allocation,
    read_exchange,
    skews,
)
from fabricheck.node_health.facts import NODE_PROBE

pytestmark = pytest.mark.integration

MS = 1_000_000
LAUNCH = {0: (0, 1000 * MS)}


def answering(**answers: list[int]) -> Exchange:
    """Round after round of 10 ms, each node answering at these ms."""
    count = max(len(times) for times in answers.values())
    return Exchange(
        {**LAUNCH, **{n: (n * 100 * MS, (n * 100 + 10) * MS) for n in range(1, count + 1)}},
        tuple(
            (number, name, (number * 100 + time) * MS)
            for name, times in answers.items()
            for number, time in enumerate(times, start=1)
        ),
    )


def nodes(count: int, clock: int = 500 * MS) -> list[object]:
    return [node(number, clock=clock) for number in range(1, count + 1)]


def test_clocks_that_agree_are_known_to_the_round_trip():
    found = skews(answering(n1=[5], n2=[5]), nodes(2))
    assert {each.seconds for each in found.values()} == {0}
    assert found["n1"].uncertainty == pytest.approx(0.010)


def test_more_rounds_know_more():
    # Asked just before, then just after: the answer's own way is bounded from both sides.
    found = skews(answering(n1=[1, 9], n2=[1, 9]), nodes(2))
    assert found["n1"].uncertainty == pytest.approx(0.002)


@pytest.mark.parametrize("skew", [2000, -2000])
def test_of_three_the_one_that_is_off_is_named(skew):
    exchange = answering(n1=[5], n2=[5 + skew], n3=[5])
    found = skews(exchange, [node(1, clock=500 * MS), node(2, clock=(500 + skew) * MS),
                             node(3, clock=500 * MS)])  # fmt: skip
    assert found["n2"].seconds == pytest.approx(skew / 1000)
    assert found["n1"].seconds == found["n3"].seconds == 0


def test_two_that_differ_are_both_off():
    exchange = answering(n1=[5], n2=[305])
    found = skews(exchange, [node(1, clock=500 * MS), node(2, clock=800 * MS)])
    assert found["n1"].seconds == pytest.approx(-0.3)
    assert found["n2"].seconds == pytest.approx(0.3)


def test_one_node_has_nothing_to_compare_with():
    assert skews(answering(n1=[5]), nodes(1)) == {}


def test_without_rounds_the_launch_is_the_bound():
    found = skews(Exchange(LAUNCH, ()), nodes(2))
    assert found["n1"].uncertainty == pytest.approx(1.0)
    assert found["n1"].seconds == 0


def test_a_round_that_was_not_finished_does_not_count():
    exchange = Exchange(LAUNCH, ((1, "n1", 10**18),))
    assert skews(exchange, nodes(2))["n1"].seconds == 0


def test_a_clock_that_was_set_meanwhile_is_known_badly():
    found = skews(answering(n1=[5, 5005], n2=[5, 5]), nodes(2))
    assert found["n1"].uncertainty > 2.5


def survey(directory: Path, rounds: int, command: str, **env: str) -> int:
    return subprocess.run(
        ["dash", SURVEY, str(rounds), "2", "sh", "-c", command],
        cwd=directory,
        env={"PATH": os.environ["PATH"], **env},
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    ).returncode


# A launcher of two tasks that hands its standard input to both, as srun does.
LAUNCHER = f"""
mkfifo two; SLURMD_NODENAME=n2 dash {NODE_PROBE} <two &
tee two | SLURMD_NODENAME=n1 dash {NODE_PROBE}; wait
"""


def test_a_survey_of_two_nodes(tmp_path: Path) -> None:
    assert survey(tmp_path, 3, LAUNCHER, SLURM_JOB_NODELIST="n[1-2]") == 0
    exchange = read_exchange(tmp_path)
    assert sorted(exchange.rounds) == [0, 1, 2, 3]
    assert sorted((number, name) for number, name, _ in exchange.answers) == [
        (number, name) for number in (1, 2, 3) for name in ("n1", "n2")
    ]
    assert read_allocation(tmp_path) == "n[1-2]"
    found = skews(exchange, [node(1, clock=exchange.rounds[0][0]),
                             node(2, clock=exchange.rounds[0][0])])  # fmt: skip
    assert all(abs(each.seconds) <= each.uncertainty for each in found.values()), "one machine"


def test_a_survey_without_rounds_asks_nothing(tmp_path: Path) -> None:
    assert survey(tmp_path, 0, LAUNCHER) == 0
    exchange = read_exchange(tmp_path)
    assert (sorted(exchange.rounds), exchange.answers) == ([0], ())
    assert read_allocation(tmp_path) == ""


@pytest.mark.parametrize("command", ["exit 3", "read -r line; exit 3", "kill -9 $$"])
def test_a_launcher_that_ends_early_ends_the_survey(tmp_path: Path, command: str) -> None:
    assert survey(tmp_path, 3, command) in (3, 137)
    assert sorted(read_exchange(tmp_path).rounds) == [0]


def test_one_node_that_never_answers_ends_with_its_launcher(tmp_path: Path) -> None:
    answer = "read -r line; echo 'answer 1 n1 5'; exit 1"
    assert survey(tmp_path, 3, answer) == 1
    assert sorted(read_exchange(tmp_path).rounds) == [0]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("allocation n1\nround 0 1 2\n", "clock: expected 'end'"),
        ("allocation n1\nround 0 1\nend\n", "clock, line 2: expected the words of 'round'"),
        ("allocation n1\nround 0 1 2\nanswer 1 n1 late\nend\n", "clock, line 3"),
    ],
)
def test_damaged_times(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "clock").write_text(text)
    with pytest.raises(FabricheckError) as caught:
        read_exchange(tmp_path)
    assert str(caught.value).startswith(where)
