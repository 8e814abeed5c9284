"""What a module of a program's folder must offer: a protocol, held to when the module is loaded."""

import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Generic, TypeVar, cast, get_origin, get_type_hints

from fabricheck.errors import FabricheckError

Offer = TypeVar("Offer")


@dataclass(frozen=True, slots=True)
class Part(Generic[Offer]):
    """A module that the folder of a program may have.

    Attributes:
        module: its name.
        protocol: what it offers: functions by their parameters, and properties by their type.
        instead: members that it may have without any of these.
    """

    module: str
    protocol: type[Offer]
    instead: tuple[str, ...] = ()

    @property
    def members(self) -> dict[str, object]:
        """The members of the protocol, by name."""
        return {name: each for name, each in vars(self.protocol).items() if name[0] != "_"}

    def of(self, module: ModuleType) -> Offer | None:
        """What a module offers; ``None`` if it has only what it may have instead.

        Raises:
            FabricheckError: for a member that is missing, or of another form.
        """
        names = vars(module).keys()
        if names.isdisjoint(self.members) and not names.isdisjoint(self.instead):
            return None
        if wrong := _wrong(module, self):
            others = f", or {' and '.join(self.instead)}" if self.instead else ""
            raise FabricheckError(
                f"FC1111 {module.__file__}: expected {' and '.join(wrong)}{others}: add or correct "
                "it (docs/how-to/own-benchmark.md)"
            )
        return cast("Offer", module)


@functools.cache
def _wrong(module: ModuleType, part: Part[object]) -> tuple[str, ...]:
    """The members that a module has not as its protocol has them."""
    return tuple(_differing(module, part.members))


def _differing(module: ModuleType, wanted: dict[str, object]) -> Iterator[str]:
    for name, member in wanted.items():
        value = getattr(module, name, None)
        if isinstance(member, property):
            kind = get_type_hints(member.fget)["return"]
            if not isinstance(value, get_origin(kind)):
                yield f"{name}, a {get_origin(kind).__name__}"
        elif callable(member):
            _, *parameters = inspect.signature(member).parameters
            if not _takes(value, parameters):
                yield f"{name}({', '.join(parameters)})"


def _takes(value: object, parameters: list[str]) -> bool:
    """Whether it can be called with so many arguments."""
    if not callable(value):
        return False
    try:
        inspect.signature(value).bind(*parameters)
    except TypeError:
        return False
    return True
