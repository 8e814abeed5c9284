"""What a person names is read, and a pipe on which nobody may ever write is not waited for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.inputs import read_file

pytestmark = pytest.mark.integration

PROGRAM = [sys.executable, "-m", "fabricheck"]


@pytest.mark.parametrize(
    "command",
    [("parse",), ("accept", "--sign", "Ada", "--comment", "c", "--record")],
)
def test_a_named_pipe_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.json").symlink_to("pipe")
    done = subprocess.run(
        [*PROGRAM, *command, tmp_path / "link.json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert f"expected a file at {tmp_path / 'link.json'}, found a named pipe" in done.stderr


def test_a_pipe_without_a_name_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"latency")
    os.close(writing)
    assert read_file(Path(f"/dev/fd/{reading}")) == b"latency"
    os.close(reading)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "absent")
    with pytest.raises(FabricheckError, match="found a named pipe"):
        os.mkfifo(tmp_path / "pipe")
        read_file(tmp_path / "pipe")
