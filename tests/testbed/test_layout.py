import sys
from pathlib import Path

import pytest

from fabricheck_testbed import layout
from fabricheck_testbed.__main__ import main
from fabricheck_testbed.door import OWN, Door
from fabricheck_testbed.errors import TestbedError


def test_hosts_have_names_and_addresses() -> None:
    assert layout.node_names(3) == ["n1", "n2", "n3"]
    assert [layout.address(host) for host in ("n1", "n64", "login")] == [
        "10.77.0.1",
        "10.77.0.64",
        "10.77.0.254",
    ]
    assert layout.daemon_of("login") == "slurmctld"
    assert layout.daemon_of("n2") == "slurmd.n2"


def test_path_that_just_fits_is_taken() -> None:
    room = layout.MAX_SOCKET_PATH - len("/run/munge.sock")
    fits = Path("/" + "x" * (room - 1))
    assert layout.layout_at(fits).root == fits


def test_path_that_is_too_long_for_sockets_is_refused() -> None:
    room = layout.MAX_SOCKET_PATH - len("/run/munge.sock")
    with pytest.raises(TestbedError, match=f"path of {room + 1} bytes.*room for {room} at most"):
        layout.layout_at(Path("/" + "x" * room))


@pytest.mark.parametrize(
    "command", [["up"], ["down"], ["status"], ["doctor"], ["exec", "n1", "true"]]
)
def test_every_command_refuses_a_too_long_path_with_exit_code_2(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(OWN.variable, "/" + "x" * 200)
    monkeypatch.setattr(sys, "argv", ["testbed", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    complaint = capsys.readouterr().err
    assert "choose a shorter one with --state-dir" in complaint
    assert "Traceback" not in complaint


def test_default_state_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert OWN.default() == Path("/somewhere/testbed")
    assert Door("p", "P", "p/tb").default() == Path("/somewhere/p/tb")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert OWN.default() == Path("/home/me/.local/state/testbed")
