"""The benchmarks of ``allreduce_lab``: those of the OptiReduce benchmarking guide.

A case measures all schemes in turns, so that what it says of one beside another is of one network.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricheck.measures.benchmark import ACCEPTANCE, FULL, Family, ProgramBenchmark
from fabricheck.measures.metrics import Metric

PROGRAM: Final = "allreduce_lab"

PROGRAMS: Final = ("allreduce_lab",)
FAMILIES: Final = (
    Family(
        "allreduce-lab",
        "own program",
        ("AllreduceLab", "TailEnvironment", "TrainingIteration"),
        starts=("redis-server",),
    ),
)
DERIVED: Final = ("TailGrowth",)

SCHEMES = (Metric.RING, Metric.BCUBE, Metric.TAR_TCP, Metric.OPTIREDUCE)
"""In the order of the guide, without those of NCCL, which need GPUs."""


@dataclass(frozen=True, slots=True)
class Network:
    """What goes on beside the sums.

    Attributes:
        title: in words.
        kind: the program's word for it.
        tail: p99 over p50 that bursts make, of a ring.
        flows: processes of the guide's ring, whose flows these are.
        dropped: the share of frames that a link drops.
        longest: typical sums in 2 t_B; ``None`` for as many as the program gives.
    """

    title: str
    kind: str = "plain"
    tail: float | None = None
    flows: int = 4
    dropped: float = 0.0
    longest: float | None = None


NETWORKS: Final[Mapping[str, Network]] = {
    "idle": Network("no other traffic"),
    "tail1_5": Network("long bursts, p99/p50 = 1.5", "long", 1.5),
    "tail3": Network("long bursts, p99/p50 = 3", "long", 3.0),
    "short": Network("short bursts", "short", 3.0),
    "elastic4": Network("beside a ring of 4 processes", "elastic", flows=4),
    # A fifth more than a typical sum cuts one of 80 there, which then loses most of its packets.
    "elastic16": Network("beside a ring of 16 processes", "elastic", flows=16, longest=1.35),
    "lossy": Network("links that drop 0.2 % of frames", "lossy", dropped=0.002),
}
"""By name. The tails of long bursts, and the rings, are those of the guide."""

TAILS = ("tail1_5", "tail3")
"""Those in which models are trained."""

KNOWN = range(20, 51, 5)
"""Percent of the tests: when a network that learns knows so many is recorded and drawn, and two
schemes are compared by the last. A tenth are known by chance."""

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)
"""Of a distribution, as it is recorded and drawn."""


LEAST_BUCKET = 32768
"""Bytes of a bucket of a model that is scaled down."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that is trained.

    Attributes:
        title: as the guide calls it.
        buckets: bytes of its gradients, in the order in which they get ready.
        script: its name in the guide's script; empty where that has none.
        batch: samples of an iteration there.
        epochs: of a training there.
        tr_timeout: t_B there, in milliseconds.
    """

    title: str
    buckets: tuple[int, ...]
    script: str = ""
    batch: int = 0
    epochs: int = 0
    tr_timeout: int = 0

    def scaled(self, total: int) -> tuple[int, ...]:
        """The buckets of a model of that many bytes, neighbours joined to ``LEAST_BUCKET``.

        A sum has costs that do not shrink with it: of many tiny ones they would be all.
        """
        share = min(1.0, total / sum(self.buckets))
        found = [0]
        for each in self.buckets:
            if found[-1] >= LEAST_BUCKET:
                found.append(0)
            found[-1] += 4 * round(each * share / 4)
        rest = found.pop() if len(found) > 1 and found[-1] < LEAST_BUCKET else 0
        return (*found[:-1], found[-1] + rest)


def read_models(path: Path) -> Mapping[str, Model]:
    """The models of a file."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    for each in found.values():
        each["buckets"] = tuple(each["buckets"])
        parameters = each.pop("parameters")
        assert sum(each["buckets"]) == 4 * parameters, each["title"]
    return {name: Model(**each) for name, each in found.items()}


MODELS = read_models(Path(__file__).with_name("models.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab(ProgramBenchmark):
    """What one run of the program measures.

    Attributes:
        schemes: how it sums.
        place: the name of the network.
        model: what is trained; empty for sums alone.
        learns: whether what is summed is the gradient of a network that learns by it.
    """

    schemes: tuple[Metric, ...] = SCHEMES
    place: str = "idle"
    model: str = ""
    learns: bool = False

    @property
    def network(self) -> Network:
        """Where it is measured."""
        return NETWORKS[self.place]

    @property
    def curve(self) -> Mapping[str, float]:
        """The statistics that its line is drawn of: name and percent."""
        name, percents = ("to", KNOWN) if self.learns else ("p", PERCENTILES)
        return {} if self.model else {f"{name}{each}": each for each in percents}

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Of sums the distribution, of what learns when it knows how much, and what was lost."""
        if self.metrics == (Metric.TAIL,):
            return ((Metric.TAIL, "avg"),)
        times = (
            (scheme, statistic) for scheme in self.schemes for statistic in ("avg", *self.curve)
        )
        return (*times, *((each, "avg") for each in self.metrics if each not in self.schemes))


def _lab(name: str, title: str, place: str, *metrics: Metric, **more: Any) -> Lab:
    """What is measured in a network, whose title ends the other one."""
    network = NETWORKS[place]
    common: dict[str, Any] = {
        "runs": ACCEPTANCE,
        "needs": ("lossy_links",) if network.dropped else (),
        "statistics": ("avg",),
        "transports": ("tcp",),
    }
    return Lab(
        name=name,
        family="allreduce-lab",
        title=f"{title} {network.title}",
        metrics=metrics,
        min_size=None,
        max_size=None,
        program=PROGRAM,
        options=(),
        place=place,
        **(common | more),
    )


_LOST = (Metric.ERROR_RATIO, Metric.SKIPPED)
_SUMS = (*SCHEMES, *_LOST, Metric.TAIL, Metric.HIT, Metric.RATIO)
_LEARNERS = (Metric.RING, Metric.OPTIREDUCE)
_LEARNED = (*_LEARNERS, *_LOST, Metric.ACCURACY, Metric.DRIFT, Metric.RATIO)


BENCHMARKS: Mapping[str, Lab] = {
    each.name: each
    for each in (
        *(
            _lab(place, "The environment with", place, Metric.TAIL, schemes=(Metric.RING,))
            for place in TAILS
        ),
        *(_lab(f"sum_{place}", "Sums over all ranks,", place, *_SUMS) for place in NETWORKS),
        *(
            _lab(
                f"learn_{place}",
                "A small network learns,",
                place,
                *_LEARNED,
                schemes=_LEARNERS,
                learns=True,
            )
            for place in ("tail3", "short", "elastic4", "lossy")
        ),
        *(
            _lab(
                f"{name}_{place}",
                f"An iteration of training {model.title},",
                place,
                *SCHEMES,
                *_LOST,
                runs=FULL if name == "vgg19" else ACCEPTANCE,
                needs=(f"training_{name}",),
                model=name,
            )
            for name, model in MODELS.items()
            for place in TAILS
        ),
    )
}
