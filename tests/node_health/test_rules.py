"""Every prerequisite broken once, and seen; what does not apply says why."""

import dataclasses
from typing import Any

import pytest
from tests.node_health.survey import CARD, SOFTWARE, line_of, lines_of, node, survey

from fabricheck.judge.levels import Level
from fabricheck.node_health.clocks import Skew
from fabricheck.node_health.facts import NumaNode, PortFacts
from fabricheck.node_health.nodes import probe_arguments
from fabricheck.node_health.rules import RULES, findings, judge, most_unmet, unreached
from fabricheck.node_health.survey import Expectations, Survey
from fabricheck.sites.extras import NodeHealthExtra

WITH_MPI = {"family": "openmpi"}


def held_to(**health: Any) -> Expectations:
    return Expectations(health=NodeHealthExtra(**health))


def expecting(**expected: object) -> Survey:
    return survey(expected=Expectations(rdma=True, **expected))  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["", "openmpi"])
def test_healthy_nodes_are_good_in_everything(family):
    lines = judge(survey(family=family))
    assert {line.level for line in lines} == {Level.GOOD}
    assert all(line.nodes == ("n1", "n2") for line in lines), "equal nodes share a line"
    assert findings(lines) == ()
    assert most_unmet(lines) == 0


def test_every_rule_is_judged_in_one_environment_or_the_other():
    judged = {line.rule for family in ("", "openmpi") for line in judge(survey(family=family))}
    assert judged == {rule.name for rule in RULES}


BROKEN = [
    ("kernel", survey(node(1), node(2), node(3, kernel="5.14")), "n3",
     "5.14 here, 6.1.0-56-amd64 on n[1-2]"),
    ("clock", survey(skews={"n1": Skew(2.5, 0.004), "n2": Skew(0.0, 0.004)}), "n1",
     "2.5 s ahead of the other nodes (±4 ms), expected at most 128 ms"),
    ("memlock", survey(node(memlock=65536)), "n1", "64KiB, expected unlimited"),
    ("memlock", survey(node(memlock=65536), expected=held_to(memlock=1 << 20)), "n1",
     "64KiB, expected at least 1MiB"),
    ("hugepages", survey(node(transparent_hugepages="never")), "n1",
     "transparent: never, expected transparent always or madvise"),
    ("hugepages", survey(node(hugepages={1 << 21: 7}),
                         expected=held_to(hugepages={"2MiB": 8})), "n1",
     "7 reserved of 2MiB, expected at least 8 reserved of 2MiB"),
    ("governor", survey(node(governors={0: "powersave", 1: "performance"})), "n1",
     "powersave on 1 of 2 CPUs, expected performance"),
    ("rdma", survey(node(ports=())), "n1", "no RDMA device, expected a port ACTIVE"),
    ("rdma", survey(node(ports=(dataclasses.replace(CARD, state="DOWN"),))), "n1",
     "mlx5_0:1 DOWN, expected a port ACTIVE"),
    ("rdma", expecting(rdma_ports=("mlx5_7:1",)), "n1",
     "mlx5_0:1 ACTIVE, expected mlx5_7:1"),
    ("ports", survey(*(node(each, cards={"mlx5_0": {"driver": "mlx5_core"}, "mlx5_0:1": {
        "state": "DOWN" if each == 3 else "ACTIVE"}}) for each in (1, 2, 3))), "n3",
     "mlx5_0:1 state DOWN, 2 of 3 ports have ACTIVE"),
    ("cards", survey(node(1), node(2), node(3, cards={"mlx5_0": {"firmware": "22.31"}})), "n3",
     "mlx5_0 firmware 22.31, 2 of 3 cards have 22.39"),
    ("pcie", survey(node(cards={"mlx5_0": {"PCIe loss": "0000:21:00.0 has x8 16 GT/s"}})), "n1",
     "mlx5_0 0000:21:00.0 has x8 16 GT/s"),
    ("optics", survey(node(cards={"mlx5_0": {"optics fault": "rx power -12 dBm"}})), "n1",
     "mlx5_0 rx power -12 dBm: clean or replace"),
    ("numa", survey(node(cpus=frozenset({1}))), "n1",
     "mlx5_0:1 at distance 21 from the job's CPUs, expected at most 10"),
    ("mtu", survey(node(1), node(2), node(3, interfaces={"ens1": 1500})), "n3",
     "RDMA 1 1500 here, RDMA 1 9000 on n[1-2]"),
    ("mtu", survey(expected=held_to(mtu={"ens1": 4200})), "n1", "expected ens1 4200"),
    ("mtu", expecting(interfaces=("eth7",)), "n1", "eth7 is missing"),
    ("mpi version", survey(node(1), node(2), node(3, versions={"openmpi": "Open MPI v5.0.1",
                                                               "ucx": "1.13", "osu": ""}),
                           **WITH_MPI), "n3", "Open MPI v5.0.1 here, Open MPI v4.1.4 on n[1-2]"),
    ("mpi version", survey(node(versions={"openmpi": "Open MPI v3.1.6", "ucx": "1.13", "osu": ""}),
                           **WITH_MPI), "n1", "v3.1.6, expected 4.0 or newer"),
    ("ucx version", survey(node(versions={"ucx": "Version 1.9.0"})), "n1",
     "Version 1.9.0, expected 1.12 or newer"),
    ("osu version", survey(node(versions={"openmpi": "4.1", "ucx": "1.13", "osu": "v5.9"}),
                           **WITH_MPI), "n1", "v5.9, expected 7.0 or newer"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "broken", "name", "words"), BROKEN)
