"""Mixes: which collectives make an iteration, as data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.documents import Document, load, schema
from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import Case
from fabricheck.measures.registry import REGISTRY, names, sweep
from fabricheck.units import format_size, parse_size

PAGE: Final = "docs/how-to/stress.md"
_MIXES: Final = Path(__file__).with_name("mixes")
_PAUSE: Final = 2.0
_LIMIT: Final = 240.0


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
