"""An MPI that pip has installed beside fabricheck."""

import base64
import hashlib
import sys
from pathlib import Path

import pytest

from fabricheck.sites.wheels import wheel_prefix

WRAPPER = b"#!/bin/sh\n"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prefix with two wheels of MPIs in it, of which ``mpione`` is whole."""
    packages = tmp_path / "lib" / "python3" / "site-packages"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpicc").write_bytes(WRAPPER)
    for name, text in (("mpione", WRAPPER), ("mpitwo", b"other")):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        told = packages / f"{name}-1.0.dist-info"
        told.mkdir(parents=True)
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (told / "RECORD").write_text(f"../../../bin/mpicc,sha256={digest},1\nmpione.py,,\n")
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    return tmp_path


def test_the_prefix_is_that_of_its_compiler(prefix: Path):
    assert wheel_prefix("mpione", "mpicc") == (str(prefix), "")


def test_a_wheel_that_another_mpi_has_overwritten_is_none(prefix: Path):
    found, why = wheel_prefix("mpitwo", "mpicc")
    assert found == ""
    assert why.endswith("mpicc is not that of the wheel mpitwo: give each MPI a venv of its own")


def test_a_compiler_that_is_gone_or_was_never_there_is_none(prefix: Path):
    assert wheel_prefix("mpione", "mpigcc") == ("", "the wheel mpione has no mpigcc")
    (prefix / "bin" / "mpicc").unlink()
    assert wheel_prefix("mpione", "mpicc")[0] == ""


def test_a_wheel_that_is_not_installed_is_named(prefix: Path):
    assert wheel_prefix("mpithree", "mpicc") == (
        "", f"the wheel mpithree is not installed in {sys.prefix}"
    )  # fmt: skip
