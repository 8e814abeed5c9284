"""Writing of a file whole or not at all."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from fabricheck.errors import FabricheckError

_NAME = 100
"""Characters of a name that its temporary file repeats."""


def write_whole(path: Path, text: str) -> None:
    """Write the text in UTF-8 to a temporary file beside ``path`` and rename it over ``path``.

    A symbolic link stays, and its target is written, unless another user could have laid it. A
    device or a pipe is written through: it is never replaced.

    Raises:
        FabricheckError: if that fails (no directory, no permission, disk full, neither a file nor
            a device); ``path`` is then as it was before, and no other file stays.
    """
    # UTF-8 has no half of a surrogate pair, which names that are no UTF-8 have.
    data = text.encode("utf-8", "backslashreplace")
    try:
        if _is_stream(path):
            _write_through(path, data)
        else:
            _replace(_target(path), data)
    except OSError as error:
        raise FabricheckError(
            f"FC2101 cannot write {path}: {error.strerror or error}; name a file in a directory "
            "that exists, is writable and has space"
        ) from error


def _target(path: Path) -> Path:
    """The file itself; OSError for a link that somebody else laid where all users may write."""
    if path.is_symlink():
        link, folder = path.lstat(), path.parent.stat()
        others = link.st_uid not in (os.geteuid(), folder.st_uid)
        if others and folder.st_mode & stat.S_IWOTH:
            raise OSError(0, "it is a link of another user in a directory where all may write")
    return path.resolve()


def _is_stream(path: Path) -> bool:
    """Whether there is a device or pipe, such as /dev/stdout; OSError for what takes no text."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return True
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    raise OSError(0, "it is neither a file nor a pipe")


def _write_through(path: Path, data: bytes) -> None:
    # Without the flag a pipe that nobody reads would be waited for.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:_NAME]}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
