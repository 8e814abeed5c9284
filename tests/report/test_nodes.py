"""The section on the nodes: there when somebody looked at them, with every line."""

import pytest
from tests.report import sample
from tests.report.test_page import section

from fabricheck.report.page import render

LINES = [
    {"rule": "launch", "level": "good", "words": "reached by srun", "nodes": "n[1-3]"},
    {"rule": "memlock", "level": "critical", "words": "64KiB, <expected> unlimited", "nodes": "n3"},
    {"rule": "governor", "level": None, "words": "virtual machine", "nodes": "n[1-3]"},
]


def node_health(lines):
    document = sample.report("barrier")
    case = sample.entry_of(
        "NodeHealth",
        "builtin",
        benchmark="node_health",
        level="critical",
        result="fail",
        findings=("memlock of n3: 64KiB, expected unlimited",),
        samples={"unmet_max": {"metric": "unmet_max", "value": 1.0, "level": "critical"}},
        prerequisites=tuple(lines),
    )
    document["cases"].append(case)
    return sample.announced(document)


def test_every_line_is_on_the_page_with_its_nodes(judged):
    page = render(*judged(node_health(LINES)))
    text = section(page, "nodes")
    assert "testbed:slurm, builtin" in text
    assert "launch n[1-3] ✓ good reached by srun" in text
    assert "memlock n3 ✖ critical 64KiB, &lt;expected&gt; unlimited" in text
    assert "governor n[1-3] – skipped virtual machine" in text  # noqa: RUF001
    assert '<a href="#nodes">' in page


def test_a_run_that_looked_at_no_node_has_no_such_section(judged):
    page = render(*judged(sample.report("barrier")))
    assert 'id="nodes"' not in page
    assert 'href="#nodes"' not in page


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"rule": "launch"}, "launch None \N{EN DASH} skipped None"),
        ({**LINES[0], "level": "splendid"}, "launch n[1-3] □ not judged reached by srun"),
        ({**LINES[0], "level": [7]}, "launch n[1-3] □ not judged reached by srun"),
    ],
)
def test_a_line_that_is_damaged_is_shown_and_never_good(judged, broken, told):
    assert told in section(render(*judged(node_health([broken]))), "nodes")