def test_a_prerequisite_that_is_not_met_has_its_rules_level(rule, broken, name, words):
    line = line_of(rule, broken, name)
    (level,) = (each.level for each in RULES if each.name == rule)
    assert line.level is level is not Level.GOOD
    assert words in line.words
    assert f"{rule} of {name}: " in "\n".join(findings([dataclasses.replace(line, nodes=(name,))]))
    assert most_unmet(judge(broken)) >= 1


def test_every_rule_but_the_launch_is_broken_above():
    """A node that was not reached has no facts to judge: see the next test."""
    assert {rule for rule, *_ in BROKEN} == {rule.name for rule in RULES} - {"launch"}


def test_nodes_that_were_not_reached_are_named_by_their_state():
    states = {"n4": "drained", "n3": "down*", "n5": "down*", "n6": "allocated"}
    lines = unreached(states, lambda state: state.startswith("down"))
    assert {(line.level, line.nodes) for line in lines} == {
        (Level.CRITICAL, ("n3", "n5")),
        (Level.WARNING, ("n4",)),
        (Level.WARNING, ("n6",)),
    }
    assert findings(lines)[0] == (
        "launch of n[3,5]: not reached: down* when the job was submitted, nothing is known of it"
    )
    assert unreached({}, bool) == []


def test_two_nodes_that_differ_are_both_named():
    """Nobody can tell which of two is right."""
    lines = lines_of("kernel", survey(node(1, kernel="6.1"), node(2, kernel="5.14")))
    assert [(line.words, line.nodes) for line in lines] == [
        ("6.1 here, 5.14 on n2", ("n1",)),
        ("5.14 here, 6.1 on n1", ("n2",)),
    ]
    assert {line.level for line in lines} == {Level.WARNING}


def test_a_tie_names_all():
    kernels = ("6.1", "6.1", "5.14", "5.14")
    nodes = [node(number, kernel=kernel) for number, kernel in enumerate(kernels, 1)]
    lines = lines_of("kernel", survey(*nodes))
    assert {line.level for line in lines} == {Level.WARNING}
    assert [line.nodes for line in lines] == [("n1", "n2"), ("n3", "n4")]


