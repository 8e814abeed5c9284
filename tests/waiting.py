"""Waiting for what happens, and not for a clock: a busy machine may take its time."""

import time
from collections.abc import Callable
from typing import TypeVar

_SECONDS = 300.0
_Found = TypeVar("_Found")


def wait_until(
    condition: Callable[[], _Found], what: str | Callable[[], object] = "what was waited for"
) -> _Found:
    """What a condition gives as soon as it is true.

    Args:
        condition: is asked until it gives something true.
        what: is named if that does not happen; or what gives its name then.
    """
    end = time.monotonic() + _SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, (
            f"{what() if callable(what) else what}: not within {_SECONDS:g} s"
        )
        time.sleep(0.05)
    return found
