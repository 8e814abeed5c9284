"""A folder with a benchmark of one's own, that runs and is judged as it is written."""

import re
from keyword import iskeyword
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.measures.registry import CHECKS, FAMILIES, FOLDERS, REGISTRY

_TEMPLATE: Final = Path(__file__).with_name("new_benchmark")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{1,40}", re.ASCII)


def write_benchmark(directory: Path, name: str) -> Path:
    """Write the folder of a benchmark: a small MPI program, what it is, its reader and its check.

    Args:
        directory: where the folder is made.
        name: of the benchmark, its family, program and folder.

    Returns:
        The folder.

    Raises:
        FabricheckError: if the name can't be one, or is taken, or there is such a folder.
    """
    if not _NAME.fullmatch(name):
        raise FabricheckError(
            "FC0954 expected a name of small letters, digits and '_' that begins with a letter, "
            f"found {name!r}: choose another"
        )
    check = "".join(map(str.capitalize, name.split("_")))
    if iskeyword(name) or iskeyword(check) or check in CHECKS or {name} & {
        *REGISTRY, *FAMILIES, *FOLDERS
    }:  # fmt: skip
        raise FabricheckError(
            "FC0955 expected a name that no benchmark, program, check or word of Python has, found "
            f"{name}: choose another"
        )
    folder = directory / name
    words = {"@NAME@": name, "@CLASS@": check}
    try:
        folder.mkdir(parents=True)
        for path in sorted(filter(Path.is_file, _TEMPLATE.iterdir())):
            text = path.read_text("utf-8")
            for mark, word in words.items():
                text = text.replace(mark, word)
            own = f"{name}.c" if path.name == "program.c" else path.name.removesuffix(".txt")
            (folder / own).write_text(text, "utf-8")
    except OSError as error:
        raise FabricheckError(
            f"FC0956 expected to make the folder {folder}, found: {error.strerror}: choose another "
            "directory or name"
        ) from error
    return folder
