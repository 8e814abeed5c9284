from fabricheck.planning.plan_text import cost_line
from fabricheck.record.costs import Estimate


def test_the_cost_of_a_run_says_what_is_not_in_it() -> None:
    assert cost_line(Estimate(90.0, 180.0, 12, 0)) == (
        "cost: 180 node-seconds, 1.5 min one case after the other, without waiting for nodes, from "
        "12 cases that were measured before"
    )
    assert cost_line(Estimate(90.0, 180.0, 12, 3)).endswith(
        "; 3 cases were never measured and are not in it"
    )
    assert cost_line(Estimate(0.0, 0.0, 0, 3)).startswith("cost: unknown")
