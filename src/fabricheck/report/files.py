"""Writing of a file whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from fabricheck.errors import FabricheckError


def write_whole(path: Path, text: str) -> None:
    """Write the text in UTF-8 to a temporary file beside ``path`` and rename it over ``path``.

    Raises:
        FabricheckError: if that fails (no directory, no permission, disk full); ``path`` is then
            as it was before.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise _cannot_write(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise _cannot_write(path, error) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> FabricheckError:
    return FabricheckError(
        f"cannot write {path}: {error.strerror or error}; "
        "name a file in a directory that exists, is writable and has space"
    )
