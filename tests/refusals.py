"""Errors that users see, by code: their sentences can be improved freely."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fabricheck.errors import FabricheckError


@contextmanager
def refused(code: str, words: str = "") -> Iterator[None]:
    """Expect the error of a code; `words` is a regular expression for what its sentence names."""
    with pytest.raises(FabricheckError, match=words or None) as raised:
        yield
    assert raised.value.code == code, raised.value
