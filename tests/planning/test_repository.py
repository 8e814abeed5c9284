"""A wheel and a repository of private systems, as docs/how-to/private-sites.md has it."""

import errno
import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.planning import repository
from fabricheck.planning.repository import write_repository
from fabricheck.provenance import SUITE

COMMANDS = """\
fabricheck init our-systems
. our-systems/setup-env.sh
fabricheck site init mycluster --alone
reframe --system=mycluster --dry-run"""
"""Behind ``pip install``."""


def test_a_repository_is_written_once(tmp_path: Path) -> None:
    place = tmp_path / "our"
    write_repository(place)
    found = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert {".gitignore", ".gitlab-ci.yml", "bin/nightly.sh", "setup-env.sh"} <= found
    assert os.access(place / "bin" / "nightly.sh", os.X_OK)
    with refused("FC0304"):
        write_repository(place)


def test_the_requirement_is_an_address_and_no_name_of_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, object] = {}

    class Installed:
        version = "0.1.0"

        def read_text(self, _: str) -> str | None:
            return json.dumps(told) if told else None

    monkeypatch.setattr(repository, "distribution", lambda _: Installed())
    assert requirement(tmp_path / "none") == (
        "fabricheck[all] @ file:///PATH/OF/fabricheck-0.1.0-py3-none-any.whl"
    )
    told |= {"url": "file:///a/f.whl", "archive_info": {"hashes": {"sha256": "0a"}}}
    assert requirement(tmp_path / "wheel") == "fabricheck[all] @ file:///a/f.whl#sha256=0a"


def requirement(place: Path) -> str:
    write_repository(place)
    return (place / "requirements.txt").read_text().splitlines()[-1]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    place = tmp_path / "our"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with refused("FC0305", "No space left on device"):
            write_repository(place)
    write_repository(place)


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]


def wheel_of_suite(place: Path) -> Path:
    """The suite as a wheel."""
    tree = place / "tree"
    tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(tracked, cwd=SUITE, check=True, capture_output=True).stdout
    tree.mkdir()
    copy = ["xargs", "-0", "cp", "--parents", f"--target-directory={tree}"]
    subprocess.run(copy, cwd=SUITE, check=True, input=names)
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", place, tree]
    subprocess.run(build, check=True)
    (wheel,) = place.glob("*.whl")
    return wheel


def installed(place: Path) -> Path:
    """Programs of an environment with the suite as a wheel, and what it needs from ours."""
    wheel = wheel_of_suite(place)
    venv.create(place / "venv", symlinks=True)
    programs = place / "venv" / "bin"
    python = programs / "python"
    subprocess.run(
        [*PIP, f"--python={python}", "install", "--no-deps", "--no-index", "--no-compile", wheel],
        check=True,
    )
    packages = next((place / "venv").glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    reframe = (Path(sys.executable).parent / "reframe").read_text().splitlines()
    (programs / "reframe").write_text("\n".join([f"#!{python}", *reframe[1:]]) + "\n")
    (programs / "reframe").chmod(0o755)
    return programs


@pytest.mark.integration
def test_from_a_wheel_to_the_dry_run_of_a_private_site_it_is_five_commands(tmp_path: Path) -> None:
    page = (SUITE / "docs" / "how-to" / "private-sites.md").read_text()
    assert COMMANDS in page
    programs = installed(tmp_path)
    done = subprocess.run(
        # The cases of one check tell as much as all.
        ["bash", "-e", "-c", f"{COMMANDS} --name=MpiStartup"],
        cwd=tmp_path,
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failure(s)" in done.stdout
    assert "MpiStartup" in done.stdout
    place = tmp_path / "our-systems"
    assert (place / "sites" / "mycluster.yaml").is_file()
    assert (place / "reports").is_dir()
    assert not list(programs.parent.rglob("suite/reports"))
