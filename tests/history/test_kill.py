"""A refresh that is killed at any moment: the next one goes on, nothing is lost, nothing twice."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from tests.history.recorded import NOW, line, read, table

from fabricheck.history.record import HEADER

pytestmark = pytest.mark.integration

FILES, NIGHTS, SIZES = 6, 60, 120
LATER = NOW.replace(year=2028)

SCRIPT = """
import sys
from datetime import datetime
from pathlib import Path
from fabricheck.history import lines
from fabricheck.history.refresh import Request
from fabricheck.history.store import History

lines.BLOCK = 200_000
with History.open(Path(sys.argv[1])) as history:
    print("begun", flush=True)
    request = Request(perflogs=[Path(sys.argv[2])], now=datetime.fromisoformat(sys.argv[3]))
    history.refresh(request)
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("perflogs")
    for number in range(FILES):
        text = "".join(
            line(night, size, benchmark=f"latency{number}")
            for night in range(NIGHTS)
            for size in range(1, SIZES + 1)
        )
        (root / f"check{number}.log").write_text(HEADER + text)
    return root


def start(store: Path, logs: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(store), str(logs), LATER.isoformat()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def whole(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, float]:
    """What an undisturbed refresh gives, and how long it takes."""
    store = tmp_path_factory.mktemp("whole")
    with start(store, logs) as process:
        assert process.stdout
        process.stdout.readline()
        began = time.monotonic()
        process.wait()
        took = time.monotonic() - began
    assert process.returncode == 0
    return table(store), took


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.lab) for seed in range(1, 10))]
)
def test_a_killed_refresh_loses_nothing(
    logs: Path, whole: tuple[pl.DataFrame, float], tmp_path: Path, seed: int
):
    expected, took = whole
    assert expected.height == FILES * NIGHTS * SIZES
    store = tmp_path / "store"
    with start(store, logs) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, took))
        process.kill()
    assert process.returncode in (-signal.SIGKILL, 0)
    # Whatever it had done, it is all of it or nothing, and the next refresh goes on.
    assert table(store).height in (0, expected.height)
    read(store, logs, now=LATER)
    assert table(store).equals(expected)
    assert len(list(store.glob("*.parquet"))) == 1
    assert read(store, now=LATER).values == 0


def test_a_reader_undoes_what_a_killed_writer_had_begun(store: Path, logs: Path, tmp_path: Path):
    read(store, logs, now=LATER)
    expected = table(store)
    catalog = store / "catalog.sqlite"
    with closing(sqlite3.connect(catalog, isolation_level=None)) as writer:
        # With so little cache it writes to the file before the transaction ends.
        writer.execute("PRAGMA cache_size = 5")
        writer.execute("BEGIN IMMEDIATE")
        writer.executemany(
            "INSERT INTO roots VALUES ('skip', ?)", [[f"{n:0999}"] for n in range(99)]
        )
        shutil.copytree(store, tmp_path / "killed")
    assert (tmp_path / "killed" / "catalog.sqlite-journal").exists()
    assert table(tmp_path / "killed").equals(expected)
