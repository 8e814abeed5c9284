"""The command line, started as a process does or as a test of one command does."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from fabricheck.cli import main
from fabricheck.cli.application import build
from fabricheck.errors import FabricheckError


@pytest.fixture
def fabricheck(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fabricheck", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err  # type: ignore[return-value]

    return run


def run(command: str, *arguments: str | Path) -> Result:
    """A command; its error is the test's."""
    result = CliRunner().invoke(build([command]), [command, *map(str, arguments)])
    if isinstance(result.exception, FabricheckError):
        raise result.exception
    return result
