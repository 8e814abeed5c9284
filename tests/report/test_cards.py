"""Each card beside its peers: the slow one has a name, and where all are slow none has."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report.test_page import section

from fabricheck.record.entries import Sample
from fabricheck.report.cards import CardTable, card_tables, worst_tables
from fabricheck.report.page import render
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.report.summary import summarise

PORTS = tuple(f"mlx5_{number}:1" for number in range(4))
SENT = ("ib_write_bw", "ib_send_bw")
"""By the client, c018."""
READ = ("ib_read_bw", "bw")
"""Sent by the server, c017, which is rank 0 of MPI."""
BENCHMARKS = SENT + READ
MIB = 1 << 20


def case(
    port: str,
    benchmark: str,
    values: Mapping[int, float],
    status: Status = Status.NO_REFERENCE,
    causes: tuple[str, ...] = ("no reference",),
) -> ReportedCase:
    return ReportedCase(
        time="2026-11-24T21:00:00+00:00",
        system="hpc",
        partition="cpu",
        environ="builtin",
        check="VerbsPerftest",
        benchmark=benchmark,
        transport="rc",
        num_nodes=2,
        port=port,
        nodes=("c017", "c018"),
        name=f"{benchmark} {port}",
        level="no-reference",
        samples=tuple(
            Sample(metric="bandwidth", statistic="avg", size=size, value=value, unit="MB/s")
            for size, value in values.items()
        ),
        status=status,
        causes=causes,
    )


def night(factors: Mapping[str, float], noise: float = 0.01, seed: int = 1) -> list[ReportedCase]:
    drawn = random.Random(seed)
    return [
        case(port, name, {MIB: 12000 * factors.get(port, 1) * drawn.lognormvariate(0, noise)})
        for name in BENCHMARKS
        for port in PORTS
    ]


def run_of(cases: list[ReportedCase]) -> ReportedRun:
    return ReportedRun(Path("record"), "20261124T210000Z-login-1", tuple(cases))


def table(cases: list[ReportedCase]) -> CardTable:
    (found,) = card_tables(run_of(cases))
    return found


@pytest.mark.parametrize("slow", PORTS)
def test_the_slow_card_is_named_and_not_its_node(slow: str) -> None:
    found = table(night({slow: 0.5}))
    (told,) = found.accused
    begin = f"Card {slow} of c[017-018] is slow: sends at 0."
    assert told.startswith((f"{begin}49", f"{begin}5"))
    assert told.endswith("x the rate of its 3 peers both ways, by 4 benchmarks")
    assert {port for (_, port), cell in found.cells.items() if cell.fault == "slow"} == {slow}
    assert {port for (_, port), cell in found.cells.items() if cell.fault} == {slow}
    assert found.nodes == ("c017", "c018")


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
def test_healthy_cards_are_not_accused(noise: float) -> None:
    accused = [table(night({}, noise, seed)).accused for seed in range(200)]
    assert sum(map(bool, accused)) <= 4


def test_one_bandwidth_alone_accuses_nobody() -> None:
    assert table(night({PORTS[0]: 0.5})[::8]).accused == ()
    assert table(night({PORTS[0]: 0.5})[4:12]).accused == ()


@pytest.mark.parametrize(
    ("benchmarks", "end", "other"), [(SENT, "c018", "c017"), (READ, "c017", "c018")]
)
def test_a_card_that_sends_slowly_and_receives_well_is_named_at_either_end(
    benchmarks: tuple[str, ...], end: str, other: str
) -> None:
    slow = [each for each in night({PORTS[1]: 0.4}) if each.benchmark in benchmarks]
    rest = [each for each in night({}) if each.benchmark not in benchmarks]
    found = table([*slow, *rest])
    (told,) = found.accused
    assert told.startswith(f"Card {PORTS[1]} of {end} is slow: sends at 0.")
    assert told.endswith(f"its 3 peers, by 2 benchmarks; or the one of {other} receives so")
    assert [place for place, cell in found.cells.items() if cell.fault] == [(end, PORTS[1])]
    assert found.worst(PORTS[1]) == found.cells[end, PORTS[1]]
    failed = [
        case(PORTS[1], each.benchmark, {}, Status.UNTRUSTED) if each.port == PORTS[1] else each
        for each in slow
    ]
    (told,) = table([*failed, *rest]).accused
    assert told == (
        f"Card {PORTS[1]} of {end} fails: sends nothing, unlike its 3 peers, by 2 benchmarks; "
        f"or the one of {other} receives nothing"
    )


def test_where_all_cards_are_slow_it_is_no_card() -> None:
    assert table(night(dict.fromkeys(PORTS, 0.3))).accused == ()
    assert table(night({PORTS[0]: 0.9})).accused == ()


def test_the_sizes_that_all_have_are_compared() -> None:
    cases = [case(port, name, {8 * MIB: 10.0}) for port in PORTS[1:] for name in SENT]
    whole = [case(PORTS[0], name, {8: 0.1, 8 * MIB: 10.1}) for name in SENT]
    assert table([*cases, *whole]).accused == ()
    lacking = [*cases, *(case(PORTS[0], name, {8: 0.1}) for name in SENT)]
    assert {cell.words for cell in table(lacking).cells.values()} == {"not measured"}


def test_a_card_that_fails_alone_is_named_with_its_cause() -> None:
    dead = ("link down on c017 mlx5_2:1",)
    cases = [each for each in night({}) if each.port != PORTS[2]]
    cases += [case(PORTS[2], name, {}, Status.UNTRUSTED, dead) for name in BENCHMARKS]
    (told,) = table(cases).accused
    assert told == (
        f"Card {PORTS[2]} of c[017-018] fails, other cards of these nodes do not: {dead[0]}"
    )
    all_dead = [case(port, "ib_write_bw", {}, Status.UNTRUSTED, dead) for port in PORTS]
    assert table(all_dead).accused == ()


def test_a_card_that_is_critical_in_all_at_a_part_of_its_rate_is_slow_and_does_not_fail() -> None:
    half = f"bandwidth_avg_1MiB is half of the reference over {PORTS[2]}"
    cases = [
        replace(each, status=Status.CRITICAL, causes=(half,)) if each.port == PORTS[2] else each
        for each in night({PORTS[2]: 0.5})
    ]
    (told,) = table(cases).accused
    assert told.startswith(f"Card {PORTS[2]} of c[017-018] is slow: sends at 0.")
    # By one benchmark too: its reference is a second witness.
    (told,) = table(cases[:4]).accused
    assert told.startswith(f"Card {PORTS[2]} of c018 is slow: sends at 0.")
    assert ", by 1 benchmark; " in told


def test_a_card_with_figures_that_are_like_those_of_its_peers_is_critical_and_does_not_fail() -> (
    None
):
    errors = ("symbol errors on c017 mlx5_2:1",)
    cases = [
        replace(each, status=Status.CRITICAL, causes=errors) if each.port == PORTS[2] else each
        for each in night({})
    ]
    (told,) = table(cases).accused
    assert told == f"Card {PORTS[2]} of c[017-018] is critical, others are not: {errors[0]}"


def test_of_hundreds_those_with_an_accused_card_are_shown_and_the_others_counted() -> None:
    cases = [
        replace(each, nodes=(f"c{number:03}a", f"c{number:03}b"))
        for number in range(40)
        for each in night({PORTS[1]: 0.5} if number == 33 else {})
    ]
    summary = summarise(run_of(cases))
    shown, more = worst_tables(summary.cards)
    assert len(shown) == 16
    assert shown[0].accused == summary.shared[:1]
    assert more == "24 more sets of nodes: cards 192 no-reference; 0 unlike their peers"
    assert more in section(render(run_of(cases), summary), "cards")


def test_page_and_summary_have_it() -> None:
    run = run_of(night({PORTS[3]: 0.25}))
    summary = summarise(run)
    assert summary.shared[0].startswith("Card mlx5_3:1 of ")
    text = section(render(run, summary), "cards")
    assert "c017" in text
    assert "0.25" in text
    assert "x: slow" in text
    assert 'id="cards"' not in render(run_of([]), summarise(run_of([])))
