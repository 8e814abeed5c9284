"""The recorded example history: it is read, it has its change in it, and nothing of a machine."""

import gzip
import re
from pathlib import Path

import numpy as np
from tests.history.recorded import problems, read, status

from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.provenance import SUITE

EXAMPLE = SUITE / "perflogs" / "example"


def test_the_runs_with_a_limited_link_stand_out(tmp_path: Path):
    read(tmp_path, EXAMPLE)
    assert problems(tmp_path) == []
    assert status(tmp_path).sessions == 8
    wanted = ["transport=tcp", "size=512KiB,1MiB", "statistic=p50"]
    with History.open_to_read(tmp_path) as history:
        for series in history.series(Selection.read(wanted)):
            limited = np.isin(np.arange(len(series)), (4, 5))
            assert series.values[limited].min() > 5 * series.values[~limited].max()


def test_the_example_is_small_and_names_no_place_of_a_machine():
    files = [path for path in EXAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    for path in files:
        text = gzip.decompress(path.read_bytes()).decode()
        assert not re.search(r"/(home|root|tmp|work|usr|opt)\b", text)
