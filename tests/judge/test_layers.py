"""In which layer a fault is: every combination of what the layers can be."""

from itertools import product

import pytest

from fabricheck.judge.layers import FaultPlace, Layer, LayerPath, LayerState, common_nodes, diagnose

GOOD, RED, UNJUDGED, ELSEWHERE, ABSENT = LayerState
UNKNOWN = (UNJUDGED, ELSEWHERE, ABSENT)
FABRIC, UCX, MPI = FaultPlace
RDMA_GROUND = "the fabric below MPI and UCX"


def of(*states, ground=RDMA_GROUND, **more):
    """The diagnosis of states from the lowest layer up to MPI."""
    layers = list(Layer)[-len(states) :]
    programs = {Layer.MPI: "Open MPI v4.1.4", Layer.UCX: "UCX 1.13.1"}
    path = LayerPath(
        "latency openmpi rc-2n", dict(zip(layers, states, strict=True)), ground, programs
    )
    return diagnose(
        LayerPath(path.case, path.states, path.ground, path.programs, **more) if more else path
    )


def expected_places(states):
    """The rule once more, written differently: what is red or unknown with nothing good below."""
    *_, own = states
    if own is not RED:
        return ()
    places = dict(zip(list(FaultPlace)[-len(states) :], states, strict=True))
    lowest = next(place for place, state in places.items() if state is RED)
    order = list(places)
    if any(places[place] is GOOD for place in order[order.index(lowest) :]):
        return ()
    found = [lowest]
    for place in reversed(order[: order.index(lowest)]):
        if places[place] is GOOD:
            return tuple(found)
        found.insert(0, place)
    return tuple(found) if found[0] is FABRIC else (FABRIC, *found)


@pytest.mark.parametrize("states", list(product(LayerState, repeat=3)), ids="-".join)
def test_every_combination_over_rdma(states):
    found = of(*states)
    assert found.places == expected_places(states)
    assert found.sentence[0].islower() or found.sentence.startswith(("UCX", "MPI"))
    assert "\n" not in found.sentence
    assert bool(found.clause) == (len(found.places) == 1)
    for layer in found.unmeasured:
        assert dict(zip(Layer, states, strict=True))[layer] in UNKNOWN


@pytest.mark.parametrize("states", list(product(LayerState, repeat=2)), ids="-".join)
def test_every_combination_without_verbs(states):
    found = of(*states, ground="the network below UCX")
    assert found.places == expected_places(states)


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (
            (GOOD, GOOD, RED),
            "MPI is red; UCX is good on the same path; verbs is good on the same path: so it is "
            "the MPI (Open MPI v4.1.4) or its settings",
        ),
        (
            (ABSENT, GOOD, RED),
            "MPI is red; UCX is good on the same path; verbs was not measured: so it is "
            "the MPI (Open MPI v4.1.4) or its settings",
        ),
        (
            (GOOD, RED, RED),
            "UCX is red; verbs is good on the same path: so it is UCX 1.13.1 or its settings",
        ),
        ((RED, RED, RED), "verbs is red: so it is the fabric below MPI and UCX"),
        (
            (GOOD, ABSENT, RED),
            "MPI is red; UCX was not measured; verbs is good on the same path: so it is the MPI "
            "(Open MPI v4.1.4) or its settings, or UCX 1.13.1 or its settings",
        ),
        (
            (ABSENT, RED, RED),
            "UCX is red; verbs was not measured: so it is UCX 1.13.1 or its settings, or the "
            "fabric below MPI and UCX",
        ),
        (
            (RED, GOOD, RED),
            "the layers contradict each other: verbs is red, yet UCX, which runs on top of it, is "
            "good: the fault came and went, or latency openmpi rc-2n has another one; run all of "
            "them again",
        ),
        ((GOOD, GOOD, GOOD), "nothing is wrong: latency openmpi rc-2n is good"),
        (
            (RED, RED, GOOD),
            "latency openmpi rc-2n is good although verbs and UCX below it are red: that fault "
            "does not reach it, or it came and went; run both again",
        ),
        (
            (GOOD, GOOD, ABSENT),
            "latency openmpi rc-2n was not measured, so there is no fault to place",
        ),
    ],
)
def test_the_sentence_says_why(states, sentence):
    assert of(*states).sentence == sentence


