"""The first three sentences: the fabric, what the verdict means for it, and what to do next."""

import time
from dataclasses import replace

import pytest
from tests.report import layered, sample
from tests.report.test_cards import PORTS, night, run_of

from fabricheck.report.by_node import node_rows
from fabricheck.report.headline import headline
from fabricheck.report.sections import known_failure, links
from fabricheck.report.summary import summarise


def test_untrusted_over_a_good_night_says_that_the_other_verdicts_hold(judged):
    told = headline(*judged(sample.with_untrusted()))
    assert (
        told.fabric == "The fabric: nothing critical in 73 cases judged; 1 case without a verdict"
    )
    assert told.run == (
        "The run: untrusted: 1 of 74 cases without proof, so neither good nor bad is known of "
        "them; the verdict on 73 others holds"
    )


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        ("good", "Next: nothing to do"),
        ("critical", 'fabricheck explain "latency openmpi tcp-2n" --session 2026'),
        ("untrusted", 'fabricheck explain "bw mpich tcp-2n" --session 2026'),
        ("no-reference", "fabricheck baseline propose --system testbed"),
        ("node-failure", "read its log: tail -n 40 /home/user/fabricheck/output/testbed/slurm/"),
        ("failed-build", "read its log: tail -n 40 /home/user/"),
    ],
)
def test_the_next_step_is_a_command(judged, variant, told):
    assert told in headline(*judged(sample.VARIANTS[variant]())).next


def test_where_the_layer_is_open_the_next_step_is_to_find_it(judged):
    document = layered.layered()
    layered.redden(document, "latency", "openmpi")
    layered.redden(document, "ib_send_lat")
    assert 'fabricheck explain "latency openmpi rc-2n"' in headline(*judged(document)).next


def test_no_layers_are_compared_of_a_case_that_has_none(judged):
    document = sample.report()
    entry = sample.find(document, "transport_order", "mpich", "tcp-2n")
    sample.set_point(entry, "ratio_p50_1MiB", 0.4, "critical")
    sample.fail(document, entry, "performance", "0.4 is below 1", findings=("0.4 is below 1",))
    assert headline(*judged(document)).next == "Next: read its causes"


def test_a_slow_card_comes_before_all_else():
    run = run_of(night({PORTS[1]: 0.5}))
    told = headline(run, summarise(run))
    assert told.fabric.startswith("The fabric: 1 card slow; ")
    assert told.next == (
        f"Next: on c[017-018], look at card {PORTS[1]}: fabricheck node --loopback"
    )
    rows = node_rows(run, summarise(run))
    assert {node for row in rows for node in row.nodes} == {"c017", "c018"}
    assert {card.partition(" ")[0] for row in rows for card in row.cards} == {PORTS[1]}


def test_a_card_that_is_slow_among_several_sets_of_nodes_is_one():
    pairs = [night({PORTS[1]: 0.5}), night({PORTS[1]: 0.5}), night({}), night({PORTS[1]: 0.5})]
    others = ("c018", "c019", "c020", "c021")
    run = run_of([
        replace(each, nodes=("c017" if other != "c021" else "c030", other))
        for cases, other in zip(pairs, others, strict=True)
        for each in cases
    ])  # fmt: skip
    told = headline(run, summarise(run))
    assert told.fabric.startswith("The fabric: 2 cards slow; ")
    assert told.next.startswith(f"Next: on c017, look at card {PORTS[1]} and 1 more: ")


def test_nodes_that_showed_the_same_share_a_row_and_the_worst_is_first(judged):
    run, summary = judged(sample.with_node_failure())
    rows = node_rows(run, summary)
    assert next(row.status for row in rows) == "failed"
    assert sorted(node for row in rows for node in row.nodes) == ["n1", "n2", "n3", "n4"]
    assert all(row.problems == ((1, "alltoall openmpi tcp-4n"),) for row in rows)
    assert ("n3", "n4") in [row.nodes for row in rows]


def test_the_time_of_this_machine_stands_beside_utc(judged, monkeypatch):
    run, _ = judged(sample.report("barrier"))
    monkeypatch.setenv("TZ", "Europe/Zurich")
    time.tzset()
    try:
        assert run.began == "2026-11-21 05:41 UTC (06:41 CET)"
        monkeypatch.setenv("TZ", "Pacific/Honolulu")
        time.tzset()
        assert run.began == "2026-11-21 05:41 UTC (2026-11-20 19:41 HST)"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_known_failure_has_its_ticket_and_a_case_its_log_and_the_page_of_its_code(judged):
    document = sample.with_warning()
    entry = sample.find(document, "allreduce", "mpich", "tcp-4n")
    known = "known failure: cable of leaf 3 is on order, ticket 4711"
    entry["findings"] = (f"latency_p99 warning; {known}; FC0802 expected link_shares",)
    _, summary = judged(document)
    (problem,) = summary.problems
    assert known_failure(problem) == "cable of leaf 3 is on order, ticket 4711"
    (log, address), (code, page) = links(problem.cases[0])
    assert (address, code) == (f"file://{log}", "FC0802")
    assert page.endswith("docs/reference/errors.md#fc0802")
