"""A new repository of private systems, which runs the suite as a dependency."""

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE

_TEMPLATE: Final = Path(__file__).with_name("site_repository")
_HIDDEN: Final = ("gitignore", "gitlab-ci.yml")


def write_repository(directory: Path) -> None:
    """Write the files of a repository; what its systems are, ``fabricheck site init`` asks.

    Args:
        directory: where, which must not exist or be empty.

    Raises:
        FabricheckError: if there is something already, or it can't be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise FabricheckError(
                f"expected an empty directory for a site repository, found files in {directory}: "
                "name another"
            )
        for name in ("sites", "references", "ci"):
            (directory / name).mkdir()
        for name in ("sites", "references"):
            (directory / name / ".gitkeep").touch()
        for path in filter(Path.is_file, _TEMPLATE.iterdir()):
            name = f".{path.name}" if path.name in _HIDDEN else path.name
            shutil.copy(path, directory / name)
        shutil.copy(SUITE / "ci" / "nightly.sh", directory / "ci")
        (directory / "requirements.txt").write_text(f"fabricheck=={version('fabricheck')}\n")
    except OSError as error:
        raise FabricheckError(
            f"expected to write a site repository into {directory}, found: {error.strerror}: name "
            "another directory, or give write permission"
        ) from error