def test_without_verbs_a_red_ucx_leaves_the_network():
    found = of(RED, RED, ground="the network below UCX")
    assert found.sentence == (
        "UCX is red: so it is UCX 1.13.1 or its settings, or the network below UCX"
    )
    assert found.settled, "nothing lower can be measured there"


def test_what_is_not_measured_leaves_the_question_open():
    found = of(ABSENT, ABSENT, RED)
    assert found.places == (FABRIC, UCX, MPI)
    assert found.unmeasured == (Layer.VERBS, Layer.UCX)
    assert not found.settled
    assert not found.clause


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_an_unknown_layer_vouches_for_nothing(unknown):
    assert of(unknown, unknown, RED).places == (FABRIC, UCX, MPI)
    assert of(GOOD, unknown, RED).unmeasured == (Layer.UCX,)


def test_a_good_layer_vouches_for_all_below_it():
    assert of(ABSENT, GOOD, RED).settled
    assert of(ABSENT, GOOD, RED).clause == "fault in the MPI"


def test_a_contradiction_or_a_fault_below_a_good_case_is_not_settled():
    assert not of(RED, GOOD, RED).settled
    assert not of(RED, GOOD, GOOD).settled
    assert of(GOOD, GOOD, GOOD).settled


def test_bad_counters_speak_for_the_fabric():
    lost = "out_of_seq_request on n2 mlx5_0:1: 3.4 % of 9000 packets, critical above 0.1 %"
    found = of(GOOD, GOOD, RED, counters={Layer.MPI: [lost], Layer.VERBS: []})
    assert found.places == (FABRIC,)
    assert found.sentence == (
        f"the counters of the fabric are bad under MPI, so it is {RDMA_GROUND}: {lost}"
    )
    found = of(GOOD, RED, RED, counters={Layer.UCX: ["pause frames", "drops"], Layer.MPI: [lost]})
    assert found.sentence.startswith("the counters of the fabric are bad under UCX and MPI, so")
    assert found.sentence.endswith(lost), "the case's own counters are told first"
    assert of(GOOD, GOOD, GOOD, counters={Layer.MPI: [lost]}).places == ()


def test_another_mpi_that_is_good_is_named():
    assert of(GOOD, GOOD, RED, good_peers=["mpich"]).sentence.endswith(" (mpich is good there)")
    assert of(GOOD, GOOD, RED, good_peers=["a", "b"]).sentence.endswith(" (a, b are good there)")
    assert "mpich" not in of(GOOD, RED, RED, good_peers=["mpich"]).sentence


def test_a_case_of_ucx_or_verbs_can_be_the_one_to_explain():
    verbs_only = LayerPath("ib_send_lat builtin rc-2n", {Layer.VERBS: RED}, RDMA_GROUND, {})
    assert diagnose(verbs_only).places == (FABRIC,)
    states = {Layer.VERBS: GOOD, Layer.UCX: RED}
    assert diagnose(LayerPath("ucx_tag_lat builtin rc-2n", states, RDMA_GROUND, {})).places == (
        UCX,
    )


@pytest.mark.parametrize(
    ("red", "good", "expected"),
    [
        ([("n1", "n3"), ("n2", "n3")], [("n1", "n2")], ("n3",)),
        ([("n1", "n3"), ("n2", "n3"), ("n1", "n2", "n3", "n4")], [], ("n3",)),
        ([("n1", "n3"), ("n2", "n3")], [("n3", "n4")], ()),
        ([("n1", "n2"), ("n3", "n4")], [], ()),
        ([("n1", "n2"), ("n1", "n2")], [], ()),
        ([("n1", "n2")], [], ()),
        ([("n1", "n2")], [("n1", "n3")], ()),
        ([("n1", "n2")] * 2, [("n1", "n3")], ("n2",)),
        ([(), ("n1", "n2"), ("n2", "n3")], [], ("n2",)),
        ([], [("n1", "n2")], ()),
        ([()], [], ()),
    ],
)
def test_nodes_that_stand_out(red, good, expected):
    assert common_nodes(red, good) == expected
