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

TAILS = (1.5, 3.0)
"""p99 over p50 of the guide's environments."""

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
        tail: p99 over p50 of the network; ``None`` for one without other traffic.
        model: what is trained; empty for sums alone.
    """

    schemes: tuple[Metric, ...] = SCHEMES
    tail: float | None = None
    model: str = ""

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Of sums the distribution, of an iteration its average; of both the loss."""
        if self.metrics == (Metric.TAIL,):
            return ((Metric.TAIL, "avg"),)
        statistics = ("avg",) if self.model else tuple(f"p{each}" for each in PERCENTILES)
        times = ((scheme, statistic) for scheme in self.schemes for statistic in statistics)
        return (*times, (Metric.ERROR_RATIO, "avg"))


def tail_name(tail: float | None) -> str:
    """The environment in names: ``tail1_5``, ``tail3``, ``idle``."""
    return f"tail{tail:g}".replace(".", "_") if tail else "idle"


def _lab(name: str, title: str, *metrics: Metric, **more: Any) -> Lab:
    return Lab(
        name=name,
        family="allreduce-lab",
        title=title,
        metrics=metrics,
        statistics=("avg",),
        min_size=None,
        max_size=None,
        program=PROGRAM,
        options=(),
        transports=("tcp",),
        **more,
    )


def _titled(tail: float | None) -> str:
    return f"p99/p50 = {tail:g}" if tail else "no other traffic"


BENCHMARKS: Mapping[str, Lab] = {
    each.name: each
    for each in (
        *(
            _lab(
                tail_name(tail),
                f"The environment with {_titled(tail)}",
                Metric.TAIL,
                runs=ACCEPTANCE,
                schemes=(Metric.RING,),
                tail=tail,
            )
            for tail in TAILS
        ),
        *(
            _lab(
                f"sum_{tail_name(tail)}",
                f"Sums over all ranks, {_titled(tail)}",
                *SCHEMES,
                Metric.ERROR_RATIO,
                runs=ACCEPTANCE,
                tail=tail,
            )
            for tail in (None, *TAILS)
        ),
        *(
            _lab(
                f"{name}_{tail_name(tail)}",
                f"An iteration of training {model.title}, {_titled(tail)}",
                *SCHEMES,
                Metric.ERROR_RATIO,
                runs=FULL if name == "vgg19" else ACCEPTANCE,
                needs=(f"training_{name}",),
                tail=tail,
                model=name,
            )
            for name, model in MODELS.items()
            for tail in TAILS
        ),
    )
}
