"""ci/release: what a tag must have, and two builds that must be the same bytes."""

import importlib.util
import io
import json
import subprocess
import sys
import tarfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from fabricheck.provenance import SUITE

PROJECT = '[project]\nname = "tiny"\nversion = "{}"\n'
DATED = "# Changelog\n\n## [0.2.0] - 2026-11-25\n"


@pytest.fixture(scope="module")
def release() -> Any:
    loader = SourceFileLoader("release", str(SUITE / "ci" / "release"))
    specification = importlib.util.spec_from_loader("release", loader)
    assert specification
    module = importlib.util.module_from_spec(specification)
    loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "testbed").mkdir()
    for place in (tmp_path, tmp_path / "testbed"):
        (place / "pyproject.toml").write_text(PROJECT.format("0.2.0"))
    (tmp_path / "CHANGELOG.md").write_text(DATED)
    (tmp_path / "requirements.lock").write_text("# ours\nrich==15.0.0 \\\n    --hash=sha256:00\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "v0.2.0")
    return tmp_path


def git(place: Path, *words: str) -> None:
    subprocess.run(["git", "-C", place, *words], check=True, capture_output=True)


def commit(place: Path, tag: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(place, "add", "--all")
    git(place, *who, "commit", "--quiet", "--allow-empty", "--message=x")
    git(place, "tag", "--force", tag)


def test_archives_that_differ_in_times_and_owners_become_the_same(
    release: Any, tmp_path: Path
) -> None:
    settled = []
    for seconds in (1, 2):
        packed = tmp_path / f"{seconds}.tar.gz"
        with tarfile.open(packed, "w:gz") as files:
            for name in ("b", "a")[:: 1 if seconds == 1 else -1]:
                member = tarfile.TarInfo(name)
                member.mtime, member.uid, member.size = seconds, seconds, 1
                files.addfile(member, io.BytesIO(b"x"))
        settled.append(release.settled(packed, 7))
    assert settled[0] == settled[1]


def test_a_wheel_without_what_an_index_asks_for_is_refused(
    release: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with ZipFile(tmp_path / "x.whl", "w") as wheel:
        wheel.writestr("x-1.dist-info/METADATA", "Version: 1\nSummary: x\n\n")
    with pytest.raises(SystemExit):
        release.check_metadata("x.whl", (tmp_path / "x.whl").read_bytes(), "1")
    said = capsys.readouterr().err
    assert "metadata of x.whl with License-Expression, Requires-Python, Description" in said


@pytest.mark.integration
@pytest.mark.parametrize(
    "lacking",
    [
        ("pyproject.toml", PROJECT.format("0.3.0"), "expected one version in all pyproject.toml"),
        ("CHANGELOG.md", "## [0.2.0] - unreleased\n", "found '[0.2.0] - unreleased'"),
        ("CHANGELOG.md", "nothing\n", "found 'no version'"),
    ],
)
def test_a_tag_of_a_commit_that_is_not_ready_is_refused(
    release: Any, repository: Path, capsys: pytest.CaptureFixture[str], lacking: tuple[str, ...]
) -> None:
    file, text, said = lacking
    (repository / file).write_text(text)
    commit(repository, "v0.2.0")
    with pytest.raises(SystemExit):
        release.release(repository, "v0.2.0", tagged=True)
    assert said in capsys.readouterr().err


@pytest.mark.integration
def test_another_tag_than_the_version_is_refused(
    release: Any, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(repository, "v0.2.1")
    with pytest.raises(SystemExit):
        release.release(repository, "v0.2.1", tagged=True)
    assert "expected the tag v0.2.0" in capsys.readouterr().err


@pytest.mark.integration
def test_builds_that_differ_are_refused_and_else_parts_and_sums_are_listed(
    release: Any, repository: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(release, "build", lambda *_: {"tiny-0.2.0.tar.gz": b"same"})
    files = release.release(repository, "v0.2.0", tagged=True)
    bill = json.loads(files["fabricheck-0.2.0.cdx.json"])
    assert [each["purl"] for each in bill["components"]] == ["pkg:pypi/rich@15.0.0"]
    assert files["SHA256SUMS"].decode().count("\n") == 2
    built = iter((b"one", b"other"))
    monkeypatch.setattr(release, "build", lambda *_: {"tiny-0.2.0.tar.gz": next(built)})
    with pytest.raises(SystemExit):
        release.release(repository, "v0.2.0", tagged=True)
    assert "found others in tiny-0.2.0.tar.gz" in capsys.readouterr().err


@pytest.mark.lab
def test_this_commit_builds_twice_to_the_same_bytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SUITE / "ci" / "release", "HEAD", "--untagged", "--output", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    suffixes = sorted("".join(path.suffixes[-2:]) for path in tmp_path.iterdir())
    assert len([each for each in suffixes if each.endswith(".whl")]) == 2
    assert len([each for each in suffixes if each.endswith(".tar.gz")]) == 2
    assert (tmp_path / "SHA256SUMS").is_file()
