"""What people write is read strictly: whatever is odd is one sentence with file and line."""

import os
from pathlib import Path

import pytest

from fabricheck.documents import load
from fabricheck.errors import FabricheckError

ODD = {
    "a day that no calendar has": ("a: 1\ndescr: 2026-02-30", "line 2: expected a value that can"),
    "no whole number": ("a: !!int abc", "line 1: expected a value that can be, found 'abc' as int"),
    "no truth": ("a: !!bool abc", "line 1: expected a value that can be, found 'abc' as bool"),
    "no truth as key": ("!!bool abc: 1", "found 'abc' as bool"),
    "no time": ("a: !!timestamp abc", "found 'abc' as timestamp"),
    "nothing as a number": ("a: !!float ''", "found '' as float"),
    "5000 digits": ("a: " + "9" * 5000, "line 1: expected a value that can be, found '99999"),
    "400 digits": ("a: " + "9" * 400, "line 1: expected a number below 2^63"),
    "not a number": ("a: [1, .nan]", "line 1: expected a finite number, found '.nan'"),
    "infinite": ("a:\n  - -.inf", "line 2: expected a finite number, found '-.inf'"),
    "too large a power": ("a: 1.0e+999", "expected a finite number"),
    "too deep": ("a: " + "[" * 900 + "]" * 900, "found too many levels in each other"),
    "too deep for C": ("[" * 30000, "found too many levels in each other"),
    "an alias within itself": ("a: 1\nb: &a [*a]", "line 2: expected a file in YAML"),
    "a tag": ("a: !!python/name:os.system", "found the tag tag:yaml.org,2002:python"),
    "a set": ("a: !!set {b}", "line 1: expected plain YAML, found the tag"),
    "half a character": ('a: "\\ud800"', "expected"),
    "a key twice": (
        "a: 1\nb: {c: 1,\n c: 2}",
        "line 3: c: the key is given twice, first at line 2",
    ),
    "everything twice": ("a: 1\nb: 2\na: 1\nb: 2", "line 3: a: the key is given twice"),
    "a truth as key": ("on: 1", "line 1: on: expected text or a whole number as key: quote it"),
    "a list as key": ("? [a]\n: 1", "expected text or a whole number as key"),
    "two documents": ("a: 1\n---\na: 1", "line 2: expected a file in YAML"),
    "no end": ("a: [1", "line 2: expected a file in YAML"),
    "a tab": ("a:\n\tb: 1", "line 2: expected a file in YAML"),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_one_sentence_with_its_line(tmp_path: Path, name: str) -> None:
    text, message = ODD[name]
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(FabricheckError) as caught:
        load(path, "a file", "docs")
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


def test_merged_keys_and_aliases_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\nd: {<<: *a}\n")
    value = load(path, "a file", "docs").value
    assert (value["b"], value["c"], value["d"]) == ({"x": 1, "y": 3}, value["a"], value["a"])


def test_what_is_no_file_of_text_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9b")
    for name, message in (
        ("pipe", "found no regular file"),
        ("latin", "in UTF-8, found invalid continuation byte at byte 3"),
        ("none", "cannot be read .No such file"),
    ):
        with pytest.raises(FabricheckError, match=message):
            load(tmp_path / f"{name}.yaml", "a file", "docs")
