"""Which system a command runs on: nothing runs where nobody said."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from tests.refusals import refused
from tests.sites import minimal
from typer.testing import CliRunner

from fabricheck.cli.application import build
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.reframe_ext.config import system_here
from fabricheck_testbed import layout
from fabricheck_testbed.door import Request
from fabricheck_testbed.errors import TestbedError

COMMANDS = ["run", "nightly", "locate", "stress start", "stress once", "plan"]


@pytest.fixture(autouse=True)
def _nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RFM_SYSTEM", "FABRICHECK_SITES", layout.PARTITIONS_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(socket, "gethostname", lambda: "some-host")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_system_asks_for_one_and_lists_what_there_is(command: str) -> None:
    words = command.split()
    ended = CliRunner().invoke(build(words[:1]), words)
    said = str(ended.exception)
    assert isinstance(ended.exception, FabricheckError), said
    assert "expected --system, or one system whose hostnames fit this host (some-host)" in said
    assert "name one of gpu-2n, " in said
    assert "testbed" in said


@pytest.mark.parametrize("host", ["login", "some-host"])
def test_a_host_called_login_is_no_testbed(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    with refused("FC0503", "found none"):
        system_here(SUITE)


def test_the_login_node_of_a_testbed_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(layout.PARTITIONS_VARIABLE, "main")
    monkeypatch.setattr(socket, "gethostname", lambda: "login")
    assert system_here(SUITE) == "testbed"


def test_the_host_name_finds_a_system_of_a_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = tmp_path / "sites"
    sites.mkdir()
    monkeypatch.setenv("FABRICHECK_SITES", str(tmp_path))
    (sites / "hpc.yaml").write_text(minimal.site("hpc").replace("[x]", "['some-.*']"))
    assert system_here(SUITE) == "hpc"
    (sites / "two.yaml").write_text(minimal.site("two").replace("[x]", "['.*-host']"))
    with refused("FC0503", "found hpc and two: name one of"):
        system_here(SUITE)
    (sites / "two.yaml").write_text("systems: }")
    with refused("FC0503", r"left out: .*two\.yaml"):
        system_here(SUITE)


def test_another_installation_leaves_a_testbed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = layout.layout_at(tmp_path)
    layout.refuse_of_other_package(files)
    files.etc.mkdir()
    files.package.write_text(str(layout.PACKAGE))
    layout.refuse_of_other_package(files)
    monkeypatch.setattr(layout, "PACKAGE", Path("/elsewhere/fabricheck_testbed"))
    with pytest.raises(TestbedError, match="of /elsewhere/fabricheck_testbed"):
        Request(tmp_path, "login", ["true"]).run()
    with pytest.raises(
        TestbedError,
        match=r"of /elsewhere/fabricheck_testbed .* found one of .*/fabricheck_testbed",
    ):
        layout.refuse_of_other_package(files)


STAND_IN = """#!/bin/sh
[ "$*" != "testbed exec login true" ] || exit {code}
echo "{name} $*"
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arguments", "variables", "code", "on_login"),
    [
        (["--system=testbed", "-r"], {}, 0, True),
        (["--system", "testbed:main", "-r"], {}, 0, True),
        (["-r"], {"RFM_SYSTEM": "testbed"}, 0, True),
        (["--system=mycluster", "-r"], {}, 0, False),
        (["--system", "local", "-r"], {"RFM_SYSTEM": "testbed"}, 0, False),
        (["-r"], {}, 0, False),
        # Of another checkout, or down.
        (["--system=testbed", "-r"], {}, 2, False),
        (["--system=testbed", "-r"], {"SLURM_CONF": "there"}, 0, False),
    ],
)
def test_the_login_node_is_for_the_testbed_alone(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], code: int, on_login: bool
) -> None:
    shutil.copytree(SUITE / "bin" / "path", tmp_path / "bin" / "path")
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("fabricheck", "reframe"):
        (programs / name).write_text(STAND_IN.format(name=name, code=code))
        (programs / name).chmod(0o755)
    ended = subprocess.run(
        [tmp_path / "bin" / "path" / "reframe", *arguments],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    first = ended.stdout.split()[0]
    assert first == ("fabricheck" if on_login else "reframe"), ended.stdout
    assert ended.stdout.endswith(f"{' '.join(arguments)}\n")
