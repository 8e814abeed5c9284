"""Tell whether this Python has exactly the versions that a lock file names.

Usage: python ci/check_lock.py LOCK_FILE; exit code 0: all there, 1: not, each difference on a line.
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement


def differences(lock_file: Path) -> list[str]:
    """Each requirement that applies to this machine and is missing or of another version."""
    found = []
    for line in lock_file.read_text().splitlines():
        if not line or line[0] in "# ":
            continue
        requirement = Requirement(line.removesuffix("\\"))
        if requirement.marker and not requirement.marker.evaluate():
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            found.append(f"{requirement.name}: expected {requirement.specifier}, found none")
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            found.append(f"{requirement.name}: expected {requirement.specifier}, found {installed}")
    return found


if __name__ == "__main__":
    lines = differences(Path(sys.argv[1]))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.exit(bool(lines))
