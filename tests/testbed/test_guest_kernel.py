"""The guest's kernel: taken out of Debian's package, or refused in one sentence."""

import gzip
import io
import lzma
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import kernel

pytestmark = pytest.mark.integration

PACKAGE = "linux-image-6.1.0-1-amd64"
BUILT_IN = "virtio_pci"


def elf(owner: bytes = b"Xen\0", kind: int = 18) -> bytes:
    """A 64-bit ELF file with one note."""
    note = struct.pack("<III", len(owner), 4, kind) + owner + b"\0" * 4
    header = bytearray(0x40)
    header[:5] = b"\x7fELF\x02"
    struct.pack_into("<Q", header, 0x20, 0x40)
    struct.pack_into("<HH", header, 0x36, 0x38, 1)
    program = struct.pack("<IIQQQQQQ", 4, 0, 0x78, 0, 0, len(note), len(note), 4)
    return bytes(header) + program + note


def xz(data: bytes) -> bytes:
    return lzma.compress(data, check=lzma.CHECK_CRC32)


def zstd(data: bytes) -> bytes:
    """A frame of one raw block, with its length in the header."""
    head = b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)])
    return head + (len(data) << 3 | 1).to_bytes(3, "little") + data


def bzimage(payload: bytes, size: int = len(elf())) -> bytes:
    """A bzImage whose setup takes one sector besides the boot sector; data's size follows it."""
    image = bytearray(1024)
    image[0x1F1] = 1
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, 16, len(payload) + 4)
    return bytes(image) + b"\0" * 16 + payload + struct.pack("<I", size)


@pytest.mark.parametrize("compress", [xz, gzip.compress, zstd])
def test_the_kernel_is_taken_out_of_its_image(compress: Callable[[bytes], bytes]) -> None:
    assert kernel.uncompressed(bzimage(compress(elf())), "vmlinuz") == elf()


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (b"MZ", "it is no bzImage"),
        (b"\0" * 0x202 + b"HdrS", "it is no bzImage|unpack_from"),
        (bzimage(b"\x04\x22\x4d\x18 rest"), "begins with 04224d18, is unknown"),
        (bzimage(b"\x28\xb5\x2f\xfd rest"), "its zstd data does not give the \\d+ bytes"),
        (bzimage(zstd(elf()), 9), "its zstd data does not give the 9 bytes"),
        (bzimage(xz(b"not a program")), "inside is no 64-bit ELF file"),
        (bzimage(xz(elf(owner=b"GNU\0"))), "it has no PVH entry"),
        (bzimage(xz(elf(kind=17))), "it has no PVH entry"),
        (bzimage(b"\xfd7zXZ\0 cut"), "found another format"),
    ],
)
def test_an_image_of_another_format_is_one_clear_sentence(image: bytes, why: str) -> None:
    with pytest.raises(TestbedError, match=rf"expected in vmlinuz-9 a kernel image .*({why})"):
        kernel.uncompressed(image, "vmlinuz-9")


def test_modules_come_after_what_they_depend_on(tmp_path: Path) -> None:
    modules = {}
    for name, needs in (("a", b""), ("b_c", b"a"), ("d", b"b-c,a")):
        modules[name] = tmp_path / f"{name}.ko"
        modules[name].write_bytes(b"x\0license=GPL\0depends=" + needs + b"\0")
    order = [path.stem for path in kernel.in_load_order(["d", "a"], modules)]
    assert order == ["a", "b_c", "d"]
    with pytest.raises(TestbedError, match="kernel module rdma_rxe, which Debian's kernel"):
        kernel.in_load_order(["rdma_rxe"], modules)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Stand-ins for apt and dpkg, alone on PATH."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))

    def put(name: str, body: str) -> None:
        (directory / name).write_text(f"#!/bin/sh\n{body}\n")
        (directory / name).chmod(0o755)

    return put


def fake_package(path: Path) -> None:
    """The files of a kernel package, as ``dpkg-deb --fsys-tarfile`` writes them."""
    files = {"./boot/vmlinuz-6.1.0-1-amd64": bzimage(xz(elf())), "./boot/config": b"text"}
    files["./lib/modules/6.1/modules.builtin"] = f"kernel/drivers/{BUILT_IN}.ko\n".encode()
    for name in (*(set(kernel.MODULES) - {BUILT_IN}), "other"):
        files[f"./lib/modules/6.1/{name}.ko"] = b"\0depends=\0"
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def test_a_kernel_is_fetched_once(tmp_path: Path, tools: Callable[[str, str], None]) -> None:
    cache = tmp_path / "cache"
    fake_package(tmp_path / "package.tar")
    tools("apt-cache", f"echo '  Depends: {PACKAGE}'")
    tools("apt-get", f": >{PACKAGE}_6.1.1-1_amd64.deb")
    tools("dpkg-deb", f"exec /bin/cat {tmp_path}/package.tar")
    said: list[str] = []
    found = kernel.provide(cache, said.append)
    assert found.version.startswith(f"{PACKAGE}_6.1.1-1_")
    assert found.image.read_bytes() == elf()
    loaded = [f"{name}.ko" for name in kernel.MODULES if name != BUILT_IN]
    assert [path.name[3:] for path in found.modules] == loaded
    assert len(said) == 2
    assert [path.name for path in cache.iterdir()] == [found.version], "nothing half-done stays"

    tools("apt-cache", "exit 1")
    assert kernel.provide(cache, said.append) == found
    assert len(said) == 2


def test_a_kernel_with_other_modules_is_not_taken(tmp_path: Path) -> None:
    for kind in ("", "_01234567"):
        other = tmp_path / f"{PACKAGE}_6.1.1-1{kind}"
        (other / "modules").mkdir(parents=True)
        (other / "vmlinux").touch()
    assert kernel.cached(tmp_path) is None


@pytest.mark.parametrize(
    ("apt_cache", "apt_get", "why"),
    [
        (None, None, r"apt knows no package linux-image-amd64 \(apt-cache is not installed\)"),
        ("echo 'N: Unable to locate' >&2; exit 100", None, r"\(N: Unable to locate\): run apt-get"),
        (f"echo 'Depends: {PACKAGE}'", "echo 'E: no network' >&2; exit 100", r"\(E: no network\)"),
        (f"echo 'Depends: {PACKAGE}'", "exit 0", "cannot be fetched"),
    ],
)
def test_a_kernel_that_cannot_be_had_is_one_clear_sentence(
    apt_cache: str | None,
    apt_get: str | None,
    why: str,
    tmp_path: Path,
    tools: Callable[[str, str], None],
) -> None:
    for name, body in (("apt-cache", apt_cache), ("apt-get", apt_get)):
        if body is not None:
            tools(name, body)
    with pytest.raises(TestbedError, match=rf"{why}.*the rest of the testbed works without"):
        kernel.provide(tmp_path / "cache", lambda _: None)
    assert kernel.cached(tmp_path / "cache") is None


def test_a_package_that_dpkg_cannot_read(tmp_path: Path, tools: Callable[[str, str], None]) -> None:
    tools("dpkg-deb", "echo 'not a Debian archive' >&2; exit 2")
    with pytest.raises(TestbedError, match=r"cannot unpack linux\.deb"):
        kernel.unpack(tmp_path / "linux.deb", tmp_path / "ready")
