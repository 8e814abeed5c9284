"""The guest's kernel: Debian's own, unpacked below the user's cache directory, never installed."""

import ctypes
import hashlib
import lzma
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from fabricheck_testbed.errors import TestbedError

# The newest kernel of the distribution; its one dependency is the package that holds the image.
META_PACKAGE: Final = "linux-image-amd64"
# Loaded before the guest sees any file: a bus, a network card, and the file system to the host.
# Then what its RDMA devices and their faults need. rdma_rxe asks for crc32 only when it is used.
MODULES: Final = (
    "virtio_pci",
    "9pnet_virtio",
    "9p",
    "virtio_net",
    "veth",
    "bridge",
    "sch_netem",
    "sch_tbf",
    "sch_red",
    "crc32_generic",
    "crc32_pclmul",
    "rdma_rxe",
    "rdma_ucm",
    "ib_umad",
)
# The modules that are parts of the image, by path; virtio_pci is one on Debian 13.
_BUILT_IN: Final = "modules.builtin"
# A kernel that was unpacked with other modules is not ours.
_KIND: Final = hashlib.sha256(" ".join(MODULES).encode()).hexdigest()[:8]
_FETCH_SECONDS: Final = 300.0
_QUERY_SECONDS: Final = 30.0
_OTHERWISE: Final = "the rest of the testbed works without --rdma"
# Offsets in a bzImage (Documentation/arch/x86/boot.rst).
_SETUP_SECTORS: Final = 0x1F1
_BOOT_MAGIC: Final = 0x202
_PAYLOAD: Final = 0x248
_SECTOR: Final = 512
# ELF: program header types; the note of a kernel that can be entered directly (PVH).
PT_INTERP: Final = 3
_PT_NOTE: Final = 4
_XEN_PHYS32_ENTRY: Final = 18
_NOTE: Final = struct.Struct("<III")


class Kernel(NamedTuple):
    """A kernel in the cache.

    Attributes:
        version: package, version, and a digest of the list of modules: the name of its directory.
        image: an uncompressed kernel that QEMU enters directly: unpacking costs seconds there.
        modules: kernel modules in the order in which they have to be loaded.
    """

    version: str
    image: Path
    modules: list[Path]


def cache_dir() -> Path:
    """``testbed/guest`` below the user's XDG cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "testbed" / "guest"


def cached(cache: Path) -> Kernel | None:
    """The kernel unpacked last with these modules; None if there is none."""
    found = sorted(cache.glob(f"linux-*_{_KIND}/vmlinux"), key=lambda path: path.stat().st_mtime)
    if not found:
        return None
    directory = found[-1].parent
    return Kernel(directory.name, found[-1], sorted((directory / "modules").iterdir()))


def provide(cache: Path, progress: Callable[[str], None]) -> Kernel:
    """The cached kernel, or else Debian's, fetched and unpacked now.

    Raises:
        TestbedError: no package is known, it cannot be fetched, or it is of another format.
    """
    if (found := cached(cache)) is not None:
        return found
    progress("guest kernel: fetching Debian's package (up to 110 MB)")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as temporary:
        package = _download(package_name(), Path(temporary))
        progress(f"guest kernel: unpacking {package.name}")
        ready = Path(temporary) / "ready"
        unpack(package, ready)
        name, version = package.name.split("_")[:2]
        target = cache / f"{name}_{version}_{_KIND}"
        if not target.exists():
            ready.rename(target)
    found = cached(cache)
    if found is None:
        raise TestbedError(f"expected the unpacked kernel in {cache}, found none: try again")
    return found


def package_name() -> str:
    """The package with the newest kernel image; TestbedError if apt knows none."""
    query = _run(["apt-cache", "depends", META_PACKAGE], _QUERY_SECONDS)
    match = re.search(r"Depends: (linux-image-\S+)", query.stdout)
    if query.returncode != 0 or match is None:
        raise TestbedError(
            f"the testbed's guest needs a kernel, and apt knows no package {META_PACKAGE} "
            f"({_complaint(query)}): run apt-get update, on Debian; {_OTHERWISE}"
        )
    return match[1]


def _download(package: str, directory: Path) -> Path:
    # As root apt would like to download as user _apt, who may not write here.
    sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    command = ["apt-get", "--quiet", *sandbox, "-o", "Acquire::Retries=3", "download", package]
    done = _run(command, _FETCH_SECONDS, directory)
    found = list(directory.glob("*.deb"))
    if done.returncode != 0 or not found:
        raise TestbedError(
            f"the testbed's guest needs the kernel package {package}, which cannot be fetched "
            f"({_complaint(done)}): run apt-get update, or look at the network; {_OTHERWISE}"
        )
    return found[0]


def _run(
    command: list[str], seconds: float, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            cwd=directory,
        )
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]} is not installed")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no end after {seconds:g} s")


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


def unpack(package: Path, target: Path) -> None:
    """Take kernel image and modules out of a Debian package, into a fresh directory."""
    wanted = target.with_suffix(".all")
    modules = _extract(package, wanted)
    (target / "modules").mkdir(parents=True)
    images = list(wanted.glob("vmlinuz*"))
    if not images:
        raise TestbedError(f"expected a file boot/vmlinuz-* in {package.name}, found none")
    (target / "vmlinux").write_bytes(uncompressed(images[0].read_bytes(), images[0].name))
    built_in = {_module(line) for line in (wanted / _BUILT_IN).read_text().splitlines()}
    loaded = [name for name in MODULES if name not in built_in]
    for number, path in enumerate(in_load_order(loaded, modules)):
        shutil.move(path, target / "modules" / f"{number:02}-{path.name}")
    shutil.rmtree(wanted)


def _extract(package: Path, directory: Path) -> dict[str, Path]:
    """Write image and modules flat into ``directory``; returns the modules by name."""
    directory.mkdir()
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    try:
        with (
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as unpacker,
            tarfile.open(fileobj=unpacker.stdout, mode="r|") as archive,
        ):
            return _extract_wanted(archive, directory)
    except (OSError, tarfile.TarError) as error:
        raise TestbedError(
            f"cannot unpack {package.name}, the guest's kernel ({error}): is there room, and is "
            f"dpkg-deb installed? {_OTHERWISE}"
        ) from error


def _extract_wanted(archive: tarfile.TarFile, directory: Path) -> dict[str, Path]:
    modules = {}
    for member in archive:
        path = PurePosixPath(member.name)
        source = archive.extractfile(member)
        if source is None:
            continue
        if path.name.startswith("vmlinuz") or path.name == _BUILT_IN:
            (directory / path.name).write_bytes(source.read())
        elif (name := path.name.removesuffix(".xz")).endswith(".ko"):
            data = source.read()
            module = directory / name
            module.write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
            modules[_module(name)] = module
    return modules


def _module(path: str) -> str:
    """A kernel calls module a-b a_b."""
    return PurePosixPath(path).stem.replace("-", "_")


def in_load_order(wanted: Iterable[str], modules: dict[str, Path]) -> list[Path]:
    """The wanted modules and all they depend on, each after its dependencies.

    TestbedError names a module that the package lacks.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        if name not in modules:
            raise TestbedError(
                f"the testbed's guest needs the kernel module {name}, which Debian's kernel "
                f"package lacks; {_OTHERWISE}"
            )
        match = re.search(rb"\0depends=([^\0]*)\0", modules[name].read_bytes())
        for other in match[1].decode().replace("-", "_").split(",") if match else ():
            if other:
                visit(other)
        order.append(name)

    for name in wanted:
        visit(name)
    return [modules[name] for name in order]


