"""A call of lab/simulate."""

from pathlib import Path

from typer.testing import CliRunner, Result

from fabricheck.errors import FabricheckError
from simulation.command import app


def simulate(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, FabricheckError):
        raise result.exception
    return result
