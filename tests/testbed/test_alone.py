"""The package needs nothing but Python: its nodes and its guest have no more."""

import subprocess
import sys
from pathlib import Path

import pytest

import fabricheck_testbed

pytestmark = pytest.mark.integration
PACKAGE = Path(fabricheck_testbed.__file__).parent
# The command line is for people, on a machine with typer and rich.
FOR_PEOPLE = {"fabricheck_testbed.cli"}
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
} - FOR_PEOPLE


def imported(place: Path, modules: set[str]) -> str:
    """What Python says against the modules, without site-packages; nothing if all is well."""
    code = f"import sys; sys.path.insert(0, {str(place)!r}); import {', '.join(sorted(modules))}"
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_it_imports_nothing_but_pythons_own(tmp_path: Path) -> None:
    (tmp_path / "fabricheck_testbed").symlink_to(PACKAGE)
    assert imported(tmp_path, MODULES) == ""


@pytest.mark.parametrize("foreign", ["fabricheck.errors", "rich"])
def test_what_it_must_not_import_is_seen(tmp_path: Path, foreign: str) -> None:
    (tmp_path / "fabricheck_testbed").mkdir()
    (tmp_path / "fabricheck_testbed" / "__init__.py").write_text(f"import {foreign}\n")
    missing = foreign.partition(".")[0]
    assert f"No module named '{missing}'" in imported(tmp_path, {"fabricheck_testbed"})
