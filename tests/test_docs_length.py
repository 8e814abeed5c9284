"""The documentation stays short and plain: its words, and the length of its sentences."""

import importlib.machinery
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
STYLE = ROOT / "docs" / "reference" / "glossary.md"
OTHERS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
"""Also of short sentences and plain words; their own words are not counted."""
WORDS = 45_000
LONGEST = 40
SHARE = 0.02
"""Of sentences with more than 30 words."""


def counter() -> ModuleType:
    """lab/words, which has no ending."""
    loader = importlib.machinery.SourceFileLoader("words", str(ROOT / "lab" / "words"))
    spec = importlib.util.spec_from_loader("words", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


COUNTER = counter()
SENTENCES = {page.name: [*COUNTER.sentences(page.read_text("utf-8"))] for page in PAGES + OTHERS}
AVOIDED = re.compile(
    r"\b(tells?|told|says?|said|hears?|heard|vouch\w*|mend(?:s|ed|ing)?|anew|yardsticks?|upright)\b",
    re.IGNORECASE,
)
"""What the style of the glossary avoids."""


def test_the_words_of_all_pages() -> None:
    assert sum(COUNTER.words(page.read_text("utf-8")) for page in PAGES) <= WORDS


def test_sentences_are_short() -> None:
    every = [each for sentences in SENTENCES.values() for each in sentences]
    too_long = [
        each
        for sentences in SENTENCES.values()
        for each in sentences
        if COUNTER.words(each) > LONGEST
    ]
    assert too_long == []
    above = [each for each in every if COUNTER.words(each) > COUNTER.LONG]
    assert len(above) <= SHARE * len(every), above


@pytest.mark.parametrize("page", PAGES + OTHERS, ids=lambda page: page.name)
def test_words_are_those_of_the_style(page: Path) -> None:
    text = page.read_text("utf-8")
    if page == STYLE:
        text, style, rest = text.partition("## Style")
        assert {word.lower() for word in AVOIDED.findall(style + rest)} > {"tell", "say", "mend"}
    assert AVOIDED.findall(text) == []


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("One two three. Four five.\n", [3, 2]),
        ("# A title\n\nOne | two\n\n| a cell | b |\n\n```\ncode here\n```\n\nLast one.\n", [2, 2]),
        ("- one two\n  three\n- four <!-- not five -->\n", [3, 1]),
        ("A [link of words](page.md#part) and `--option`: five more.\n", [8]),
    ],
)
def test_what_is_counted(text: str, lengths: list[int]) -> None:
    assert [COUNTER.words(each) for each in COUNTER.sentences(text)] == lengths


def test_tables_and_code_count_as_words_too() -> None:
    assert COUNTER.words("| a cell | 5 % |\n|---|---|\n\n```sh\nls -l\n```\n") == 5
