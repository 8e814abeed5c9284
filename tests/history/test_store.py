"""The store's own files: what is not ours stays, and damage is seen before it is believed."""

import errno
import os
import random
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.history.recorded import (
    NOW,
    append,
    line,
    night,
    nights,
    perflog,
    problems,
    read,
    status,
    table,
)

from fabricheck.errors import FabricheckError
from fabricheck.history.record import HEADER
from fabricheck.history.refresh import Request
from fabricheck.history.segments import segment_name
from fabricheck.history.selection import Selection
from fabricheck.history.store import History


def of_somebody_else(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE precious (data TEXT)")
        database.execute("INSERT INTO precious VALUES ('gold')")


def make_foreign(directory: Path, kind: str) -> None:
    directory.mkdir()
    target = directory.with_name("precious.sqlite")
    of_somebody_else(target)
    catalog = directory / "catalog.sqlite"
    if kind == "files":
        (directory / "data.parquet").write_text("precious")
    elif kind == "an empty catalogue beside files":
        (directory / f"{'0' * 31}.parquet").write_text("precious")
        catalog.touch()
    elif kind == "a database":
        target.rename(catalog)
    elif kind == "a database with a table about":
        target.rename(catalog)
        with closing(sqlite3.connect(catalog)) as database:
            database.execute("CREATE TABLE about (text TEXT)")
    elif kind == "a link":
        catalog.symlink_to(target)
    elif kind == "a pipe":
        os.mkfifo(catalog)


FOREIGN = (
    *("files", "an empty catalogue beside files", "a database", "a database with a table about"),
    *("a link", "a pipe"),
)


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_place_of_somebody_else_is_refused_and_left_as_it_was(
    logs: Path, tmp_path: Path, kind: str
):
    perflog(logs, night(0))
    make_foreign(tmp_path / "theirs", kind)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(FabricheckError, match=r"theirs.*, found .*another place with --store"):
        read(tmp_path / "theirs", logs)
    with pytest.raises(FabricheckError, match=r"theirs.*, found .*with --store"):
        table(tmp_path / "theirs")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_somebody_put_beside_the_segments_stays(logs: Path, store: Path, tmp_path: Path):
    path = perflog(logs, night(0))
    read(store, logs)
    segment = next(store.glob("*.parquet"))
    (target := tmp_path / "target").write_text("theirs")
    (store / f"{'f' * 32}.parquet").symlink_to(target)
    shutil.copy(segment, store / "export.parquet")
    shutil.copy(segment, store / f"{'0' * 32}.parquet")
    orphan = shutil.copy(segment, store / segment_name("0" * 16))
    append(path, night(1))
    read(store)
    assert not orphan.exists()
    assert (store / f"{'0' * 32}.parquet").exists()
    assert (store / "export.parquet").exists()
    assert (store / f"{'f' * 32}.parquet").is_symlink()
    assert table(store).height == 8


def change(path: Path, size: int, dice: random.Random) -> None:
    """Other bytes at one place, of the same number."""
    data = bytearray(path.read_bytes())
    at = dice.randrange(len(data))
    part = data[at : at + size]
    data[at : at + size] = bytes(each ^ dice.randrange(1, 256) for each in part)
    path.write_bytes(data)


SEGMENT_DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a byte": lambda path: change(path, 1, random.Random(1)),
    "random": lambda path: change(path, 2000, random.Random(2)),
    "a directory": lambda path: (path.unlink(), path.mkdir()),
}
READERS: dict[str, Callable[[History], object]] = {
    "series": lambda history: list(history.series()),
    "values": lambda history: history.values().collect(),
    "provenance": lambda history: history.provenance(Selection()),
    "status": lambda history: history.status(),
}


@pytest.mark.parametrize("damage", SEGMENT_DAMAGE)
def test_a_damaged_segment_is_told_and_healed(logs: Path, store: Path, damage: str):
    perflog(logs, nights(range(3)))
    read(store, logs)
    before = table(store)
    SEGMENT_DAMAGE[damage](next(store.glob("*.parquet")))
    for reader in READERS.values():
        with (
            History.open_to_read(store) as history,
            pytest.raises(FabricheckError, match=r"as it was written.*history refresh --store"),
        ):
            reader(history)
    assert read(store).rebuilt == "the store was damaged"
    assert table(store).equals(before)


