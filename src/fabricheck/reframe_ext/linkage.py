"""Which MPI a program is really linked to: a spec is a claim, not a fact."""

import re
import sys
from pathlib import Path

from fabricheck.asking import UnansweredError, ask
from fabricheck.errors import FabricheckError
from fabricheck.transports.families import MPIS

# MPI_Get_library_version may be called before MPI_Init (MPI 4.0, section 9.1.1), so that nothing
# is started. 8192 is MPICH's MPI_MAX_LIBRARY_VERSION_STRING; Open MPI's is 256.
_ASK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""


def check_mpi(program: Path, family: str) -> str:
    """The first line of what the MPI of a program says of itself, which must be of that family.

    The dynamic linker says which library it would load, and the library itself what it is: MPICH
    and MVAPICH share the name ``libmpi.so.12``.

    Raises:
        FabricheckError: if it is linked to another MPI or none, or a library is missing.
    """
    library = _mpi_library(program)
    version = _library_version(library)
    if not version.startswith(MPIS[family].printed):
        raise FabricheckError(
            f"FC0508 expected {program} to be linked to an MPI of the family {family}, found "
            f"{library}, which says {version!r}: correct the prefix or the compilers of that MPI "
            "in packages.yaml, and install again"
        )
    return version


def _mpi_library(program: Path) -> str:
    said = _ask(["ldd", str(program)], f"the libraries of {program}")
    if missing := re.findall(r"(\S+) => not found", said):
        raise FabricheckError(
            f"FC0509 expected every library of {program}, found no {', '.join(missing)}: install "
            "it, or install the program again"
        )
    match = re.search(r"\blibmpi(?:ch)?\.so\S* => (\S+)", said)
    if not match:
        raise FabricheckError(
            f"FC0510 expected {program} to be linked to an MPI, found none among its libraries "
            "(ldd): it was built without MPI's compiler wrapper"
        )
    return match[1]


def _library_version(library: str) -> str:
    version = _ask([sys.executable, "-c", _ASK, library], f"the version of {library}")
    # As mpi_probe prints it, so that the record has one name for one MPI.
    return next(iter(version.splitlines()), "").replace("\t", " ").rstrip()


def _ask(command: list[str], wanted: str) -> str:
    try:
        return ask(command)
    except UnansweredError as error:
        raise FabricheckError(
            f"FC0511 expected {wanted} from {command[0]}, found: {error}"
        ) from None
