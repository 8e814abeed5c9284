"""QEMU's command line, what the guest finds first, and what keeps it from starting."""

import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from fabricheck_testbed import doctor, programs
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import initramfs, machine, prepare
from fabricheck_testbed.guest.kernel import Kernel
from fabricheck_testbed.guest.settings import Settings
from fabricheck_testbed.layout import Layout, address

pytestmark = pytest.mark.integration

KERNEL = Kernel("linux_6", Path("/cache/vmlinux"), [])


def option(command: list[str], name: str) -> list[str]:
    return [value for key, value in pairwise(command) if key == name]


def test_the_guest_reads_this_machine_and_writes_what_it_is_given() -> None:
    files = Layout(Path("/state"))
    command = machine.qemu_command("/qemu", "tcg", KERNEL, files, ["/a,b", "/c"])
    assert option(command, "-fsdev") == [
        "local,id=machine,path=/,security_model=none,multidevs=remap,readonly=on",
        "local,id=directory0,path=/a,,b,security_model=none,multidevs=remap",
        "local,id=directory1,path=/c,security_model=none,multidevs=remap",
    ]
    assert machine.tags(["/a,b", "/c"]) == {"directory0": "/a,b", "directory1": "/c"}
    assert option(command, "-m") == ["2048M"]
    assert "tb-size=256" in option(command, "-accel")[0]


def test_too_many_directories_are_refused() -> None:
    with pytest.raises(TestbedError, match="can share 24 directories, found 25"):
        machine.qemu_command("q", "tcg", KERNEL, Layout(Path("/s")), [f"/{n}" for n in range(25)])


def test_the_whole_machine_is_never_writable() -> None:
    wanted = [Path("/"), Path("/usr/lib"), Path("/usr"), Path("/opt/a")]
    assert prepare.writable_directories(wanted) == ["/opt/a", "/usr"]


def test_what_the_kernel_finds_first_is_an_archive_that_busybox_reads(tmp_path: Path) -> None:
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"#!program\n")
    modules = [tmp_path / name for name in ("00-virtio.ko", "01-9p.ko")]
    for module in modules:
        module.write_bytes(b"123")
    archive = initramfs.for_guest(busybox, modules, ["python", "a b", "/state's"])
    tool = programs.find_program("busybox")
    if tool is None:
        pytest.skip("busybox is not installed")
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run([tool, "cpio", "-idu"], cwd=out, input=archive, check=True, capture_output=True)
    assert (out / "bin/busybox").read_bytes() == b"#!program\n"
    assert [path.name for path in sorted((out / "modules").iterdir())] == [
        "00-virtio.ko",
        "01-9p.ko",
    ]
    script = (out / "init").read_text()
    assert "{" not in script.replace("${module##*/}", "").replace("fail() {", "")
    assert "switch_root /new python 'a b' '/state'\"'\"'s'" in script
    assert (out / "init").stat().st_mode & stat.S_IXUSR


def test_only_its_owner_reads_the_token(tmp_path: Path) -> None:
    settings = Settings({"directory0": "/a"}, {"ip": "/bin/ip"}, "tcg", "secret")
    settings.save(tmp_path / "guest.json")
    assert stat.S_IMODE((tmp_path / "guest.json").stat().st_mode) == 0o600
    assert Settings.load(tmp_path / "guest.json") == settings


def test_addresses_of_the_guest() -> None:
    assert [address(host) for host in ("guest", "rx1", "rx2")] == [
        "10.77.0.200",
        "10.77.0.201",
        "10.77.0.202",
    ]


@pytest.fixture
def accelerator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What is chosen with a QEMU that behaves as the given shell script."""
    monkeypatch.setattr(machine, "_KVM_DEVICE", tmp_path)
    monkeypatch.setattr(machine, "_PROBE_SECONDS", 2.0)
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"")

    def choose(body: str) -> str:
        qemu = tmp_path / "qemu"
        qemu.write_text(f"#!/bin/sh\n{body}\n")
        qemu.chmod(0o755)
        return machine.choose_accelerator(str(qemu), busybox, KERNEL, tmp_path, lambda _: None)

    return choose


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"echo '{initramfs.PROBE_ANSWER}'", "kvm"),
        ("echo 'kvm_buf_set_msrs: Assertion failed'; kill -ABRT $$", "tcg"),
        ("echo 'one line'; exec sleep 60", "tcg"),
    ],
)
def test_kvm_is_taken_only_if_it_runs_the_kernel_in_time(
    accelerator: Callable[[str], str], body: str, expected: str
) -> None:
    assert accelerator(body) == expected
    # Found out once after each boot of the machine.
    assert accelerator("exit 1") == expected


def test_kvm_is_looked_at_again_after_the_next_boot(
    accelerator: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert accelerator("exit 1") == "tcg"
    monkeypatch.setattr(machine, "host_boot_id", lambda: "the-next-boot")
    assert accelerator(f"echo '{initramfs.PROBE_ANSWER}'") == "kvm"
    monkeypatch.setattr(machine, "_KVM_DEVICE", tmp_path / "none")
    monkeypatch.setattr(machine, "host_boot_id", lambda: "and-the-next")
    assert accelerator(f"echo '{initramfs.PROBE_ANSWER}'") == "tcg"


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_mb", lambda: 1000)
    with pytest.raises(TestbedError, match="guest needs 2560 MB of memory, and 1000 MB are ava"):
        machine.require_memory()


def test_a_kernel_without_virtual_network_cards_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "_TUN_DEVICE", tmp_path / "tun")
    with pytest.raises(TestbedError, match="tun, which is missing or not writable here"):
        machine.require_tap()


def test_missing_programs_name_their_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "SYSTEM_DIRECTORIES", ())
    monkeypatch.setattr(programs, "PACKAGE_OF", {})
    monkeypatch.setattr(programs, "LIBRARY_DIRECTORY", tmp_path)
    with pytest.raises(
        TestbedError,
        match=r"--rdma needs qemu-system-x86_64, busybox, rdma, libib\S+, which this machine "
        r"lacks: apt-get install qemu-system-x86 busybox-static iproute2 ibverbs-providers",
    ):
        programs.require_guest_programs()
    lines = {check.name: check for check in doctor._guest()}
    assert lines["qemu-system-x86_64"].level == doctor.WARNING, "the testbed works without"
    assert lines["qemu-system-x86_64"].fix == "apt-get install qemu-system-x86"


def test_a_busybox_with_libraries_is_refused() -> None:
    with pytest.raises(TestbedError, match=r"statically linked busybox, and .* is none: apt-get"):
        prepare._require_static(Path(sys.executable).resolve())
