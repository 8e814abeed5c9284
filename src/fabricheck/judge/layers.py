"""In which layer a fault is: what verbs, UCX and MPI found on the same path, read together.

A layer that is good vouches for everything below it, since it ran on top of that. The fault is in
the lowest layer that is red; or below it, where nothing vouches for what is below.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Layer(StrEnum):
    """What can be measured on a path, from the lowest to the highest."""

    VERBS = "verbs"
    UCX = "UCX"
    MPI = "MPI"


class LayerState(StrEnum):
    """What is known of a layer on a path."""

    GOOD = "good"
    RED = "red"
    UNJUDGED = "not judged"
    ELSEWHERE = "measured on other nodes only"
    ABSENT = "not measured"


class FaultPlace(StrEnum):
    """Where a fault can be."""

    FABRIC = "fabric"
    UCX = "UCX"
    MPI = "MPI"


@dataclass(frozen=True, slots=True)
class LayerPath:
    """The layers of a case and of what lies below it.

    Attributes:
        case: title of the case.
        states: state of each layer that the path has, from the lowest to the case's own.
        ground: what is below the lowest of them, in words, such as ``the fabric``.
        programs: what ran in a layer, such as ``Open MPI v4.1.4``, where that is known.
        counters: what the counters of the fabric found wrong during the red cases of a layer.
        good_peers: environments whose case of the same kind is good on the same path.
    """

    case: str
    states: Mapping[Layer, LayerState]
    ground: str
    programs: Mapping[Layer, str]
    counters: Mapping[Layer, Sequence[str]] = field(default_factory=dict)
    good_peers: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Where the fault of a case is.

    Attributes:
        places: where it can be, lowest first; one when it is known, none when nothing is wrong
            or the layers contradict each other.
        sentence: the same in words, with the reason.
        unmeasured: layers that would have to be measured to know.
        settled: whether there is nothing more to find out.
    """

    places: tuple[FaultPlace, ...]
    sentence: str
    unmeasured: tuple[Layer, ...] = ()
    settled: bool = True

    @property
    def clause(self) -> str:
        """The place in few words; empty where it is not known."""
        if len(self.places) != 1:
            return ""
        return {
            FaultPlace.FABRIC: "fault below MPI and UCX",
            FaultPlace.UCX: "fault in UCX",
            FaultPlace.MPI: "fault in the MPI",
        }[self.places[0]]


_PLACES = {Layer.VERBS: FaultPlace.FABRIC, Layer.UCX: FaultPlace.UCX, Layer.MPI: FaultPlace.MPI}


def diagnose(path: LayerPath) -> Diagnosis:
    """Name the layer in which a case went wrong."""
    chain = list(path.states)
    own = path.states[chain[-1]]
    if own is LayerState.GOOD:
        return _nothing_wrong(path)
    if own is not LayerState.RED:
        sentence = f"{path.case} was {own}, so there is no fault to place"
        return Diagnosis((), sentence, (chain[-1],), settled=False)
    if counted := [layer for layer in chain if path.counters.get(layer)]:
        sentence = f"the counters of the fabric are bad under {_listed(counted)}"
        first = path.counters[counted[-1]][0]
        return Diagnosis((FaultPlace.FABRIC,), f"{sentence}, so it is {path.ground}: {first}")
    lowest = next(n for n, layer in enumerate(chain) if path.states[layer] is LayerState.RED)
    if contradicting := [
        layer for layer in chain[lowest:] if path.states[layer] is LayerState.GOOD
    ]:
        return _contradiction(path, chain[lowest], contradicting)
    return _place(path, lowest)


def common_nodes(red: Iterable[Sequence[str]], good: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Nodes that were in every one of several red cases and in no good one.

    None where those are all the nodes of the red cases, since then none stands out.

    Args:
        red: the nodes of each red case.
        good: the nodes of each good case.
    """
    sets = [set(nodes) for nodes in red if nodes]
    if len(sets) < 2:  # noqa: PLR2004
        return ()
    common = set.intersection(*sets) - {node for nodes in good for node in nodes}
    return tuple(sorted(common)) if common != set.union(*sets) else ()


def _nothing_wrong(path: LayerPath) -> Diagnosis:
    red = [layer for layer, state in path.states.items() if state is LayerState.RED]
    if not red:
        return Diagnosis((), f"nothing is wrong: {path.case} is good")
    return Diagnosis(
        (),
        f"{path.case} is good although {_listed(red)} below it {_is(red)} red: that fault does not "
        "reach it, or it came and went; run both again",
        settled=False,
    )


def _contradiction(path: LayerPath, lowest: Layer, above: Sequence[Layer]) -> Diagnosis:
    return Diagnosis(
        (),
        f"the layers contradict each other: {lowest} is red, yet {_listed(above)}, which "
        f"{'runs' if len(above) == 1 else 'run'} on top of it, {_is(above)} good: the fault came "
        f"and went, or {path.case} has another one; run all of them again",
        settled=False,
    )


def _place(path: LayerPath, lowest: int) -> Diagnosis:
    """The lowest red layer, and all below it for which no good layer vouches."""
    chain = list(path.states)
    below = chain[:lowest]
    vouching = next(
        (layer for layer in reversed(below) if path.states[layer] is LayerState.GOOD), None
    )
    unknown = below[below.index(vouching) + 1 :] if vouching else below
    places = [_PLACES[layer] for layer in [*unknown, chain[lowest]]]
    # Nothing below this layer is measured at all: what is under it is its ground.
    if not vouching and FaultPlace.FABRIC not in places:
        places.insert(0, FaultPlace.FABRIC)
    words = [_words(path, place) for place in reversed(places)]
    reasons = [_reason(path, layer) for layer in reversed(chain[: lowest + 1])]
    sentence = f"{'; '.join(reasons)}: so it is {', or '.join(words)}"
    if places == [FaultPlace.MPI] and path.good_peers:
        sentence += f" ({', '.join(path.good_peers)} {'is' if len(path.good_peers) == 1 else 'are'}"
        sentence += " good there)"
    return Diagnosis(tuple(places), sentence, tuple(unknown), settled=not unknown)


def _reason(path: LayerPath, layer: Layer) -> str:
    state = path.states[layer]
    verb = "was" if state in (LayerState.ABSENT, LayerState.ELSEWHERE) else "is"
    where = " on the same path" if state is LayerState.GOOD else ""
    return f"{layer} {verb} {state}{where}"


def _words(path: LayerPath, place: FaultPlace) -> str:
    if place is FaultPlace.FABRIC:
        return path.ground
    layer = Layer(place)
    program = path.programs.get(layer, "")
    if layer is Layer.MPI:
        return f"the MPI{f' ({program})' if program else ''} or its settings"
    return f"{program or 'UCX'} or its settings"


def _listed(layers: Sequence[Layer]) -> str:
    return " and ".join(layers)


def _is(layers: Sequence[Layer]) -> str:
    return "is" if len(layers) == 1 else "are"
