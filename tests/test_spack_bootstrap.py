"""ci/spack-bootstrap on a copy, with stand-ins for git and Spack: nothing is downloaded."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
COMMIT = "119680aeee8ea802c6111b7167583bddef97e82f"
GIT = f"""#!/bin/bash
echo "git $*" >>"$SAID"
case $1 in
  init) mkdir -p "${{@: -1}}" && cp -r "$STANDIN/bin" "${{@: -1}}" ;;
  -C) echo "${{COMMIT:-{COMMIT}}}" ;;
esac
"""
SPACK = """#!/bin/bash
echo "spack $*" >>"$SAID"
case $* in
  --version) echo "${VERSION:-1.1.1} (abc)" ;;
  *concretize*) echo made-here >spack.lock ;;
  *install*) [[ ! -e $STANDIN/broken ]] || { echo "==> Error: no space" >&2; exit 1; } ;;
esac
"""


def lock_of(gcc: str, prefix: str = "/usr") -> str:
    nodes = {
        "a": {"name": "gcc", "version": gcc, "external": {"path": prefix}},
        "b": {"name": "osu-micro-benchmarks", "version": "7.4"},
        "c": {"name": "zlib", "version": "1.3.1"},
    }
    return json.dumps({"concrete_specs": nodes})


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Checkout:
    """A copy of what ci/spack-bootstrap reads, with a site ``here``."""

    def __init__(self, place: Path) -> None:
        self.root = place / "checkout"
        shutil.copytree(ROOT / "ci", self.root / "ci")
        for name in ("spack.yaml", "requirements-spack.lock"):
            shutil.copy(ROOT / name, self.root)
        shell = "src/fabricheck/reframe_ext/spack.sh"
        (self.root / shell).parent.mkdir(parents=True)
        shutil.copy(ROOT / shell, self.root / shell)
        self.site = self.root / "sites/spack/here"
        self.site.mkdir(parents=True)
        (self.site / "packages.yaml").write_text("packages: {}\n")
        shutil.copytree(ROOT / "sites/spack/debian12", self.root / "sites/spack/debian12")
        self.here = self.root / "build/spack"
        # As it is after a first run: the test is not about pip.
        python = self.here / "python"
        program(python / "bin/python", "#!/bin/sh\n")
        shutil.copy(ROOT / "requirements-spack.lock", python / "lock")
        self.standin = place / "standin"
        program(self.standin / "bin/spack", SPACK)
        program(place / "bin/git", GIT)
        self._said = place / "said"

    def run(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        self._said.write_text("")
        return subprocess.run(
            ["ci/spack-bootstrap", *options],
            cwd=self.root,
            env={
                "PATH": f"{self.root.parent / 'bin'}:{os.environ['PATH']}",
                "SAID": str(self._said),
                "STANDIN": str(self.standin),
                **variables,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def said(self) -> list[str]:
        """What git and Spack were asked to do."""
        return self._said.read_text().splitlines()

    @property
    def mirrors(self) -> dict[str, dict[str, object]]:
        """Spack's mirrors, by their names."""
        found = yaml.safe_load((self.here / "config/mirrors.yaml").read_text())["mirrors"]
        assert isinstance(found, dict)
        return found

    def give_gcc(self, version: str) -> Path:
        program(self.root / "usr/bin/gcc", f"#!/bin/sh\necho {version}\n")
        return self.root / "usr"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_plan_says_what_is_downloaded_and_does_nothing(checkout: Checkout) -> None:
    (checkout.site / "spack.lock").write_text(lock_of("12.2.0", str(checkout.give_gcc("12.2.0"))))
    done = checkout.run("--site", "here", "--plan", "--build-cache", "file:///cache")
    assert done.returncode == 0, done.stderr
    for line in (
        "will download Spack 1.1.0 (2e907202bcc8209a6a62243aab50c179b524cc3b): https://github.com/spack/spack.git",
        "will download the recipes that spack.yaml names",
        "will take binaries from file:///cache where it has them, without a signature: trust who",
        "not built yet: 2 packages: osu-micro-benchmarks 7.4, zlib 1.3.1",
    ):
        assert line in done.stdout
    assert checkout.said == []


