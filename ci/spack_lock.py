"""What a lock file of Spack asks of this machine, for ci/spack-bootstrap.

usage: ci/spack_lock.py fits LOCK            why it does not fit this machine; nothing if it does
       ci/spack_lock.py plan LOCK STORE      what is still to be built, one package a line
"""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Node = dict[str, Any]

_FARM = Path("/opt/fabricheck/mpi")
"""What ci/spack-bootstrap makes before it installs."""


def read_nodes(lock: Path) -> dict[str, Node]:
    """The packages of a lock file, by hash."""
    nodes: dict[str, Node] = json.loads(lock.read_text())["concrete_specs"]
    return nodes


_FAMILIES = ("x86_64", "aarch64", "ppc64le", "riscv64")


def _family(node: Node) -> str:
    """The architecture of a package by the name of the kernel; empty where its target hides it."""
    target = node.get("arch", {}).get("target", "")
    names = [target["name"], *target.get("parents", ())] if isinstance(target, dict) else [target]
    return next((each for each in _FAMILIES if any(n.startswith(each) for n in names)), "")


def misfits(lock: Path) -> Iterator[str]:
    """What the lock file takes to be here, and is not: the architecture, packages beside Spack."""
    for node in read_nodes(lock).values():
        if (family := _family(node)) not in ("", platform.machine()):
            yield f"it is for {family}, and this machine is {platform.machine()}"
        if not (external := node.get("external")):
            continue
        named = f"{node['name']}@{node['version']}"
        prefix = Path(external["path"])
        if prefix.is_relative_to(_FARM):
            continue
        if not prefix.is_dir():
            yield f"{named} is not at {prefix}"
        elif node["name"] == "gcc" and (found := _gcc_version(prefix)) != node["version"]:
            yield f"{named} is not at {prefix}, but {found or 'no gcc'}"


def _gcc_version(prefix: Path) -> str:
    try:
        asked = [str(prefix / "bin" / "gcc"), "-dumpfullversion"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def to_build(lock: Path, store: Path) -> list[str]:
    """Packages that are neither outside Spack nor in the store yet, as ``name version``."""
    installed = _installed(store)
    return sorted(
        f"{node['name']} {node['version']}"
        for key, node in read_nodes(lock).items()
        if "external" not in node and key not in installed
    )


def _installed(store: Path) -> set[str]:
    """Hashes of what is in a store, whose padding is folders of one name below each other."""
    database = next(store.glob("**/.spack-db/index.json"), None) if store.is_dir() else None
    if database is None:
        return set()
    installs = json.loads(database.read_text())["database"]["installs"]
    return {key for key, each in installs.items() if each["installed"]}


def main() -> None:
    """Answer one question about a lock file."""
    match sys.argv[1:]:
        case ["fits", lock]:
            answer = sorted(set(misfits(Path(lock))))
        case ["plan", lock, store]:
            answer = to_build(Path(lock), Path(store))
        case _:
            sys.exit(__doc__)
    sys.stdout.writelines(f"{line}\n" for line in answer)


if __name__ == "__main__":
    main()
