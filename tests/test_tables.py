"""Each cell of each table, once made wrong: refused with its line, or of the same meaning."""

import csv
import dataclasses
import random
import re
import runpy
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.programs.nccl_probe.entries import BENCHMARKS as OF_NCCL
from fabricheck.programs.nccl_probe.entries import benchmark_name
from fabricheck.programs.perftest.entries import BENCHMARKS as OF_PERFTEST
from fabricheck.tables import A_ROW, NAME, NUMBER, TEXT, YES_NO, many, maybe, one_of, rows
from fabricheck.transports.families import MPIS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "fabricheck"
READERS = {
    **dict.fromkeys(sorted(SOURCES.glob("programs/*/*.csv")), "entries.py"),
    SOURCES / "programs" / "perftest" / "causes.csv": "read.py",
    SOURCES / "node_health" / "rules.csv": "rules.py",
    SOURCES / "node_health" / "card_facts.csv": "alike.py",
    SOURCES / "fabric" / "kernel_log.csv": "kernel_log.py",
    SOURCES / "measures" / "unread.csv": "unread.py",
    SOURCES / "monitor" / "catalog.csv": "catalog.py",
    SOURCES / "transports" / "transports.csv": "table.py",
    SOURCES / "transports" / "mpi.csv": "families.py",
    SOURCES / "transports" / "choices.csv": "families.py",
}
"""Each table with the module beside it that reads it."""

OPEN = (
    *("name", "title", "meaning", "expected", "source"),
    # Words of the MPIs themselves, which pages, job scripts and recorded output hold.
    *("printed", "command", "least", "launcher", "spec", "compilers", "modules", "hosts"),
    *("given", "alone", "ucx", "variables", "said", "pattern", "advice"),
)
"""Columns whose words are the suite's own choice: only their form is checked when they are read."""

FEW = 8
"""Mutations of each column of a table that the gate tries; ``lab`` tries all."""


def lines_of(path: Path) -> list[tuple[int, list[str]]]:
    numbered = enumerate(path.read_text().splitlines())
    return [(number, next(csv.reader([line]))) for number, line in numbered if line[0] != "#"]


def written(cells: list[str]) -> str:
    return ",".join(f'"{cell}"' if "," in cell else cell for cell in cells)


def misspelt(cell: str) -> Iterator[str]:
    """The cell in another case, and with letters changed, added and lost; numbers stay."""
    yield from (cell.swapcase(), cell.capitalize(), f"{cell}q", re.sub("[^0-9]$", "", cell))
    letters = [at for at in range(len(cell) - 1) if cell[at : at + 2].isalpha()]
    for at in letters[:1] + letters[-1:]:
        yield cell[:at] + cell[at + 1] + cell[at] + cell[at + 2 :]


def mutations(path: Path) -> Iterator[tuple[str, str, str]]:
    """What was made wrong of a table, the column or what else it is, and the text that is made."""
    text = path.read_text().splitlines()
    (head, header), *others = lines_of(path)

    def made(number: int, *lines: str) -> str:
        return "\n".join([*text[:number], *lines, *text[number + 1 :]]) + "\n"

    for at, column in enumerate(header):
        for word in sorted({*misspelt(column), ""} - {column}):
            cells = written([*header[:at], word, *header[at + 1 :]])
            yield f"header {column} is {word!r}", "header", made(head, cells)
        yield f"header {column} twice", "header", made(head, f"{text[head]},{column}")
    for number, cells in others:
        name = cells[header.index("name")]
        yield f"{name} twice", "row", made(number, text[number], text[number])
        yield f"{name} again", "row", f"{made(number, text[number])}{text[number]}\n"
        yield f"{name} cut", "row", made(number, text[number].rpartition(",")[0])
        yield f"{name} long", "row", made(number, f"{text[number]},")
        for at, column in enumerate(header):
            words = sorted({*misspelt(cells[at])} - {cells[at], ""}) if cells[at] else ()
            for word in words:
                changed = written([*cells[:at], word, *cells[at + 1 :]])
                yield f"{name}: {column} is {word!r}", column, made(number, changed)