def test_the_plan_knows_what_is_in_the_padded_store(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.site / "spack.lock").write_text(lock_of("12.2.0", str(checkout.give_gcc("12.2.0"))))
    database = tmp_path / "store/__spack_path_placeholder__/__spack_path/.spack-db/index.json"
    database.parent.mkdir(parents=True)
    installs = {"b": {"installed": True}, "c": {"installed": False}}

    def planned() -> str:
        database.write_text(json.dumps({"database": {"installs": installs}}))
        return checkout.run("--site", "here", "--plan", "--store", str(tmp_path / "store")).stdout

    assert "not built yet: 1 packages: zlib 1.3.1" in planned()
    installs["c"]["installed"] = True
    assert "everything is built" in planned()


@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ("x86_64_v3", platform.machine() == "x86_64"),
        ("aarch64", platform.machine() == "aarch64"),
        (
            {"name": "neoverse_v2", "parents": ["neoverse_n1", "aarch64"]},
            platform.machine() == "aarch64",
        ),
        ("zen4", True),
    ],
)
def test_a_lock_file_of_another_architecture_does_not_fit(
    target: object, fits: bool, tmp_path: Path
) -> None:
    lock = tmp_path / "spack.lock"
    lock.write_text(
        json.dumps({"concrete_specs": {"a": {"name": "zlib", "arch": {"target": target}}}})
    )
    said = subprocess.check_output(
        [sys.executable, ROOT / "ci/spack_lock.py", "fits", lock], text=True
    )
    assert (said == "") is fits
    assert fits or f"and this machine is {platform.machine()}" in said


