"""Damage as disks, editors, crashes and other programs do it: to text, bytes and trees of data."""

import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

NUMBERS = (
    "nan", "-nan", "inf", "-inf", "1e999", "1e308", "1.7e308", "-1", "-0", "0", "", " ", "1_0", "²",
    "٣", "0x10", "1e-400", "+5", "1,5", "9" * 30, "9" * 5000, "18446744073709551616", "1e15", "abc",
    "1767322800000", "-5.5", "1.", ".5", "1e5", "true", "None", "null",
)  # fmt: skip
TEXTS = (
    "", " ", "\n", "\t", "\x00", "\x1b[31mred\x1b[0m", "é", "𐀀", "\u202e", "a" * 300, "../x", "/",
    "-", "--", "[/red]", "[bold]", "{0}", "{prefix}", "${HOME}", "%s", "'", '"', "|", "n[1-", "n1",
    "=1", "null", "~", "yes", "2026-02-30", "tcp-²n", "tcp-0n", "*", "(", "[", "\\", "fuzz\n", "²",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "-0001-01-01", "+12026-01-01T00:00",
    "2026-11-21T06:00:00Z", "rc-2n", "nobody", "<b>", "\r", "a|b", "\udcff", "\ud800",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**65, -(2**65), 1.5, 1e308, 1.7e308, math.nan, math.inf,
    -math.inf,
    [], {}, [None], {"a": None}, [[]], [[1, 2], 3], {"": ""}, ["n1", 2], 1e-320, 10**400,
)  # fmt: skip

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LOG_LINE = "[1700000000.123456] [n1:123:0] ucp_worker.c:1763 UCX INFO ep_cfg[0]: tag(tcp/eth0)"


def value(chance: Random) -> Any:
    """Something that is rarely expected."""
    which = chance.random()
    if which < 0.35:
        return chance.choice(TEXTS)
    if which < 0.5:
        return chance.choice(NUMBERS)
    if which < 0.52:
        return deep(chance.choice((30, 950)))
    return copy.deepcopy(chance.choice(VALUES))


def deep(levels: int) -> Any:
    """A list in a list, and so on."""
    found: Any = 0
    for _ in range(levels):
        found = [found]
    return found


def tree(document: Any, chance: Random) -> Any:
    """A document of dictionaries and lists with one place changed; it is changed in place."""
    places = list(_places(document))
    if not places:
        return value(chance)
    holder, key = chance.choice(places)
    how = chance.randrange(7)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how == 2 and isinstance(holder, dict):
        holder[chance.choice(TEXTS)] = holder.pop(key)
    elif how == 3 and isinstance(holder, dict):
        holder[chance.choice(TEXTS)] = value(chance)
    elif how == 4:
        other, name = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[name])) if _is_json(other[name]) else None
    else:
        holder[key] = value(chance)
    return document


def _is_json(given: Any) -> bool:
    try:
        json.dumps(given)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    nodes = [document] if isinstance(document, dict | list) else []
    while nodes:
        node = nodes.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            if isinstance(node[key], dict | list):
                nodes.append(node[key])


def text(original: str, chance: Random, other: str = "") -> str:
    """Text with one kind of damage.

    Args:
        original: the text.
        chance: chooses the damage and its place.
        other: another text that may get mixed in.
    """
    if not original:
        return chance.choice(TEXTS)
    if chance.random() < 0.4:
        return chance.choice(_OF_TEXT)(original, chance, other or original)
    lines = original.splitlines(keepends=True)
    chance.choice(_OF_LINES)(lines, chance.randrange(len(lines)), chance)
    return "".join(lines)


def _exchanged(original: str, chance: Random, _other: str) -> str:
    place = chance.randrange(len(original))
    return original[:place] + chance.choice(TEXTS) + original[place + 1 :]


def _mixed(original: str, chance: Random, other: str) -> str:
    lines, between = (each.splitlines(keepends=True) for each in (original, other))
    place = chance.randrange(len(lines))
    lines[place:place] = between[: chance.randrange(len(between) + 1)]
    return "".join(lines)


_ENDS = ("\r\n", "\r", "", "\n\n", "\x00\n")
_OF_TEXT: tuple[Callable[[str, Random, str], str], ...] = (
    lambda original, chance, _: original[: chance.randrange(len(original) + 1)],
    lambda original, chance, _: original[chance.randrange(len(original)) :],
    lambda original, chance, _: original.replace("\n", chance.choice(_ENDS)),
    lambda original, _chance, _other: original.replace("\t", "    "),
    lambda original, _chance, _other: original.rstrip("\n"),
    lambda original, _chance, _other: "\ufeff" + original,
    lambda original, _chance, other: original + other,
    _mixed,
    _exchanged,
)


def _removed(lines: list[str], place: int, _chance: Random) -> None:
    del lines[place]


def _cut_after(lines: list[str], place: int, _chance: Random) -> None:
    del lines[place + 1 :]


def _begun_at(lines: list[str], place: int, _chance: Random) -> None:
    del lines[:place]


def _repeated(lines: list[str], place: int, chance: Random) -> None:
    lines.insert(place, chance.choice(lines))


def _other_number(lines: list[str], place: int, chance: Random) -> None:
    lines[place] = _NUMBER.sub(lambda _: chance.choice(NUMBERS), lines[place], count=1)


def _other_word(lines: list[str], place: int, chance: Random) -> None:
    words = re.split(r"(\s+|\|)", lines[place])
    words[chance.randrange(len(words))] = chance.choice(NUMBERS + TEXTS)
    lines[place] = "".join(words)


def _odd_line(lines: list[str], place: int, chance: Random) -> None:
    lines.insert(place, chance.choice((*TEXTS, _LOG_LINE)) + "\n")


def _interrupted(lines: list[str], place: int, chance: Random) -> None:
    cut = chance.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:cut] + _LOG_LINE + "\n" + lines[place][cut:]


def _shuffled(lines: list[str], _place: int, chance: Random) -> None:
    chance.shuffle(lines)


def _many(lines: list[str], place: int, chance: Random) -> None:
    lines[place] *= chance.choice((2, 50))


_OF_LINES = (
    _removed, _cut_after, _begun_at, _repeated, _other_number, _other_number, _other_word,
    _other_word, _odd_line, _interrupted, _shuffled, _many,
)  # fmt: skip


def octets(original: bytes, chance: Random) -> bytes:
    """Bytes with one kind of damage."""
    place, length = chance.randrange(len(original) + 1), chance.choice((1, 4, 100, 4096))
    before, after = original[:place], original[place + length :]
    bit = bytes([original[place] ^ 1 << chance.randrange(8)]) if place < len(original) else b""
    return chance.choice((
        b"", before, bytes(len(original)), before + bytes(length) + after,
        before + chance.randbytes(length) + after, original + chance.randbytes(length),
        before + bit + original[place + 1 :],
    ))  # fmt: skip
