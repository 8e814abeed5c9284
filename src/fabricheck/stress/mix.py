"""Mixes: which collectives make an iteration, as data."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricheck.documents import Document, load, schema
from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import Case
from fabricheck.measures.registry import REGISTRY, names, sweep
from fabricheck.record.entries import CaseEntry
from fabricheck.units import format_size, parse_size

PAGE: Final = "docs/how-to/stress.md"
_MIXES: Final = Path(__file__).with_name("mixes")
_PAUSE: Final = 2.0
_LIMIT: Final = 240.0
_DAY: Final = 24


@dataclass(frozen=True, slots=True)
class Block:
    """One benchmark at one size or a few, so and so often.

    Attributes:
        benchmark: a collective of the registry.
        sizes: message sizes in bytes, each twice the one before.
        iterations: how often at each.
    """

    benchmark: str
    sizes: tuple[int, ...]
    iterations: int

    def case(self, placement: str, number: int) -> Case:
        """The block as a case of its benchmark."""
        sizes, iterations = self.sizes, self.iterations
        return Case(self.benchmark, placement, sizes=sizes, iterations=iterations, number=number)

    @property
    def words(self) -> str:
        """Such as ``allreduce 4MiB x500``."""
        ends = ":".join(map(format_size, dict.fromkeys((self.sizes[0], self.sizes[-1]))))
        return f"{self.benchmark} {ends} x{self.iterations}"


@dataclass(frozen=True, slots=True)
class Mix:
    """What an iteration does.

    Attributes:
        name: of the mix.
        blocks: in their order.
        pause: seconds after an iteration.
        block_limit: seconds after which a block is ended.
    """

    name: str
    blocks: tuple[Block, ...]
    pause: float
    block_limit: float


def read_mixes(says: str | Mapping[str, str]) -> tuple[list[Mix], list[int]]:
    """The mixes of a day, and for each hour which of them.

    Args:
        says: one mix, or one for each part of the day, such as ``{20-06: seed, 06-20: once}``, by
            the clock of the nodes.

    Raises:
        FabricheckError: if an hour has no mix, or two, or as ``read_mix``.
    """
    parts = {"00-24": says} if isinstance(says, str) else says
    names = list(dict.fromkeys(parts.values()))
    hours: list[list[int]] = [[] for _ in range(_DAY)]
    for part, name in parts.items():
        begin, end = (int(each) % _DAY for each in part.split("-"))
        for hour in range(begin, end if end > begin else end + _DAY):
            hours[hour % _DAY].append(names.index(name))
    if odd := [hour for hour, found in enumerate(hours) if len(found) != 1]:
        raise FabricheckError(
            f"FC3504 expected one mix for each hour, found {len(hours[odd[0]])} for hour "
            f"{odd[0]}: correct stress.mix in the site file"
        )
    return [read_mix(name) for name in names], [found[0] for found in hours]


def read_mix(name: str) -> Mix:
    """A mix by its name, or from a file of YAML.

    Raises:
        FabricheckError: if there is none, or with the line of what is wrong in it.
    """
    known = {each.stem: each for each in sorted(_MIXES.glob("*.yaml"))}
    path = Path(name) if name.endswith((".yaml", ".yml")) else known.get(name)
    if path is None:
        raise FabricheckError(
            f"FC2312 expected a mix ({', '.join(known)}) or a file that ends in .yaml, found "
            f"{name!r}: see {PAGE}"
        )
    document = load(path, "a mix", PAGE)
    document.check(schema("fabricheck.stress", "mix.schema.json"))
    says = document.value
    blocks = tuple(_block(document, number) for number in range(len(says["blocks"])))
    return Mix(path.stem, blocks, says.get("pause", _PAUSE), says.get("block_limit", _LIMIT))


def _block(document: Document, number: int) -> Block:
    says = document.value["blocks"][number]
    where: tuple[str | int, ...] = ("blocks", number)
    known = [each for each in names("collective") if REGISTRY[each].min_size is not None]
    if says["benchmark"] not in known:
        raise document.error(
            [*where, "benchmark"],
            f"expected a collective with data ({', '.join(known)}), found {says['benchmark']!r}",
        )
    try:
        ends = [parse_size(each) for each in says["size"].split(":")]
        sizes = sweep(ends[0], ends[-1])
    except (FabricheckError, ValueError) as error:
        raise document.error([*where, "size"], str(error)) from None
    if len(ends) > 2 or ends[0] < 1 or sizes[-1] != ends[-1]:  # noqa: PLR2004 - two ends
        raise document.error(
            [*where, "size"],
            f"expected a size such as 4MiB, or a range that doubles, such as 64KiB:1MiB, found "
            f"{says['size']!r}: correct it",
        )
    return Block(says["benchmark"], sizes, says["iterations"])


def following(done: list[CaseEntry], mixes: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Iteration and block behind the last one that was recorded; block 0 begins an iteration.

    Args:
        done: the blocks that were recorded.
        mixes: which blocks make an iteration of each.
    """
    if not done:
        return 1, 0
    iteration, number = max(tuple(map(int, each.id.split("."))) for each in done)
    is_last = any(number == each["first"] + each["count"] for each in mixes)
    return (iteration + 1, 0) if is_last else (iteration, number)


def mix_of(plan: Mapping[str, Any], block: int) -> Mapping[str, Any]:
    """The mix that a block is part of; for block 0, that of this hour."""
    mixes: Sequence[Mapping[str, Any]] = plan["mixes"]
    begun = (each for each in mixes if 0 < block - each["first"] < each["count"])
    return next(begun, mixes[plan["hours"][time.localtime().tm_hour]])
