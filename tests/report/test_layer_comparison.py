"""The cases of a run on one path, lined up by layer."""

import pytest
from tests.refusals import refused
from tests.report import layered, sample

from fabricheck.judge.layers import FaultPlace, Layer, LayerState
from fabricheck.report.layer_comparison import clause, compare_layers, find_case

SUBJECT = ("latency openmpi rc-2n", "latency", "openmpi")


@pytest.fixture
def explained(judged):
    def of(document, text=SUBJECT[0]):
        run, _ = judged(document)
        return compare_layers(run, find_case(run, text))

    return of


def with_red(*benchmarks, environs=("openmpi",)):
    document = layered.layered()
    for name in benchmarks:
        for environ in environs if name in ("latency", "bw") else (layered.BELOW_MPI,):
            layered.redden(document, name, environ)
    return document


def test_a_red_mpi_above_good_layers_is_the_mpis(explained):
    found = explained(with_red("latency"))
    assert found.states == {
        Layer.VERBS: LayerState.GOOD,
        Layer.UCX: LayerState.GOOD,
        Layer.MPI: LayerState.RED,
    }
    assert found.diagnosis.places == (FaultPlace.MPI,)
    assert "(4.1.4) or its settings (mpich is good there)" in found.diagnosis.sentence
    assert [(row.layer, row.case.title) for row in found.rows] == [
        (Layer.VERBS, "ib_send_lat builtin rc-2n"),
        (Layer.UCX, "ucx_tag_lat builtin rc-2n"),
        (Layer.MPI, "latency openmpi rc-2n"),
        (Layer.MPI, "latency mpich rc-2n"),
    ]
    assert found.commands == ()


def test_key_values_are_at_a_small_size_at_the_largest_size_and_where_the_case_is_worst(explained):
    found = explained(with_red("latency"))
    assert found.sizes == (8, 65536, 1 << 20)
    mpi = next(row for row in found.rows if row.case is found.case)
    assert [s.variable for s in mpi.samples] == [
        "latency_p50_8B",
        "latency_p50_64KiB",
        "latency_p50_1MiB",
    ]
    assert explained(layered.layered()).sizes == (8, 1 << 20)


@pytest.mark.parametrize(
    ("red", "places", "words"),
    [
        ("ucx_tag_lat", (FaultPlace.UCX,), "so it is UCX 1.13.1 or its settings"),
        ("ucx_tag_lat ib_send_lat", (FaultPlace.FABRIC,), ""),
        # Red verbs below a good UCX contradict.
        ("ib_send_lat", (), ""),
        # Bandwidth says nothing of latency where latency was measured.
        ("ucx_tag_bw ib_write_bw", (FaultPlace.MPI,), ""),
    ],
)
def test_the_lowest_red_layer_is_at_fault(explained, red, places, words):
    found = explained(with_red("latency", *red.split()))
    assert (found.diagnosis.places, found.diagnosis.settled) == (places, bool(places))
    assert found.diagnosis.sentence.endswith(words)


@pytest.mark.parametrize("elsewhere", [{"transport": "ud"}, {"partition": "other"}])
def test_only_the_same_path_is_compared(explained, elsewhere):
    document = with_red("latency", "ucx_tag_bw", "ib_write_bw")
    for name in ("ucx_tag_lat", "ib_send_lat"):
        layered.redden(document, name).update(elsewhere)
    found = explained(document)
    assert [row.case.benchmark for row in found.rows][:2] == ["ib_write_bw", "ucx_tag_bw"], (
        "nothing measured latency, so that bandwidth has to do"
    )
    assert found.diagnosis.places == (FaultPlace.FABRIC,)


def test_a_collective_needs_latency_and_bandwidth(explained):
    document = with_red("ucx_tag_bw")
    entry = sample.find(document, "latency", "openmpi", "rc-2n")
    entry.update(benchmark="allreduce")
    sample.fail(document, entry, "run", "crashed", level="", samples={})
    assert explained(document, "allreduce openmpi rc-2n").diagnosis.places == (FaultPlace.UCX,)