def test_a_catalogue_whose_errors_are_no_text_is_told(logs: Path, store: Path):
    perflog(logs, night(0))
    read(store, logs)
    catalog = store / "catalog.sqlite"
    sound = catalog.read_bytes()
    assert b"tablesources" in sound
    # SQLite repeats the name in its message, and Python can't decode that.
    damaged = sound.replace(b"tablesources", b"table\xf5ources")
    catalog.write_bytes(damaged.replace(b"CREATE TABLE sources", b"CREATE TABLX sources"))
    with pytest.raises(FabricheckError, match=r"expected a catalogue of the history"):
        table(store)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_catalogue_is_told(logs: Path, store: Path, tmp_path: Path, seed: int):
    perflog(logs, nights(range(3)) + "damaged\n")
    read(store, logs)
    before, catalog = table(store), store / "catalog.sqlite"
    dice = random.Random(seed)
    size = catalog.stat().st_size
    sound = catalog.read_bytes()
    if seed % 2:
        change(catalog, dice.choice([1, 1, 16, 500]), dice)
    else:
        page = dice.randrange(size // 4096) * 4096
        catalog.write_bytes(sound[:page] + bytes(4096) + sound[page + 4096 :])
    for action in (lambda: table(store), lambda: status(store), lambda: read(store)):
        try:
            action()
        except FabricheckError as error:
            assert "nothing was changed" in str(error) or "history refresh" in str(error)
        else:
            # What SQLite does not use, such as the rest of a page, may hold anything.
            assert table(store).equals(before)
    catalog.unlink()
    assert read(store, logs).values == 12
    assert table(store).equals(before)


@pytest.mark.parametrize("how", ["in place", "in place and longer", "with its old times"])
def test_a_corrected_value_is_seen_though_the_file_is_the_same(logs: Path, store: Path, how: str):
    path = perflog(logs, nights(range(15)))
    read(store, logs)
    then = path.stat()
    text = path.read_text().replace("|9.58|", "|9.57|", 1)
    with path.open("r+") as file:
        file.write(text)
    if how == "in place and longer":
        append(path, night(15))
    elif how == "with its old times":
        os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert path.stat().st_ino == then.st_ino
    assert "lines that were read are gone" in read(store).rebuilt
    assert 9.57 in table(store)["value"].to_list()
    assert read(store).unchanged == 1


def test_many_files_that_are_rotated_at_once_are_no_news(logs: Path, store: Path):
    names = [f"testbed/main/Check{number}.log" for number in range(20)]
    paths = [perflog(logs, nights(range(20)).replace("latency", name), name) for name in names]
    assert min(path.stat().st_size for path in paths) > 8192
    values = read(store, logs).values
    for path in paths:
        path.rename(f"{path}.1")
        path.write_text(HEADER)
    outcome = read(store)
    assert (outcome.values, outcome.rebuilt, outcome.problems) == (0, "", 0)
    assert table(store).height == values


@pytest.mark.parametrize(
    ("kind", "found"),
    [("pipe", "a named pipe"), ("socket", "a socket"), ("device", "a device"),
     ("dangling", "a link to a file that is not there")],
)  # fmt: skip
def test_what_is_no_file_is_named_and_never_opened(logs: Path, store: Path, kind: str, found: str):
    perflog(logs, night(0))
    odd = logs / "testbed" / "main" / "odd.log"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            os.chdir(odd.parent)
            listener.bind(odd.name)
    else:
        odd.symlink_to({"device": "/dev/zero", "dangling": "nowhere"}[kind])
    outcome = read(store, logs)
    assert (outcome.values, outcome.problems) == (4, 1)
    assert problems(store) == [("unread", "odd.log", 0, 0)]
    (_, problem), *_ = status(store).problems
    assert problem.detail == f"expected a file, found {found}"
    # When there is a file at last, it is read.
    odd.unlink()
    perflog(logs, night(1), "testbed/main/odd.log")
    assert read(store).values == 4
    assert problems(store) == []


@pytest.mark.parametrize("name", [b"new\nline.log", b"caf\xe9.log", b"tab\t.log"])
def test_a_file_of_any_name_is_read(logs: Path, store: Path, name: bytes):
    path = Path(os.fsdecode(os.fsencode(logs / "testbed" / "main") + b"/" + name))
    perflog(logs, night(0) + "damaged\n").rename(path)
    assert read(store, logs).values == 4
    assert [source.path for source in status(store).sources] == [path]
    assert read(store).unchanged == 1


@pytest.mark.parametrize("place", ["segment", "catalogue"])
def test_a_full_disk_is_told_as_one(
    logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    path = perflog(logs, night(0))
    read(store, logs)
    before = table(store)
    append(path, nights(range(1, 4)))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with History.open(store) as history, monkeypatch.context() as patched:
        if place == "segment":
            patched.setattr("fabricheck.history.segments.os.fsync", full)
        else:
            history._catalog._db.execute("PRAGMA max_page_count = 1")
            perflog(logs, "".join(line(0, size) for size in range(20, 400)), "a/b/Other.log")
        with pytest.raises(FabricheckError, match=r"(No space|full).*make room there"):
            history.refresh(Request(now=NOW))
    assert table(store).equals(before)
    assert read(store).values >= 12
    assert len(list(store.glob("*.parquet"))) == 2