def meaning(value: Any) -> Any:
    """A value without the identity of its classes and the order of its sets."""
    if dataclasses.is_dataclass(value):
        return {each.name: meaning(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: meaning(each) for name, each in value.items()}
    return sorted(map(str, value)) if isinstance(value, frozenset) else repr(value)


def read(place: Path, reader: str) -> Any:
    found = runpy.run_path(str(place / reader))
    if rules := found.get("RULES"):
        return meaning({rule.name: rule for rule in rules})
    named = next(
        found[name]
        for name in ("MPIS", "BENCHMARKS", "TRANSPORTS", "FAMILIES", "ROWS", "_ROWS")
        if name in found
    )
    if isinstance(named, tuple):
        named = {each["name"] if isinstance(each, dict) else each.name: each for each in named}
    return meaning(named)


def is_known(name: str, documents: str) -> bool:
    """Whether a name is that of something: in the documents, or as its program's options say."""
    derived = {program_name(each.program, each.options) for each in OF_PERFTEST.values()}
    derived |= {
        f"{each.model}_{each.tail}_nccl_{each.scheme}"
        if each.model
        else benchmark_name(each.collective, each.scheme)
        for each in OF_NCCL.values()
    }
    derived |= {f"{name}:{each}" for name, mpi in MPIS.items() for each in mpi.choices}
    # A name goes on in the next line, and a table of GPCNet's is one of the others with an ending.
    words = re.escape(re.sub("^(gpcnet_.*)_(congested|impact)$", r"\1", name)).replace(r"\ ", r"\s")
    return name in derived or re.search(rf"(`|^\| ){words}(?!\w)", documents, re.M) is not None


def program_name(program: str, options: tuple[str, ...]) -> str:
    """What a variant of perftest is called."""
    suffix = {
        "-q": "qp",
        "-l": "post",
        "-I": "inline",
        "-e": "events",
        "-b": "bidir",
        "--gpu": "gpu",
    }
    if not options:
        return program
    return f"{program}_{suffix[options[0]]}{''.join(options[1:]).removesuffix('64')}"


@pytest.fixture(scope="module")
def documents() -> str:
    return "\n".join(each.read_text() for each in sorted((ROOT / "docs").rglob("*.md")))


def test_each_table_has_its_reader():
    assert sorted(READERS) == sorted(SOURCES.rglob("*.csv"))


@pytest.mark.parametrize("path", READERS, ids=lambda each: f"{each.parent.name}-{each.stem}")
def test_each_name_is_documented_or_follows_from_its_row(path, documents):
    (_, header), *others = lines_of(path)
    names = [cells[header.index("name")] for _, cells in others]
    assert [name for name in names if not is_known(name, documents)] == []


def hold(path: Path, few: int | None, place: Path, documents: str) -> None:
    """Make cells wrong, and see what becomes of each."""
    by_column: dict[str, list[tuple[str, str]]] = {}
    for what, column, text in mutations(path):
        by_column.setdefault(column, []).append((what, text))
    for table in path.parent.glob("*.csv"):
        shutil.copy(table, place)
    shutil.copy(path.with_name(READERS[path]), place)
    sound = read(place, READERS[path])
    believed = []
    for column, made in by_column.items():
        chosen = random.Random(column).sample(made, min(few or len(made), len(made)))
        for what, text in chosen:
            (place / path.name).write_text(text)
            try:
                found = read(place, READERS[path])
            except FabricheckError as error:
                # Or that of the table which names a row of this one.
                assert re.match(rf"{re.escape(str(place))}/\w+\.csv: line \d+: ", str(error)), what
                continue
            # Of what the suite chose itself, docs/reference/metrics.md differs then.
            if found == sound or column in OPEN[1:]:
                continue
            others = found.keys() - sound.keys()
            if column != "name" or any(is_known(each, documents) for each in others):
                believed.append(what)
    assert believed == []


@pytest.mark.parametrize("path", READERS, ids=lambda each: f"{each.parent.name}-{each.stem}")
def test_a_cell_that_is_wrong_is_refused_with_its_line(path, tmp_path, documents):
    hold(path, FEW, tmp_path, documents)


@pytest.mark.lab
@pytest.mark.parametrize("path", READERS, ids=lambda each: f"{each.parent.name}-{each.stem}")
def test_every_cell_that_is_wrong_is_refused_with_its_line(path, tmp_path, documents):
    hold(path, None, tmp_path, documents)


def test_a_choice_of_an_mpi_that_no_row_names_is_refused(tmp_path):
    folder = SOURCES / "transports"
    for name in ("families.py", "mpi.csv", "choices.csv"):
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "mpi.csv").write_text(re.sub("\nmvapich2,.*", "", (folder / "mpi.csv").read_text()))
    with refused("FC0113", r"choices\.csv: line 13: .* 'mvapich2:rc'"):
        read(tmp_path, "families.py")


SCHEMA = {
    "name": NAME,
    "words": many(one_of(("a", "b"))),
    "yes": maybe(YES_NO),
    "number": NUMBER,
    "title": TEXT,
    "of": A_ROW,
}
SOUND = '# why\nname,words,number,title,of,yes\nx1,a b,12,"one, two",,yes\ny1,b  b,012,t,x1,\n'


def parsed(place: Path, text: str) -> list[dict[str, Any]]:
    (place / "t.csv").write_text(text)
    return list(rows(place / "t.csv", SCHEMA, {"yes"}))


def test_a_table_is_read_by_its_schema(tmp_path):
    first, second = parsed(tmp_path, SOUND)
    assert first == {
        "name": "x1", "words": ("a", "b"), "number": 12, "title": "one, two", "of": "", "yes": True,
    }  # fmt: skip
    assert (second["words"], second["number"], second["of"], second["yes"]) == (
        ("b",),
        12,
        "x1",
        None,
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            ",yes\nx1",
            ",Yes\nx1",
            "line 2: expected the columns name, words, yes, .*found .*Yes: correct",
        ),
        (",of,", ",title,", "line 2: expected the columns .*each once"),
        (",yes\nx1", "\nx1", "line 3: expected 5 cells, found 6"),
        (",yes\ny1", ",True\ny1", "line 3: yes: expected one of yes, no, or nothing, found 'True'"),
        ("a b", "a c", "line 3: words: expected one of a, b, found 'a c': correct it"),
        ("x1,a", "X1,a", "line 3: name: expected text such as ib_send_bw, found 'X1'"),
        ("y1,b", "x1,b", "line 4: expected each name once, found x1 again, first at line 3"),
        ("t,x1", "t,z", "line 4: of: expected one of x1, y1, or nothing, found 'z'"),
        ("012", "1e1", "line 4: number: expected a whole number, found '1e1'"),
        (",t,", ", t,", "line 4: title: expected text such as a title, found ' t'"),
        ('two"', "two", "line 3: expected 6 cells, found 0: correct the commas and quotes"),
        ("x1,a", "\nx1,a", "line 3: expected 6 cells, found 0"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, before, after, message):
    assert SOUND.count(before) == 1
    with refused("FC0113", message):
        parsed(tmp_path, SOUND.replace(before, after))


def test_an_empty_table_lacks_its_columns(tmp_path):
    with refused("FC0113", r"line 1: expected the columns name, .*, found : "):
        parsed(tmp_path, "# nothing\n")
