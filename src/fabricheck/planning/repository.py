"""A new repository of private systems, which runs the suite as a dependency."""

import json
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE

_TEMPLATE: Final = Path(__file__).with_name("site_repository")
_INDEX: Final = """\
# No package index has fabricheck: a package of that name there is somebody else's. This is where it
# was installed from; put the wheel where all who use this repository find it, and its address here.
"""
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
                "FC0304 expected an empty directory for a site repository, found files in "
                f"{directory}: name another"
            )
        for name in ("sites", "references", "bin"):
            (directory / name).mkdir()
        for name in ("sites", "references"):
            (directory / name / ".gitkeep").touch()
        for path in filter(Path.is_file, _TEMPLATE.iterdir()):
            name = f".{path.name}" if path.name in _HIDDEN else path.name
            shutil.copy(path, directory / name)
        shutil.copy(SUITE / "bin" / "nightly.sh", directory / "bin")
        (directory / "requirements.txt").write_text(_requirement())
    except OSError as error:
        # Half of it would be refused as files of somebody at the next try.
        for made in directory.iterdir() if directory.is_dir() else ():
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        raise FabricheckError(
            f"FC0305 expected to write a site repository into {directory}, found: "
            f"{error.strerror}: name another directory, or give write permission"
        ) from error


def _requirement() -> str:
    """The line that installs this fabricheck again: no index has it, so that it is an address."""
    fabricheck = distribution("fabricheck")
    told = json.loads(fabricheck.read_text("direct_url.json") or "{}")
    hashes = told.get("archive_info", {}).get("hashes", {})
    digest = f"#sha256={hashes['sha256']}" if "sha256" in hashes else ""
    url = told.get("url", f"file:///PATH/OF/fabricheck-{fabricheck.version}-py3-none-any.whl")
    return f"{_INDEX}fabricheck[all] @ {url}{digest}\n"
