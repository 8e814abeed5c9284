"""Everything that keeps a testbed from starting: one sentence, exit code 2, nothing left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricheck import cli
from fabricheck.errors import FabricheckError
from fabricheck.testbed import Testbed, doctor, lifecycle, lock, programs, rights
from fabricheck.testbed.layout import NODE_VARIABLE, Layout


def run_cli(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str]:
    monkeypatch.setattr(sys, "argv", ["fabricheck", "testbed", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    return ended.value.code, complaint


@pytest.fixture
def path_without_slurmctld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (*programs.PACKAGE_OF, programs.COMPILER):
        if name != "slurmctld":
            (tools / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(programs, "SYSTEM_DIRECTORIES", ())
    monkeypatch.setattr(programs, "LIBRARY_PACKAGES", {})
    monkeypatch.setattr(lifecycle, "choose_mode", lambda: False)


@pytest.mark.usefixtures("path_without_slurmctld")
def test_missing_program_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "tb"
    code, complaint = run_cli(["up", "--state-dir", str(state)], monkeypatch, capsys)
    assert code == 2
    assert not state.exists()
    assert "needs slurmctld, which this machine lacks: apt-get install slurmctld" in complaint


@pytest.mark.usefixtures("path_without_slurmctld")
def test_doctor_names_the_missing_package(tmp_path: Path) -> None:
    checks = {check.name: check for check in doctor.examine(Layout(tmp_path / "tb"))}
    assert checks["slurmctld"].level == doctor.PROBLEM
    assert checks["slurmctld"].fix == "apt-get install slurmctld"
    assert checks["slurmd"].level == doctor.OK


def test_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "LIBRARY_DIRECTORY", tmp_path)
    monkeypatch.setattr(programs, "PACKAGE_OF", {})
    with pytest.raises(
        FabricheckError, match=r"apt-get install slurm-wlm-basic-plugins libpmi2-0$"
    ):
        programs.require_programs(with_compiler=False)


def test_directory_with_other_things_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    testbed = Testbed(tmp_path)
    try:
        with pytest.raises(FabricheckError, match=r"holds 'thesis\.tex', which is not a testbed's"):
            testbed.up(nodes=1)
    finally:
        assert testbed.down() == lifecycle.DownResult([], [])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_state_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "tb").write_text("")
    with pytest.raises(FabricheckError, match="cannot be used: File exists"):
        Testbed(tmp_path / "tb").up()


def test_state_directory_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock, "PATIENCE_SECONDS", 0.0)
    with lock.state_lock(tmp_path / "lock", "up"):
        for operation in ("up", "down"):
            code, complaint = run_cli(
                [operation, "--state-dir", str(tmp_path)], monkeypatch, capsys
            )
            assert code == 2
            assert f"is in use by fabricheck testbed up (process {os.getpid()})" in complaint


def test_commands_without_a_testbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ["--state-dir", str(tmp_path / "tb")]
    code, complaint = run_cli(["exec", *state, "n1", "true"], monkeypatch, capsys)
    assert code == 2
    assert "start one with fabricheck testbed up" in complaint
    assert run_cli(["status", *state], monkeypatch, capsys)[0] == 1
    assert run_cli(["down", *state], monkeypatch, capsys)[0] == 0


def test_from_inside_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(NODE_VARIABLE, "login")
    state = ["--state-dir", str(tmp_path / "tb")]
    for words in (["up", *state], ["down", *state], ["exec", *state, "n1", "true"]):
        code, complaint = run_cli(words, monkeypatch, capsys)
        assert code == 2
        assert "in login of a testbed" in complaint


def test_neither_root_nor_user_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(rights, "probe", lambda **_: "unshare(0x10000000): No space left on device")
    with pytest.raises(FabricheckError, match=r"needs root, .*this is user 1000, .*No space left"):
        rights.choose_mode()


@pytest.mark.testbed
def test_kernel_that_forbids_namespaces(
    tmp_path: Path, can_run_testbeds: None, fabricheck: list[str]
) -> None:
    # In a user namespace of its own, the limit on user namespaces can be set to none, and a
    # process without capabilities is refused everything, as on a locked machine.
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all "
        '--inh-caps=-all --bounding-set=-all "$@"'
    )
    wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    up = [*fabricheck, "testbed", "up", "--state-dir", str(tmp_path / "tb")]
    done = subprocess.run([*wrapper, *up], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "a testbed needs root, or a kernel that lets users make namespaces" in done.stderr
    assert "user namespaces do not work here" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.testbed
def test_full_disk(tmp_path: Path, can_run_testbeds: None, fabricheck: list[str]) -> None:
    script = 'mount -t tmpfs -o size=8k tmpfs "$0" && { "$@"; code=$?; ls "$0"; exit $code; }'
    up = [*fabricheck, "testbed", "up", "--state-dir", str(tmp_path)]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(tmp_path), *up],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be used: No space left on device" in done.stderr
    assert done.stdout == "", "nothing half-written stays"
    assert "Traceback" not in done.stderr
