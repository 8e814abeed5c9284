"""The bandwidth of each card to itself: a stand-in of perftest, and a card that is half as fast."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run
from tests.node_health.trees import grow, write

pytestmark = pytest.mark.integration

PERFTEST = """#!/bin/sh
while [ "$1" != -d ]; do shift; done
case $* in
*127.0.0.1) ;;
*) exec sleep 60 ;;
esac
rate=$(cat "{place}/$2" 2>/dev/null) || {{ echo "Couldn't connect to 127.0.0.1"; exit 1; }}
echo ' #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]'
echo " 65536      300000           0.00               $rate                  0.2"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(grow(tmp_path / "tree", 4)))
    program = tmp_path / "ib_write_bw"
    program.write_text(PERFTEST.format(place=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for card in range(4):
        write(tmp_path, f"mlx5_{card}", f"1{card}000.12")
    return tmp_path


def judge() -> tuple[int, dict[str, Any]]:
    result = run("node", "--json", "--loopback")
    (line,) = (each for each in json.loads(result.output)["lines"] if each["rule"] == "loopback")
    return result.exit_code, line


def test_each_card_has_its_figure(place: Path) -> None:
    code, line = judge()
    assert (code, line["level"]) == (0, "good")
    assert line["words"].startswith("mlx5_0:1 10000 MB/s, mlx5_1:1 11000 MB/s, mlx5_2:1 12000")


@pytest.mark.parametrize(("rate", "code", "level"), [(8500, 0, "warning"), (6000, 1, "critical")])
def test_the_slow_card_is_named(place: Path, rate: int, code: int, level: str) -> None:
    write(place, "mlx5_2", f"{rate}.00")
    found, line = judge()
    assert (found, line["level"]) == (code, level)
    assert line["words"] == f"mlx5_2:1 {rate} MB/s, its peers 11000 MB/s"


def test_a_card_that_is_not_measured_is_no_good_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "mlx5_3").unlink()
    monkeypatch.setattr("fabricheck.node_health.loopback.PATIENCE", 6.0)
    _, line = judge()
    assert line["level"] == "warning"
    assert line["words"] == "mlx5_3:1 was not measured: Couldn't connect to 127.0.0.1"
    monkeypatch.setattr("fabricheck.node_health.loopback._PROGRAM", ("/no/ib_write_bw",))
    assert "ib_write_bw is not on PATH" in judge()[1]["words"]