class _FormatError(ValueError):
    """A kernel image of another format; says in which way."""


def uncompressed(image: bytes, name: str) -> bytes:
    """The ELF kernel inside a bzImage; TestbedError if it is none that QEMU can enter."""
    try:
        kernel = _payload(image)
        _require_direct_entry(kernel)
    except (_FormatError, struct.error, IndexError, lzma.LZMAError, zlib.error) as error:
        raise TestbedError(
            f"expected in {name} a kernel image for x86-64, compressed with xz, gzip or zstd and "
            f"with a PVH entry, found another format ({error}); {_OTHERWISE}"
        ) from error
    return kernel


def _payload(image: bytes) -> bytes:
    if image[_BOOT_MAGIC : _BOOT_MAGIC + 4] != b"HdrS":
        raise _FormatError("it is no bzImage")
    start, length = struct.unpack_from("<II", image, _PAYLOAD)
    start += (image[_SETUP_SECTORS] + 1) * _SECTOR
    payload = image[start : start + length]
    # Behind the compressed data stands the size of the kernel, which two decompressors leave alone.
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        return _from_zstd(payload[:-4], *struct.unpack("<I", payload[-4:]))
    raise _FormatError(f"its compression, which begins with {payload[:4].hex()}, is unknown")


def _from_zstd(data: bytes, size: int) -> bytes:
    """Python knows zstd from 3.14 on; the library is there wherever dpkg is."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise _FormatError(f"it is compressed with zstd, and {error}") from error
    library.ZSTD_decompress.restype = ctypes.c_size_t
    kernel = ctypes.create_string_buffer(size)
    found = library.ZSTD_decompress(kernel, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if found != size:
        raise _FormatError(f"its zstd data does not give the {size} bytes that it names")
    return kernel.raw


def _require_direct_entry(kernel: bytes) -> None:
    if not kernel.startswith(b"\x7fELF\x02"):
        raise _FormatError("inside is no 64-bit ELF file")
    wanted = (b"Xen\0", _XEN_PHYS32_ENTRY)
    for kind, begin, length in segments(kernel):
        if kind == _PT_NOTE and wanted in _notes(kernel, begin, length):
            return
    raise _FormatError("it has no PVH entry")


def segments(elf: bytes) -> Iterator[tuple[int, int, int]]:
    """Type, offset and length of what the program headers of a 64-bit ELF file describe."""
    (table,) = struct.unpack_from("<Q", elf, 0x20)
    size, count = struct.unpack_from("<HH", elf, 0x36)
    for number in range(count):
        kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", elf, table + number * size)
        yield kind, begin, length


def _notes(kernel: bytes, begin: int, length: int) -> Iterator[tuple[bytes, int]]:
    position = begin
    while position + _NOTE.size <= begin + length:
        name_size, size, kind = _NOTE.unpack_from(kernel, position)
        position += _NOTE.size
        yield kernel[position : position + name_size], kind
        position += (name_size + 3) // 4 * 4 + (size + 3) // 4 * 4