def test_a_lock_file_that_fits_is_installed(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.site / "spack.lock").write_text(lock_of("12.2.0", str(checkout.give_gcc("12.2.0"))))
    done = checkout.run("--site", "here", "--store", f"{tmp_path}/a store", "zlib")
    assert done.returncode == 0, done.stderr
    (fetched,) = (line for line in checkout.said if " fetch " in line)
    # A tag can be moved; the lock files name the commit that made them.
    for lock in (ROOT / "sites/spack").glob("*/spack.lock"):
        assert fetched.endswith(f".git {json.loads(lock.read_text())['spack']['commit']}")
    assert checkout.said[-1] == "spack -e . install --only-concrete zlib"
    assert not any("concretize" in line for line in checkout.said)
    assert (checkout.root / "spack.lock").read_text() == (checkout.site / "spack.lock").read_text()
    asked = ["bash", "-c", '. build/spack/env.sh; echo "$FABRICHECK_STORE"; command -v spack']
    told = subprocess.run(asked, cwd=checkout.root, capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == [f"{tmp_path}/a store", str(checkout.here / "bin/spack")]


def test_a_lock_file_of_another_machine_is_replaced_once(checkout: Checkout) -> None:
    (checkout.site / "spack.lock").write_text(lock_of("12.2.0", str(checkout.give_gcc("13.3.0"))))
    done = checkout.run("--site", "here")
    assert done.returncode == 0, done.stderr
    assert "gcc@12.2.0 is not at" in done.stdout
    assert "but 13.3.0" in done.stdout
    assert "spack -e . concretize --force" in checkout.said
    assert (checkout.root / "spack.lock").read_text() == "made-here\n"
    assert checkout.run("--site", "here").returncode == 0
    assert not any("concretize" in line for line in checkout.said)
    (checkout.site / "packages.yaml").write_text("packages: {all: {}}\n")
    assert checkout.run("--site", "here").returncode == 0
    assert "spack -e . concretize --force" in checkout.said


def test_after_a_failure_nothing_is_downloaded_twice(checkout: Checkout) -> None:
    (checkout.standin / "broken").touch()
    failed = checkout.run("--site", "here")
    assert failed.returncode == 2
    assert "==> Error: no space" in failed.stderr
    assert "installing failed with exit code 1" in failed.stderr
    (checkout.standin / "broken").unlink()
    again = checkout.run("--site", "here")
    assert again.returncode == 0
    assert "will download" not in again.stdout.replace("will download the recipes", "")
    assert not any(" fetch " in line or "concretize" in line for line in checkout.said)


def test_own_checkouts_and_mirrors_are_used(checkout: Checkout, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    (packages / "repos/spack_repo/builtin").mkdir(parents=True)
    (packages / ".git").mkdir()
    done = checkout.run(
        *("--site", "here", "--spack", str(checkout.standin), "--packages", str(packages)),
        *("--source-mirror", "file:///sources", "--build-cache", "file:///cache"),
    )
    assert done.returncode == 0, done.stderr
    assert not any(" fetch " in line for line in checkout.said)
    assert (checkout.here / "packages").resolve() == packages
    assert checkout.mirrors["fabricheck-sources"] == {
        "url": "file:///sources",
        "binary": False,
        "source": True,
    }
    assert checkout.mirrors["fabricheck-cache"]["url"] == "file:///cache"


def test_an_unpacked_release_of_the_recipes_is_refused_and_nothing_is_put_into_it(
    checkout: Checkout, tmp_path: Path
) -> None:
    packages = tmp_path / "packages"
    (packages / "repos/spack_repo/builtin").mkdir(parents=True)
    done = checkout.run("--site", "here", "--packages", str(packages))
    assert done.returncode == 2
    assert f"expected a git checkout of spack-packages in {packages}, found an unp" in done.stderr
    assert "git clone --depth 1 --branch v2025.11.0 https://" in done.stderr
    # What an earlier version linked before it failed.
    (checkout.here / "packages").symlink_to(packages)
    assert checkout.run("--site", "here").returncode == 0
    assert not (checkout.here / "packages").is_symlink()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], set()),
        (["--source-mirror", "file:///sources"], {"fabricheck-sources"}),
        (["--build-cache", "file:///cache"], {"fabricheck-cache"}),
    ],
)
def test_spack_is_given_a_mapping_of_mirrors(
    checkout: Checkout, options: list[str], names: set[str]
) -> None:
    """Spack refuses ``mirrors:`` with nothing after it."""
    assert checkout.run("--site", "here", *options).returncode == 0
    assert set(checkout.mirrors) == names


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        (["--sight", "here"], {}, "expected an option of these, found '--sight'"),
        (["--store"], {}, "expected a value after --store, found none"),
        (["--site", "mars"], {}, "expected a site of Spack (debian12 here), found 'mars'"),
        (["--spack", "/nowhere"], {}, "expected a checkout of Spack in /nowhere"),
        (["--packages", "/nowhere"], {}, "expected a checkout of spack-packages in /nowhere"),
        ([], {"VERSION": "0.23.1"}, "expected Spack 1.1 in "),
        ([], {"COMMIT": "0" * 40}, f"expected spack-packages at {COMMIT} in "),
    ],
)
def test_what_cannot_work_is_named(
    checkout: Checkout, options: list[str], variables: dict[str, str], message: str
) -> None:
    done = checkout.run("--site", "here", *options, **variables)
    assert done.returncode == 2
    assert message in done.stderr


def test_debian_packages_that_a_site_names_are_asked_for(checkout: Checkout) -> None:
    program(checkout.root.parent / "bin/dpkg-query", "#!/bin/sh\necho installed gfortran\n")
    done = checkout.run("--site", "debian12")
    assert done.returncode == 2
    assert "apt-get install --yes --no-install-recommends autoconf automake" in done.stderr
    assert "gfortran" not in done.stderr
    assert not any("clone" in line for line in checkout.said)
