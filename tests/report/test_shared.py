"""What the red cases share, and alike problems as one line."""

import re

import pytest
from tests.report import layered, sample
from tests.report.test_page import section
from tests.report.test_terminal import shown

from fabricheck.report.page import render
from fabricheck.report.status import Status
from fabricheck.report.terminal import TEXT_LINES

ALL = ("latency", "bw", "allreduce", "alltoall", "barrier", "bcast")


def redden(run: sample.Run, times: float = 8.0, **fields: object) -> list[sample.Entry]:
    """Make the cases with these fields red; those on more nodes are farther from good."""
    chosen = [
        entry
        for entry in run["cases"]
        if entry["samples"] and all(entry.get(name) == value for name, value in fields.items())
    ]
    for entry in chosen:
        variable = next(iter(entry["samples"]))
        point = entry["samples"][variable]
        point["value"] = point["reference"] * (times + len(entry["nodes"]))
        point["level"] = "critical"
        finding = f"{variable} is {point['value']:.0f}, {times:.2f}x the reference"
        sample.fail(run, entry, "performance", finding, level="critical", findings=(finding,))
    return chosen


def test_the_transport_of_the_red_cases_is_named(judged):
    run = sample.report(*ALL)
    redden(run, transport="tcp")
    redden(run, benchmark="barrier", environ="mpich", transport="shm")
    told = "Transport tcp: 22 of 22 cases are red; elsewhere 1 of 12."
    assert judged(run)[1].shared == (told,)


def test_the_node_of_the_red_cases_is_named(judged):
    run = sample.report(*ALL)
    for environ in sample.ENVIRONS:
        for name in ("allreduce", "bcast"):
            sample.find(run, name, environ, "tcp-2n")["nodes"] = ("n1", "n7")
    redden(run, nodes=("n1", "n7"))
    assert judged(run)[1].shared == ("Node n7: 4 of 4 cases are red; elsewhere 0 of 30.",)


def test_the_software_of_the_red_cases_is_named_and_a_second_fault_too(judged):
    run = sample.report(*ALL)
    redden(run, environ="openmpi")
    redden(run, environ="mpich", num_nodes=4)
    named = [sentence.partition(":")[0] for sentence in judged(run)[1].shared]
    assert named == ["Environment openmpi", "Transport tcp on 4 nodes"]


def test_where_all_is_red_nothing_stands_out(judged):
    run = sample.report(*ALL)
    redden(run)
    _, summary = judged(run)
    assert summary.shared == (
        "34 of 34 cases are red, and no node, transport, MPI or partition stands out.",
    )


@pytest.mark.parametrize("red", [0, 1, 2])
def test_two_cases_share_nothing(judged, red):
    run = sample.report(*ALL)
    for environ in list(sample.ENVIRONS)[:red]:
        redden(run, benchmark="barrier", environ=environ, num_nodes=4)
    assert judged(run)[1].shared == ()


def test_values_over_a_transport_are_one_problem_the_worst_first(judged):
    run = sample.report(*ALL)
    redden(run)
    _, summary = judged(run)
    critical = [each for each in summary.problems if each.status is Status.CRITICAL]
    assert [len(each.cases) for each in critical] == [20 + 2, 12]
    assert critical[0].cases[0].num_nodes == 4
    assert not critical[0].alike


def test_sentences_that_differ_in_figures_and_nodes_are_one_problem(judged):
    run = sample.report(*ALL)
    for number, entry in enumerate(each for each in run["cases"] if each.get("transport") == "tcp"):
        reason = f"job {number} on n{number}, n{number + 1} ended with NODE_FAIL after {number} s"
        entry.update(sample.UNMEASURED)
        sample.fail(run, entry, "run", reason)
    (problem,) = judged(run)[1].problems
    assert len(problem.cases) > len(ALL)
    assert problem.causes[0].endswith("s")


def test_the_layer_of_a_group_is_that_of_its_mpi_cases(judged):
    run = layered.layered()
    for name in ("latency", "bw"):
        for environ in sample.ENVIRONS:
            layered.redden(run, name, environ)
    layered.redden(run, "ucx_tag_lat")
    layered.redden(run, "ucx_tag_bw")
    (problem,) = judged(run)[1].problems
    assert problem.layer == "fault in UCX"


def test_all_red_leaves_room_on_the_terminal(judged):
    run = sample.report()
    redden(run)
    assert len(shown(*judged(run), table=False).splitlines()) <= TEXT_LINES


def test_a_group_on_the_page_shows_its_worst_case_and_folds_the_others(judged):
    run = sample.report("barrier")
    redden(run)
    html = render(*judged(run))
    text = section(html, "wrong")
    assert "8 of 8 cases are red" in html
    assert "The worst: latency_avg is" in text
    assert "All 6 cases" in text


def test_a_cell_names_a_size_that_is_not_the_usual_one(judged):
    run = sample.report("latency")
    entry = sample.find(run, "latency", "openmpi", "tcp-2n")
    entry["samples"] = {k: v for k, v in entry["samples"].items() if "1MiB" not in k}
    text = section(render(*judged(run)), "matrix")
    assert text.count("at 512 KiB") == 1
    assert re.search(r"7.40 µs · \d+ µs at 512 KiB", text)


def test_many_cases_without_a_measurement_are_folded(judged):
    run = sample.report(*ALL)
    folded = "<details>\n<summary>34 cases without a measurement"
    for entry in (each for each in run["cases"] if each["samples"]):
        entry.update(sample.UNMEASURED)
        sample.fail(run, entry, "run", "no answer")
    html = render(*judged(run))
    assert folded in html
    assert 'id="benchmark-' not in html
    assert "There is no curve in the record." in html


def test_the_port_of_the_red_cases_is_named(judged):
    run = sample.report(*ALL)
    for number, entry in enumerate(each for each in run["cases"] if each.get("transport") == "tcp"):
        entry["port"] = f"mlx5_{number % 4}:1"
    redden(run, port="mlx5_3:1")
    card, port = judged(run)[1].shared[:2]
    assert card.startswith("Card mlx5_3:1 of n[1-2] is critical, others are not: ")
    assert port.startswith("Port mlx5_3:1: ")