def test_variants_of_a_verbs_test_say_nothing_of_the_path(explained):
    document = with_red("latency", "ib_send_lat")
    sample.find(document, "ib_send_lat", "builtin", "rc-2n")["benchmark"] = "ib_send_lat_events"
    found = explained(document)
    assert found.states[Layer.VERBS] is LayerState.GOOD, "bandwidth has to do, and is good"
    assert found.diagnosis.places == (FaultPlace.MPI,)


def test_what_was_not_measured_is_said_with_the_command(explained):
    document = layered.drop(with_red("latency"), "ucx_tag_lat", "ucx_tag_bw")
    found = explained(document)
    assert found.states[Layer.UCX] is LayerState.ABSENT
    assert found.diagnosis.places == (FaultPlace.UCX, FaultPlace.MPI)
    assert found.commands == (
        "fabricheck run --system testbed --benchmark ucx_tag_lat --transport rc",
    )
    layered.drop(document, "ib_send_lat", "ib_write_bw")
    assert explained(document).commands == (
        "fabricheck run --system testbed --benchmark ib_send_lat --transport rc",
        "fabricheck run --system testbed --benchmark ucx_tag_lat --transport rc",
    )


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"level": "warning"}, LayerState.GOOD),
        ({"level": "untrusted"}, LayerState.RED),
        ({"level": "no-reference"}, LayerState.UNJUDGED),
        # What did not run measured nothing.
        *(
            ({"result": r, "samples": {}}, LayerState.ABSENT)
            for r in ("abort", "fail_deps", "skip")
        ),
    ],
)
def test_states_of_a_lower_layer(explained, values, state):
    document = with_red("latency")
    for name in ("ucx_tag_lat", "ucx_tag_bw"):
        entry = sample.find(document, name, "builtin", "rc-2n")
        entry.update({"level": "", **values})
        for each in entry["samples"].values():
            each["level"] = entry["level"]
    assert explained(document).states[Layer.UCX] is state


def test_what_ran_on_other_nodes_vouches_for_nothing(explained):
    document = with_red("latency")
    for name in ("ucx_tag_lat", "ucx_tag_bw"):
        sample.find(document, name, "builtin", "rc-2n").update(nodes=("n7", "n8"))
    found = explained(document)
    assert found.states[Layer.UCX] is LayerState.ELSEWHERE
    assert "UCX was measured on other nodes only" in found.diagnosis.sentence
    assert found.rows[1].case.title == "ucx_tag_lat builtin rc-2n"


def test_a_pair_within_the_nodes_of_a_collective_is_on_its_path(explained):
    document = with_red("latency")
    sample.find(document, "latency", "openmpi", "rc-2n").update(nodes=("n1", "n2", "n3"))
    assert explained(document).states[Layer.UCX] is LayerState.GOOD


def test_rows_are_few_and_red_ones_come_first(explained):
    document = with_red("latency")
    for number in range(6):
        entry = layered.pair_case("ucx_tag_lat", 1.0)
        entry.update(id=f"again{number}", benchmark="ucx_am_lat")
        document["cases"].append(entry)
    layered.redden(document, "ucx_am_lat")
    found = explained(sample.announced(document))
    ucx = [row.case for row in found.rows if row.layer is Layer.UCX]
    assert (len(ucx), found.left_out) == (4, {Layer.UCX: 3})
    assert ucx[0].status == "critical"


def test_over_tcp_there_are_no_verbs(judged):
    run, _ = judged(sample.with_critical())
    found = compare_layers(run, find_case(run, "latency openmpi tcp-2n"))
    assert list(found.states) == [Layer.UCX, Layer.MPI]
    assert found.diagnosis.places == (FaultPlace.FABRIC, FaultPlace.UCX, FaultPlace.MPI)
    assert found.diagnosis.sentence.endswith("or the network below UCX")


