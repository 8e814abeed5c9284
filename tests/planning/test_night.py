"""A night within a budget: what runs, what rests, and what must never rest unseen."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from fabricheck.planning import night as nights
from fabricheck.planning.night import NightPlan, plan_night, resting_of, selected
from fabricheck.planning.night_past import Changed, PastNights, key_of, read_past_nights
from fabricheck.planning.night_rota import AFTER_CHANGE, LOOKS, Rota, waited
from fabricheck.planning.plan import LeftOut, Plan
from fabricheck.planning.plan_text import cost_line, night_lines
from fabricheck.provenance import SUITE
from fabricheck.record import entries as record
from fabricheck.record.costs import Cost, CostEstimate
from fabricheck.record.resting import NOT_DUE, pack, unpack
from fabricheck.record.write import append
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.sites.night import NightSettings

DAYS = tuple(f"2026-11-{day:02d}" for day in range(1, 21))


def case(
    benchmark: str, placement: str = "tcp-2n", environ: str = "openmpi", **more: object
) -> CheckCase:
    family = ("nightly", "smoke", "pt2pt") if benchmark == "latency" else ("nightly", "pt2pt")
    made = CheckCase("MpiPointToPoint", benchmark, placement, "main", environ, family, ())
    return replace(made, **more)  # type: ignore[arg-type]


CASES = tuple(
    case(benchmark, environ=environ)
    for benchmark in ("latency", "bw", "bibw", "mbw_mr")
    for environ in ("openmpi", "mpich")
)


def past(cases: tuple[CheckCase, ...] = CASES, **more: object) -> PastNights:
    """Every case ran every night, and takes ten seconds on two nodes."""
    made = PastNights(
        DAYS,
        ran={key_of(each): set(DAYS) for each in cases},
        costs={key_of(each): Cost(10.0, 2) for each in cases},
    )
    return replace(made, **more)  # type: ignore[arg-type]


def night(settings: NightSettings, then: PastNights | None = None, *cases: CheckCase) -> NightPlan:
    return plan_night(Plan("hpc", cases or CASES, (), ()), settings, then or past())


def environs(found: NightPlan) -> Counter[str]:
    return Counter(each.case.environ for each in found.chosen)


HALF = NightSettings({"wall": "40s"})


def test_the_budget_is_kept_and_every_case_is_chosen_or_rests_with_a_reason() -> None:
    found = night(HALF)
    assert sum(each.cost.seconds for each in found.chosen) == 40
    assert len(found.chosen) + len(found.resting) == len(CASES)
    assert all(each.why and each.due > 0 for each in found.resting)
    assert found.paths == (2, 2)
    assert night(NightSettings({"wall": "10s"})).paths == (1, 2)


def test_node_hours_bind_as_well() -> None:
    found = night(NightSettings({"wall": "40s", "node_hours": 20 / 3600}))
    assert len(found.chosen) == 1


def test_what_runs_always_runs_whatever_it_costs() -> None:
    found = night(replace(HALF, budget={"wall": "10s"}, always=("smoke",)))
    assert {each.case.benchmark for each in found.chosen} == {"latency"}
    assert found.remarks == (
        "what runs always costs more than the budget: raise the one or the other",
    )


def test_a_case_is_due_after_so_many_nights_and_the_longest_overdue_comes_first() -> None:
    rested = {key_of(each): {DAYS[-1 - 2 * at]} for at, each in enumerate(CASES)}
    found = night(replace(HALF, at_least_every={"nightly": 5}), past(ran=rested))
    assert [each.why for each in found.chosen] == ["due"] * 4
    assert {each.case for each in found.chosen} == set(CASES[-4:])
    late = [each for each in found.resting if each.due <= 0]
    assert [each.case for each in late] == list(CASES[3:1:-1])[: len(late)]
    assert any("are due and find no room" in each for each in found.remarks)
    states = {each["state"] for each in resting_of(found)}
    assert states == {NOT_DUE, "overdue"}


def test_what_was_red_runs_again(tmp_path: Path) -> None:
    found = night(HALF, past(red={key_of(CASES[-1])}))
    assert [each.why for each in found.chosen if each.case == CASES[-1]] == ["red last time"]
    assert night(HALF, past(red={key_of(each) for each in CASES})).remarks


def test_without_a_past_a_night_is_full_of_what_was_never_measured() -> None:
    found = night(replace(HALF, budget={"wall": "4m"}), PastNights())
    assert len(found.chosen) == 4
    assert {each.rests for each in found.resting} == {None}


def test_what_a_change_concerns_comes_before_what_it_does_not() -> None:
    ran = {key_of(each): set(DAYS[:-1]) for each in CASES}
    change = Changed(DAYS[-1], "main", "mpich", "mpi")
    found = night(HALF, past(ran=ran, changes=(change,)))
    assert environs(found) == {"mpich": 3, "openmpi": 1}
    spared = replace(HALF, after_change={"mpi": []})
    found = night(spared, past(ran=ran, changes=(change,)))
    assert environs(found) == {"mpich": 2, "openmpi": 2}


def test_weights_say_what_users_lose() -> None:
    found = night(replace(HALF, weight={"mpich": 100}))
    assert environs(found) == {"mpich": 3, "openmpi": 1}


def test_a_ratio_runs_when_its_sides_run_and_brings_them_when_it_must() -> None:
    sides = (case("latency"), case("bw"))
    ratio = case("order", check="TransportOrder", needs=tuple(each.name for each in sides))
    cases = (*sides, ratio, case("bibw"))
    alone = night(replace(HALF, budget={"wall": "10s"}), past(cases), *cases)
    assert ratio not in {each.case for each in alone.chosen}
    both = night(
        replace(HALF, always=("TransportOrder",), budget={"wall": "30s"}), past(cases), *cases
    )
    assert {each.case for each in both.chosen} == {*sides, ratio}


def test_who_asks_for_a_ratio_gets_its_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    side = case("latency", tags=("full",))
    ratio = case("order", check="TransportOrder", needs=(side.name,))
    made = Plan("testbed", (ratio, case("bw")), (LeftOut(side, "not in the run nightly"),), ())
    monkeypatch.setattr(nights, "make", lambda *_: made)
    monkeypatch.setattr(nights, "read_past_nights", lambda *_: PastNights())
    settings = {"testbed": NightSettings({"wall": "1h"})}
    monkeypatch.setattr(nights, "read_section", lambda *_: settings)
    found = nights.choose(SUITE, "testbed", ("order",))
    assert found
    assert {each.case for each in found.chosen} == {ratio, side}
    nothing = nights.choose(SUITE, "testbed", ("barrier",))
    assert nothing
    assert (nothing.chosen, nothing.resting) == ((), ())
    settings["testbed"] = NightSettings()
    assert nights.choose(SUITE, "testbed") is None


def test_cases_of_one_test_and_environment_run_in_all_partitions_or_in_none() -> None:
    twin = case("bw", partition="other")
    found = night(
        replace(HALF, budget={"wall": "20s"}, always=("bw",)), past((*CASES, twin)), *CASES, twin
    )
    tests = selected(found)
    assert tests["MpiPointToPoint bw tcp-2n"] == {
        "systems": ["hpc:main", "hpc:other"], "environs": ["openmpi", "mpich"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"always": ["smoky"]},
            r"night > always of its site file, found 'smoky', did you mean 'smoke'",
        ),
        ({"at_least_every": {"Verbs": 3}}, "night > at_least_every"),
        ({"after_change": {"mpi": ["nobody"]}}, "night > after_change"),
        ({"weight": {"infiniband": 3}}, "night > weight"),
    ],
)
def test_a_word_that_no_case_is_called_by_is_refused(
    settings: dict[str, object], message: str
) -> None:
    with refused("FC0301", message):
        night(replace(HALF, **settings))  # type: ignore[arg-type]


def test_the_plan_in_words_names_each_case_that_rests() -> None:
    lines = list(night_lines(night(HALF)))
    assert lines[0] == (
        "hpc: 4 of 8 cases run tonight, for 0.02 node-hours and 1 min of 0.04 node-hours and 1 min"
    )
    assert lines[1].startswith("they reach 2 of 2 combinations of partition, MPI and transport")
    resting = lines[lines.index("not tonight:") + 2 :]
    assert len(resting) == 4
    assert all("measured 1 night ago, runs within 6 nights" in line for line in resting)


def test_each_combination_of_partition_mpi_and_transport_gets_a_case_first() -> None:
    others = tuple(case("bw", "shm-1n", environ) for environ in ("openmpi", "mpich"))
    cases = (*CASES, *others)
    ran = {key_of(each): {DAYS[-3]} for each in CASES} | {key_of(each): {*DAYS} for each in others}
    found = night(replace(HALF, budget={"wall": "80s"}), past(cases, ran=ran), *cases)
    assert {each.case for each in found.chosen} >= {*others}
    assert found.paths == (4, 4)
    assert night(HALF, past(cases, ran=ran), *cases).paths == (2, 4), "for half of the budget"


def test_who_waited_longest_for_its_price_is_taken_first() -> None:
    rota = Rota(np.array([1.0, 2.0, 3.0, 1.9]), np.array([[0.1], [0.4], [1.6], [0.4]]))
    rota.fill(np.ones(4, dtype=bool))
    assert list(rota.taken) == [True, True, False, True]
    assert rota.left == pytest.approx([0.1])


def test_after_a_change_cases_are_looked_at_several_times() -> None:
    looks = np.array([0, LOOKS - 1, LOOKS, np.inf])
    found = waited(np.ones(4), looks)
    assert list(found) == [1 + AFTER_CHANGE, 1 + AFTER_CHANGE, 1, 1]


def test_the_record_tells_nights_costs_and_changes(tmp_path: Path) -> None:
    place = {"system": "hpc", "partition": "main", "environ": "openmpi"}
    for day, version in ((1, "4.1"), (2, "4.1"), (3, "5.0")):
        time = f"2026-11-0{day}T02:00:00+00:00"
        common = {**place, "time": time, "session": f"s{day}"}
        facts = {"machine": {"kernel": "6.1"}, "software": {"mpi": version}}
        level = ("good", "critical", "disturbed")[day - 1]
        looked = {"check": "C", "benchmark": "bw", "level": level, "launch": 1, "measuring": 2}
        append(
            tmp_path,
            [
                record.Nodes(**common, nodes=("n1",), **facts),
                record.CaseEntry(**common, nodes=("n1", "n2"), **looked),
            ],
        )
    found = read_past_nights(tmp_path, "hpc")
    (key,) = found.ran
    assert found.ran[key] == {"2026-11-01", "2026-11-02"}
    assert found.red == {key}
    assert found.changes == (Changed("2026-11-03", "main", "openmpi", "mpi"),)
    assert found.costs == {key: Cost(3, 2)}


def test_what_rests_travels_packed() -> None:
    many = list(resting_of(night(HALF))) * 500
    packed = pack(many)
    assert unpack(packed) == tuple(many)
    assert "," not in packed
    # One argument of a command may have 128 KiB.
    assert len(packed) < 128 << 10
    assert unpack("") == ()
    for damaged in ("x", packed[:-40], pack([])[:-3]):
        with pytest.raises(ValueError, match="expected the cases that rest"):
            unpack(damaged)


def test_the_cost_of_a_run_says_what_is_not_in_it() -> None:
    assert cost_line(CostEstimate(90.0, 180.0, 12, 0)) == (
        "cost: 180 node-seconds, 1.5 min one case after the other, without waiting for nodes, from "
        "12 cases that were measured before"
    )
    assert cost_line(CostEstimate(90.0, 180.0, 12, 3)).endswith(
        "; 3 cases were never measured and are not in it"
    )
    assert cost_line(CostEstimate(0.0, 0.0, 0, 3)).startswith("cost: unknown")
