"""The programs and plugins that a testbed needs, and the Debian packages that bring them."""

import os
import shutil
from pathlib import Path
from typing import Final

from fabricheck_testbed.errors import TestbedError

# Debian keeps these out of the PATH of ordinary users.
SYSTEM_DIRECTORIES: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
PACKAGE_OF: Final = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
    "scontrol": "slurm-client",
    "srun": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "tc": "iproute2",
}
# What up --rdma needs besides.
GUEST_PACKAGE_OF: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "rdma": "iproute2",
}
GUEST_LIBRARY_PACKAGES: Final = {
    "libibverbs/librxe-rdmav34.so": "ibverbs-providers",
}
COMPILER: Final = "cc"
COMPILER_PACKAGE: Final = "gcc"
# Shared objects that slurmctld and slurmd load at run time, and that MPIs need to start.
LIBRARY_PACKAGES: Final = {
    "slurm-wlm/auth_munge.so": "slurm-wlm-basic-plugins",
    "slurm-wlm/mpi_pmix.so": "slurm-wlm-basic-plugins",
    "libpmi2.so.0": "libpmi2-0",
}
LIBRARY_DIRECTORY: Final = Path("/usr/lib")


def find_program(name: str) -> str | None:
    """The absolute path of a program, also where only root's PATH leads."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_DIRECTORIES])
    return shutil.which(name, path=path)


def find_library(name: str) -> Path | None:
    """A shared object below /usr/lib or its multiarch directory."""
    candidates = (LIBRARY_DIRECTORY / name, *LIBRARY_DIRECTORY.glob(f"*-linux-gnu*/{name}"))
    return next((path for path in candidates if path.exists()), None)


def require_programs(*, with_compiler: bool) -> dict[str, str]:
    """All programs with their paths; TestbedError names what is missing and how to install."""
    wanted = dict(PACKAGE_OF) | ({COMPILER: COMPILER_PACKAGE} if with_compiler else {})
    return _require("the testbed", wanted, LIBRARY_PACKAGES)


def require_guest_programs() -> dict[str, str]:
    """The same of what the testbed with RDMA devices needs besides, and of what its guest runs."""
    wanted = PACKAGE_OF | GUEST_PACKAGE_OF
    return _require("a testbed with --rdma", wanted, GUEST_LIBRARY_PACKAGES)


def _require(what: str, wanted: dict[str, str], libraries: dict[str, str]) -> dict[str, str]:
    found = {name: find_program(name) for name in wanted}
    missing = {name: wanted[name] for name, path in found.items() if path is None}
    missing |= {name: package for name, package in libraries.items() if not find_library(name)}
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise TestbedError(
            f"{what} needs {', '.join(missing)}, which this machine lacks: "
            f"apt-get install {packages}"
        )
    return {name: path for name, path in found.items() if path is not None}
