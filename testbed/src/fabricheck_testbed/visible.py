"""Which directories stay visible in every node although /tmp, /dev/shm and /run are private."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fabricheck_testbed import libc
from fabricheck_testbed.errors import TestbedError

# /tmp: mpi/pmix makes /tmp/spmix_appdir_<uid>_<job>.<step>, which collides when it is shared.
# /dev/shm: nodes must not reach each other's shared memory.
# /run: slurmd's spool with its sockets, under a short path.
PRIVATE_DIRECTORIES: Final = ("/tmp", "/dev/shm", "/run")  # noqa: S108


def shared_paths(shares: Iterable[Path]) -> list[Path]:
    """The paths given with ``--share``, absolute; TestbedError if one cannot be shared."""
    result = []
    for share in shares:
        path = share.expanduser().absolute()
        if not path.is_dir():
            raise TestbedError(f"--share {share}: expected a directory, found none there")
        if any(name in PRIVATE_DIRECTORIES for name in (str(path), str(path.resolve()))):
            raise TestbedError(
                f"--share {share}: {path} is private to each node; share a directory below it"
            )
        result.append(path)
    return result


def implied_paths(working_directory: Path) -> list[Path]:
    """What nodes need besides shares: working directory, its git checkout, Python, this package."""
    checkout = next(
        (
            parent
            for parent in (working_directory, *working_directory.parents)
            if (parent / ".git").exists()
        ),
        working_directory,
    )
    package = Path(__file__).resolve().parents[2]
    return [working_directory, checkout, Path(sys.prefix), Path(sys.base_prefix), package]


def paths_to_keep(wanted: Iterable[Path]) -> list[str]:
    """Of ``wanted``, the outermost ones below a private directory (others are visible anyway)."""
    both = {form for path in wanted for form in (path.absolute(), path.resolve())}
    return outermost(path for path in both if _below_private(path))


def outermost(paths: Iterable[Path]) -> list[str]:
    """Of ``paths``, those that are not below another one."""
    kept: list[Path] = []
    for path in sorted(paths):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return [str(path) for path in kept]


def is_visible(path: Path, kept: Iterable[str]) -> bool:
    """Whether ``path`` shows the same directory in the nodes as here."""
    path = path.resolve()
    if str(path) in PRIVATE_DIRECTORIES:
        return False
    return not _below_private(path) or is_below(path, kept)


def is_below(path: Path, directories: Iterable[str]) -> bool:
    """Whether ``path`` is one of ``directories`` or lies in one."""
    return any(path.resolve().is_relative_to(other) for other in directories)


def _below_private(path: Path) -> bool:
    return any(
        path.is_relative_to(private) and str(path) != private for private in PRIVATE_DIRECTORIES
    )


def make_private(keep: Iterable[str]) -> None:
    """In the caller's mount namespace: fresh private directories, with ``keep`` bound back."""
    # Descriptors reach the directories even when the fresh mounts hide their paths.
    held = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in keep]
    for directory in PRIVATE_DIRECTORIES:
        if Path(directory).is_dir():
            mode = "755" if directory == "/run" else "1777"
            libc.mount("tmpfs", directory, "tmpfs", data=f"mode={mode}")
    for path, descriptor in held:
        Path(path).mkdir(parents=True, exist_ok=True)
        libc.mount(f"/proc/self/fd/{descriptor}", path, None, libc.MS_BIND | libc.MS_REC)
        os.close(descriptor)
