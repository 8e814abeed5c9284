"""The cases that rest in a night within a budget, as an extra of ReFrame's session.

ReFrame takes its extras from the command line, each argument of which the kernel bounds (128 KiB):
the list travels packed, and stands in the record in plain words.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

EXTRA: Final = "resting"
FIELDS: Final = (
    *("system", "partition", "environ", "check", "benchmark", "placement"),
    *("state", "why"),
)
"""What is said of a case that rests."""
NOT_DUE: Final = "not due"
"""The state of a case that rests as it should; one that is overdue has another."""

_MOST: Final = 8 << 20


def pack(resting: Iterable[Mapping[str, str]]) -> str:
    """The value of the extra: no comma, no space, nothing to quote."""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(list(resting)).encode())).decode()


def unpack(value: str) -> tuple[Mapping[str, str], ...]:
    """What ``pack`` was given; nothing of an empty value.

    Raises:
        ValueError: if it is something else.
    """
    if not value:
        return ()
    try:
        text = zlib.decompressobj().decompress(base64.urlsafe_b64decode(value), _MOST)
        return tuple({name: str(each[name]) for name in FIELDS} for each in json.loads(text))
    except (ValueError, zlib.error, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"expected the cases that rest, packed, found: {error}") from None
