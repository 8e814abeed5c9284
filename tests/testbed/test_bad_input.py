"""Everything that keeps a testbed from starting: one sentence, exit code 2, nothing left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricheck_testbed import Testbed, doctor, lifecycle, lock, programs, rights
from fabricheck_testbed.__main__ import main
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.layout import NODE_VARIABLE, Layout
from fabricheck_testbed.options import own_pid_namespace
from fabricheck_testbed.records import ProcessRecord, host_boot_id
from fabricheck_testbed.state_files import check_root

pytestmark = pytest.mark.integration


def run_cli(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str]:
    monkeypatch.setattr(sys, "argv", ["testbed", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
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


def test_doctor_names_what_only_cases_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_program", lambda _: None)
    checks = {check.name: check for check in doctor._for_cases()}
    assert checks.keys() == {"mpicc.openmpi", "mpicc.mpich", "redis-server"}
    assert checks["redis-server"].level == doctor.WARNING
    assert checks["redis-server"].fix == "apt-get install redis-server"


def test_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "LIBRARY_DIRECTORY", tmp_path)
    monkeypatch.setattr(programs, "PACKAGE_OF", {})
    with pytest.raises(TestbedError, match=r"apt-get install slurm-wlm-basic-plugins libpmi2-0$"):
        programs.require_programs(with_compiler=False)


def test_directory_with_other_things_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    testbed = Testbed(tmp_path)
    try:
        with pytest.raises(TestbedError, match=r"holds 'thesis\.tex', which is not a testbed's"):
            testbed.up(nodes=1)
    finally:
        assert testbed.down() == lifecycle.DownResult([], [])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


MARK = {
    "nodes": 1, "cpus_per_node": 1, "keep_visible": [], "user_namespace": False,
    "made_directory": False, "pid_namespace": own_pid_namespace(), "boot_id": host_boot_id(),
    "guest_directories": [],
}  # fmt: skip


@pytest.mark.parametrize("name", ["lock", "pids", "testbed.tmp"])
def test_down_removes_nothing_where_no_testbed_was_started(tmp_path: Path, name: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "conf").write_text("precious")
    (tmp_path / name).mkdir() if name == "pids" else (tmp_path / name).write_text("x")
    before = sorted(tmp_path.rglob("*"))
    assert lifecycle.down(tmp_path) == lifecycle.DownResult([], [])
    with pytest.raises(TestbedError, match="which is not a testbed's"):
        check_root(Layout(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_lock_of_others_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    state = tmp_path / "state"
    state.mkdir()
    (state / "testbed.json").write_text(json.dumps(MARK))
    for make in (
        lambda: (state / "lock").symlink_to(tmp_path / "victim"),
        lambda: (state / "lock").hardlink_to(tmp_path / "victim"),
        lambda: os.mkfifo(state / "lock"),
    ):
        make()
        with pytest.raises(TestbedError, match=r"symbolic links|lock of a testbed, found a file"):
            lifecycle.down(state)
        (state / "lock").unlink()
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("name", ["switch", "n1"])
def test_a_process_that_is_not_the_testbeds_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "testbed.json").write_text(json.dumps(MARK))
    (tmp_path / "pids").mkdir()
    with subprocess.Popen(["sleep", "60"]) as bystander:
        start = int(Path(f"/proc/{bystander.pid}/stat").read_text().rpartition(")")[2].split()[19])
        record = ProcessRecord(name, bystander.pid, start, host_boot_id())
        (tmp_path / "pids" / f"{name}.json").write_text(json.dumps(record._asdict()))
        if name == "switch":
            with pytest.raises(TestbedError, match="found another program, which is left alone"):
                lifecycle.down(tmp_path)
        else:
            assert lifecycle.down(tmp_path).processes == []
        assert bystander.poll() is None
        bystander.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_others_is_refused_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ["--state-dir", str(tmp_path)]
    for prepare, said in (
        (lambda: os.chown(tmp_path, 65534, -1), "belongs to user 65534, and this is user 0"),
        (lambda: (os.chown(tmp_path, 0, -1), tmp_path.chmod(0o775)), "can be written by others"),
    ):
        prepare()
        for words in (["up"], ["down"], ["status"], ["exec"], ["fault"]):
            node = ["n1", "list"] if words[0] in ("exec", "fault") else []
            code, complaint = run_cli([*words, *state, *node], monkeypatch, capsys)
            assert (code, said in complaint) == (2, True), complaint


def test_a_link_in_place_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "thesis.tex").write_text("precious")
    state = tmp_path / "state"
    state.mkdir()
    (state / "testbed.json").write_text(json.dumps(MARK))
    (state / "etc").symlink_to(tmp_path / "victim")
    with pytest.raises(TestbedError, match=r"cannot be used: .*symbolic link"):
        lifecycle.down(state)
    assert (tmp_path / "victim" / "thesis.tex").exists()


def test_state_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "tb").write_text("")
    with pytest.raises(TestbedError, match="cannot be used: File exists"):
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
            assert f"is in use by up (process {os.getpid()})" in complaint


def test_commands_without_a_testbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ["--state-dir", str(tmp_path / "tb")]
    code, complaint = run_cli(["exec", *state, "n1", "true"], monkeypatch, capsys)
    assert code == 2
    assert "start one with testbed up" in complaint
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
    with pytest.raises(TestbedError, match=r"needs root, .*this is user 1000, .*No space left"):
        rights.choose_mode()


@pytest.mark.e2e
def test_kernel_that_forbids_namespaces(
    tmp_path: Path, can_run_testbeds: None, program: list[str]
) -> None:
    # In a user namespace of its own, the limit on user namespaces can be set to none, and a
    # process without capabilities is refused everything, as on a locked machine.
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all "
        '--inh-caps=-all --bounding-set=-all "$@"'
    )
    wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    up = [*program, "up", "--state-dir", str(tmp_path / "tb")]
    done = subprocess.run([*wrapper, *up], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "a testbed needs root, or a kernel that lets users make namespaces" in done.stderr
    assert "user namespaces do not work here" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.e2e
def test_full_disk(tmp_path: Path, can_run_testbeds: None, program: list[str]) -> None:
    script = (
        'mount -t tmpfs -o size=8k,mode=755 tmpfs "$0" && { "$@"; code=$?; ls "$0"; exit $code; }'
    )
    up = [*program, "up", "--state-dir", str(tmp_path)]
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
