"""A package that only an extra installs: its command names the extra, and reading asks for none."""

import subprocess
import sys

import pytest

from fabricheck.cli import guarded
from fabricheck.errors import EXTRAS

WITHOUT = f"""
import sys
for name in {sorted(EXTRAS)}:
    sys.modules[name] = None
from fabricheck.cli import main
main()
"""


@pytest.mark.parametrize("module", EXTRAS)
def test_a_missing_package_names_its_extra(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    def program() -> None:
        raise ModuleNotFoundError(f"No module named '{module}.x'", name=f"{module}.x")

    assert guarded(program) == 2
    said = capsys.readouterr().err
    assert f"pip install 'fabricheck[{EXTRAS[module]}]' [FC0110]" in said


def test_a_missing_module_of_ours_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    def program() -> None:
        raise ModuleNotFoundError("No module named 'fabricheck.warp'", name="fabricheck.warp")

    assert guarded(program) == 70
    assert "this is a fault of fabricheck" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    "arguments", [("parse", "--help"), ("judge", "--help"), ("history", "status", "--store", "no")]
)
def test_reading_asks_for_no_extra(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", WITHOUT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "FC0110" not in done.stderr
    assert done.returncode in (0, 2)
