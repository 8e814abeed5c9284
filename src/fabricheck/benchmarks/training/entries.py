"""Times of training steps: references of published systems are judged; nothing measures one yet."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.model import Benchmark, Family

FAMILIES: Final[tuple[Family, ...]] = ()
DERIVED: Final = ("TrainingStep",)
BENCHMARKS: Final[Mapping[str, Benchmark]] = MappingProxyType({})
