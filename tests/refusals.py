"""Errors that users see, by code: their sentences can be improved freely."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fabricheck.errors import FabricheckError, ParseError
from fabricheck.measures.curve import Curve


@contextmanager
def refused(code: str, words: str = "") -> Iterator[None]:
    """Expect the error of a code; `words` is a regular expression for what its sentence names."""
    with pytest.raises(FabricheckError, match=words or None) as raised:
        yield
    assert raised.value.code == code, raised.value


def sentence(parse: Callable[[str, str], Curve], text: str, words: str) -> str:
    """The one sentence that refuses a damaged output; `words` as above, behind the file's name."""
    with pytest.raises(ParseError, match=rf"(?s)^job\.out: .*{words}") as raised:
        parse(text, "job.out")
    assert "\n" not in str(raised.value)
    return str(raised.value)