@pytest.mark.parametrize(
    ("rule", "broken", "words"),
    [
        ("clock", survey(skews={"n1": Skew(0.01, 0.5), "n2": Skew(-0.01, 0.5)}),
         "10 ms ahead of the other nodes (±500 ms): too uncertain"),
        ("numa", survey(node(ports=(dataclasses.replace(CARD, numa=-1),))),
         "the firmware does not report where mlx5_0:1 is"),
        ("numa", survey(node(numa=(NumaNode(0, frozenset(), ()), NumaNode(1, frozenset(), ())))),
         "does not report how far"),
        ("ucx version", survey(node(versions={"ucx": ""})), "no ucx_info on PATH"),
        ("mpi version", survey(node(versions={"openmpi": "Open MPI vX", "ucx": "1.13", "osu": ""}),
                               **WITH_MPI), "no version in it to compare with 4.0"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_a_warning(rule, broken, words):
    line = line_of(rule, broken)
    assert line.level is Level.WARNING
    assert words in line.words


@pytest.mark.parametrize(
    ("rule", "other", "words"),
    [
        ("launch", survey(launcher=""), "one machine without a scheduler"),
        ("kernel", survey(node()), "none to compare with"),
        ("clock", survey(node()), "no other clock"),
        ("memlock", survey(node(ports=(), memlock=65536), expected=Expectations()),
         "no RDMA device"),
        ("hugepages", survey(node(transparent_hugepages="")), "no transparent huge pages"),
        ("governor", survey(node(governors={}, virtual=True)),
         "no CPU frequency scaling here: virtual machine"),
        ("governor", survey(node(governors={})), "no cpufreq driver"),
        ("rdma", survey(node(), expected=Expectations()), "does not offer rdma"),
        ("numa", survey(node(ports=())), "no RDMA port in use"),
        ("numa", survey(node(ports=(SOFTWARE,))), "rxe0:1 is software on eth0, no card"),
        ("mtu", survey(node()), "RDMA 1 9000; one node, and the site expects no value"),
        ("mtu", survey(node(ports=(), interfaces={"lo": 65536})), "no network interface"),
        ("osu version", survey(node(versions={"openmpi": "4.1", "ucx": "1.13", "osu": ""}),
                               **WITH_MPI), "the suite measures with its own mpi_probe"),
    ],
)  # fmt: skip
def test_what_does_not_apply_has_no_level_and_says_why(rule, other, words):
    line = line_of(rule, other)
    assert line.level is None, "neither good nor bad"
    assert words in line.words
    assert rule not in " ".join(findings([line]))


def test_a_limit_does_not_bind_a_process_that_may_lock():
    line = line_of("memlock", survey(node(memlock=65536, locks_freely=True)))
    assert (line.level, line.words[:5]) == (Level.GOOD, "64KiB")
    assert "CAP_IPC_LOCK" in line.words


def test_an_old_mpi_is_no_fault_where_the_site_says_so():
    versions = {"openmpi": "Open MPI v3.1.6", "ucx": "1.13", "osu": ""}
    old = survey(
        node(versions=versions),
        expected=held_to(versions={"openmpi": "3.1"}),
        **WITH_MPI,
    )
    assert line_of("mpi version", old).level is Level.GOOD


def test_an_mpi_without_expected_version_must_be_the_same_everywhere():
    versions = {"mpich": "MPICH Version: 4.0.2", "ucx": "1.13", "osu": ""}
    same = [node(1, versions=versions), node(2, versions=versions)]
    assert line_of("mpi version", survey(*same, family="mpich")).level is Level.GOOD
    other = node(3, versions={**versions, "mpich": ""})
    line = line_of("mpi version", survey(*same, other, family="mpich"), "n3")
    assert line.level is Level.CRITICAL
    assert (
        line.words == "no mpichversion on PATH that reports it here, MPICH Version: 4.0.2 on n[1-2]"
    )


def test_the_tool_of_another_mpi_is_found_out():
    versions = {"mvapich2": "MPICH Version: 4.0.2", "osu": ""}
    line = line_of("mpi version", survey(node(versions=versions), family="mvapich2"))
    assert line.level is Level.CRITICAL
    assert "says MPICH Version: 4.0.2, expected MVAPICH2 Version ...: another MPI" in line.words


def test_the_tools_of_an_mpi_are_beside_its_compiler():
    asked = probe_arguments("mvapich2", "/opt/mvapich2/bin/mpicc")
    assert asked == ["mvapich2=/opt/mvapich2/bin=mpichversion", "osu"]
    of_path = probe_arguments("openmpi", "mpicc.openmpi")
    assert of_path == ["openmpi==ompi_info --version", "ucx", "osu"]
    assert probe_arguments("", "/usr/bin/cc") == ["ucx"]


def test_an_mpi_without_ucx_is_not_asked_for_it():
    versions = {"mvapich2": "MVAPICH2 Version: 2.3.7", "osu": ""}
    lines = judge(survey(node(versions=versions), family="mvapich2"))
    assert [line.rule for line in lines] == ["launch", "mpi version", "osu version"]


def test_the_interface_below_each_card_may_have_another_name_on_each_node():
    """As the two ends of an emulated cable have."""
    other = PortFacts("rxe1:1", numa=None, interface="v1", state="ACTIVE")
    nodes = [node(1, ports=(SOFTWARE,)), node(2, ports=(other,), interfaces={"v1": 1500})]
    (line,) = lines_of("mtu", survey(*nodes))
    assert (line.level, line.words) == (Level.GOOD, "RDMA 1 1500")


def test_a_node_with_the_expected_mtu_is_right_whatever_the_others_have():
    nodes = [node(1), node(2, interfaces={"ens1": 1500})]
    surveyed = survey(*nodes, expected=held_to(mtu={"ens1": 9000}))
    assert line_of("mtu", surveyed, "n1").level is Level.GOOD
    assert line_of("mtu", surveyed, "n2").level is Level.CRITICAL


def test_a_port_that_the_site_does_not_name_may_be_down():
    down = PortFacts("mlx5_1:1", numa=1, interface="ens2", state="DOWN")
    for named in ((), ("mlx5_0:1",)):
        surveyed = survey(
            node(ports=(CARD, down)), expected=Expectations(rdma=True, rdma_ports=named)
        )
        assert line_of("rdma", surveyed).level is Level.GOOD


def test_the_worst_comes_first():
    broken = survey(node(memlock=65536, governors={0: "powersave"}))
    assert [finding.split(" of ")[0] for finding in findings(judge(broken))] == [
        "memlock",
        "governor",
    ]
    assert most_unmet(judge(broken)) == 2
