"""Planned work silences what it causes, with a real Alertmanager, and nothing for long."""

import json
import subprocess
from contextlib import ExitStack
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from tests.monitor.test_loop import serving, stack
from tests.monitor.test_rules import ALERTS
from tests.refusals import refused
from tests.waiting import wait_until

from fabricheck.monitor import silence
from fabricheck.monitor.silence import CAUSED, silenced

__all__ = ["stack"]


def silences(port: int, state: str = "active") -> list[dict[str, Any]]:
    with urlopen(f"http://127.0.0.1:{port}/api/v2/silences", timeout=30) as answer:
        return [each for each in json.load(answer) if each["status"]["state"] == state]


class Late(datetime):
    """A clock that is three seconds behind Alertmanager's."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) - timedelta(seconds=3)


@pytest.mark.e2e
def test_what_load_causes_is_silent_as_long_as_the_work_lasts(
    stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}
    alone = "--cluster.listen-address="
    port, _ = serving("prometheus-alertmanager", config, tmp_path, stack, alone)
    address = f"http://127.0.0.1:{port}/"
    monkeypatch.setattr(silence, "_RENEWED", 0.05)
    monkeypatch.setattr(silence, "datetime", Late)

    def state(name: str) -> str:
        alert = ["amtool", f"--alertmanager.url={address}", "alert", "add", name, "node=n1"]
        subprocess.run(alert, check=True, capture_output=True)
        url = f"{address}api/v2/alerts?filter=alertname%3D{name}"

        def found() -> str:
            with urlopen(url, timeout=30) as answer:
                given = json.load(answer)
            return given[0]["status"]["state"] if given else ""

        return wait_until(lambda: (each := found()) != "unprocessed" and each)

    with silenced(address, "acceptance fw28"):
        (one,) = silences(port)
        assert (one["comment"], one["createdBy"]) == ("acceptance fw28", "fabricheck")
        assert state("HighECNRate") == "suppressed"
        assert state("LinkDown") == "active"
        # It is made longer, and is the same, also in another second.
        wait_until(lambda: silences(port)[0]["endsAt"][:19] > one["endsAt"][:19])
        assert silences(port)[0]["id"] == one["id"]
    assert silences(port) == []
    assert silences(port, "expired")


def test_without_an_address_nothing_is_asked() -> None:
    with silenced("", "x"):
        pass


@pytest.mark.integration
@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "file:///etc", "alerts:9093"])
def test_an_address_where_nobody_answers_is_one_sentence(address: str) -> None:
    with refused("FC3502", "correct --alertmanager"), silenced(address, "x"):
        raise AssertionError("the work must not begin")


@pytest.mark.integration
def test_one_that_goes_away_meanwhile_does_not_end_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as gone:
        config = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}
        alone = "--cluster.listen-address="
        port, _ = serving("prometheus-alertmanager", config, tmp_path, gone, alone)
        with silenced(f"http://127.0.0.1:{port}", "x"):
            gone.close()
    assert "ends by itself" in capsys.readouterr().err


def test_what_is_silenced_are_alerts_that_load_causes() -> None:
    names = {rule["alert"]: rule for rule in ALERTS}
    assert set(CAUSED.split("|")) <= names.keys()
    kept = yaml.safe_dump([each for each in names if each not in CAUSED.split("|")])
    for never in ("LinkDown", "PortMissing", "LeafDown", "FabricCritical", "ExporterDown"):
        assert never in kept