def test_bad_counters_under_a_red_case_make_it_the_fabrics(explained):
    document = with_red("latency")
    cause = "link down on n2 mlx5_0:1: DOWN, expected ACTIVE: plug it in"
    sample.find(document, "latency", "openmpi", "rc-2n").update(fabric_causes=(cause,))
    found = explained(document)
    assert found.diagnosis.places == (FaultPlace.FABRIC,)
    assert found.diagnosis.sentence.endswith(cause)


def test_counters_under_good_cases_accuse_nobody(explained):
    document = with_red("latency")
    sample.find(document, "ucx_tag_lat", "builtin", "rc-2n").update(fabric_causes=("old",))
    assert explained(document).diagnosis.places == (FaultPlace.MPI,)


def test_without_8_bytes_the_smallest_size_of_all_layers_is_shown(explained):
    document = with_red("latency")
    values = sample.find(document, "ib_send_lat", "builtin", "rc-2n")["samples"]
    for size in ("8B", "1MiB"):
        for statistic in ("avg", "p50", "p99"):
            del values[f"latency_{statistic}_{size}"]
    assert explained(document).sizes == (2, 65536, 1 << 19)


def test_a_node_in_every_red_case_stands_out(explained):
    document = with_red("latency", "ucx_tag_lat")
    sample.find(document, "latency", "openmpi", "rc-2n").update(nodes=("n2", "n3"))
    sample.find(document, "ucx_tag_lat", "builtin", "rc-2n").update(nodes=("n3", "n4"))
    found = explained(document)
    assert (found.suspects, found.red) == (("n3",), 2)
    assert explained(with_red("latency", "ucx_tag_lat")).suspects == ()


def test_a_case_is_found_by_its_words(judged):
    run, _ = judged(layered.layered())
    assert find_case(run, "latency openmpi rc-2n").title == "latency openmpi rc-2n"
    assert find_case(run, "openmpi latency").title == "latency openmpi rc-2n"
    assert find_case(run, "ucx_tag_bw").title == "ucx_tag_bw builtin rc-2n"
    name = "MpiPointToPoint %benchmark=bw %placement=rc-2n"
    with refused("FC2102", r"found 'Mpi.*', which fits 2: bw mpich rc-2n"):
        find_case(run, name)


def test_names_that_fit_none_or_several_are_refused(judged):
    run, _ = judged(layered.layered())
    with refused("FC2103", "found 'latncy openmpi rc-2n': near are latency ope"):
        find_case(run, "latncy openmpi rc-2n")
    with refused("FC2102", r"fits 2: latency mpich rc-2n \(partition rdma\), "):
        find_case(run, "latency")
    with refused("FC2103", r"partition main, found 'latency': near are none at"):
        find_case(run, "latency", "main")


def test_a_case_without_layers_is_refused(judged):
    run, _ = judged(sample.report("latency"))
    with refused("FC2104", "found transport_order openmpi tcp-2n, which has no layers"):
        compare_layers(run, find_case(run, "transport_order openmpi tcp-2n"))


def test_the_clause_of_a_problem(judged):
    def of(document, *texts):
        run, _ = judged(document)
        return clause(run, [find_case(run, text) for text in texts])

    latency, bandwidth = "latency openmpi rc-2n", "bw openmpi rc-2n"
    assert of(with_red("latency"), latency) == "fault in the MPI"
    assert of(with_red("latency", "ucx_tag_lat"), latency) == "fault in UCX"
    assert of(with_red("latency", "bw"), latency, bandwidth) == "fault in the MPI"
    pointer = f'see fabricheck explain "latency openmpi rc-2n" --session {sample.SESSION}'
    assert of(with_red("latency", "bw", "ucx_tag_bw"), latency, bandwidth) == pointer
    assert of(with_red("latency", "ib_send_lat"), latency) == pointer
    assert of(with_red("ucx_tag_lat"), "ucx_tag_lat") == "", "it stands in the layer itself"
    assert of(sample.with_critical(), "latency openmpi tcp-2n") == "", "nothing was measured below"
    assert of(layered.layered(), latency) == "", "nothing is wrong"
