"""Lines for administrators to copy: what a node's name says can't become a command."""

import shlex

import pytest

from fabricheck.localise.located import dead_ports
from fabricheck.schedulers import to_copy


def test_lines_name_the_nodes_folded_and_the_reason_quoted():
    without, drain = to_copy(["n1", "n2", "n3"], "link down on n1; it's $(touch x) `date`")
    assert without == "without: --exclude=n[1-3]"
    assert shlex.split(drain.partition(": ")[2]) == [
        *("scontrol", "update", "nodename=n[1-3]", "state=drain"),
        "reason=fabricheck: link down on n1 its (touch x) date",
    ]


@pytest.mark.parametrize(
    "name",
    ["n8;touch${IFS}x;", "$(id)", "`id`", "n[1-3]", "n1,n2", "n 1", "", "-n1", "n\x1b[0m", "n1\n"],
)
def test_a_name_that_is_no_hosts_gives_no_line(name):
    (line,) = to_copy(["n1", name], "slow")
    assert line.startswith("no line to copy: expected names of hosts, found ")
    assert "scontrol" not in line
    assert line.isprintable()


def test_a_dead_port_is_of_a_node_whose_name_may_have_dots(tmp_path):
    (tmp_path / "port.n1.cluster.example").write_text("down mlx5_0:1\n")
    assert dead_ports(tmp_path) == {"n1.cluster.example": "mlx5_0:1"}
