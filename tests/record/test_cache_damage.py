"""The columns of the record, damaged or beside what others put there."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.history.recorded import case, read, record, table
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.history.store import History
from fabricheck.record import cache


def part(store: Path) -> Path:
    return next(store.glob("*.samples.parquet"))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


COLUMN_DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "a byte": flip,
    "a directory": lambda path: (path.unlink(), path.mkdir()),
}
READERS: dict[str, Callable[[History], object]] = {
    "series": lambda history: list(history.series()),
    "values": lambda history: history.values().collect(),
    "status": lambda history: history.status(),
}


@pytest.mark.parametrize("damage", COLUMN_DAMAGE)
def test_damaged_columns_are_told_and_healed(logs: Path, store: Path, damage: str) -> None:
    record(logs, *map(case, range(3)))
    read(store, logs)
    before = table(store)
    COLUMN_DAMAGE[damage](part(store))
    for reader in READERS.values():
        with (
            History.open_to_read(store) as history,
            refused("FC0604"),
        ):
            reader(history)
    assert read(store).values == 12
    assert table(store).equals(before)


def test_a_store_may_be_removed_or_copied_at_any_moment(logs: Path, store: Path) -> None:
    record(logs, case(0))
    read(store, logs)
    before = table(store)
    shutil.copytree(store, copy := store.with_name("copy"))
    assert table(copy).equals(before)
    shutil.rmtree(store)
    read(store, logs)
    assert table(store).equals(before)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"sources 1": [], "roots": []}', '{"sources 2": [{}], "roots": []}']
)
def test_a_damaged_index_is_told(logs: Path, store: Path, text: str) -> None:
    record(logs, case(0))
    read(store, logs)
    (store / cache.INDEX).write_text(text)
    for action in (lambda: table(store), lambda: read(store)):
        with refused("FC0602"):
            action()
    (store / cache.INDEX).unlink()
    assert read(store, logs).values == 4


def test_a_history_that_is_not_there_is_not_made_by_looking(store: Path) -> None:
    with refused("FC0601"):
        table(store)
    assert not store.exists()


def make_foreign(directory: Path, kind: str) -> None:
    directory.mkdir()
    (target := directory.with_name("precious")).write_text("gold")
    index = directory / cache.INDEX
    if kind == "files":
        (directory / f"{'0' * 32}.cases.parquet").write_text("precious")
    elif kind == "a link":
        index.symlink_to(target)
    elif kind == "a pipe":
        os.mkfifo(index)


@pytest.mark.parametrize("kind", ["files", "a link", "a pipe"])
def test_a_place_of_somebody_else_is_refused_and_left_as_it_was(
    logs: Path, tmp_path: Path, kind: str
) -> None:
    record(logs, case(0))
    make_foreign(tmp_path / "theirs", kind)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with refused("FC0605", r"theirs.*, found .*another place with --store"):
        read(tmp_path / "theirs", logs)
    with pytest.raises(FabricheckError, match=r"theirs"):
        table(tmp_path / "theirs")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_somebody_put_beside_the_columns_stays(logs: Path, store: Path) -> None:
    record(logs, case(0))
    read(store, logs)
    name = part(store).name
    foreign = [store / "export.parquet", store / f"{'0' * 32}.samples.parquet"]
    for each in foreign:
        shutil.copy(part(store), each)
    record(logs, case(1))
    read(store)
    assert all(each.exists() for each in foreign)
    assert not (store / name).exists()
    assert table(store).height == 8
