"""Site files of several directories."""

from pathlib import Path

import pytest
from tests.sites import minimal

from fabricheck.sites.files import nearest, read_sites


def names(*directories: Path) -> list[str]:
    found = read_sites(directories).read.values()
    return [system["name"] for site in found for system in site["systems"]]


def place(root: Path, name: str, **files: str) -> Path:
    directory = root / name
    directory.mkdir()
    for system, text in files.items():
        (directory / f"{system}.yaml").write_text(text)
    return directory


def test_a_broken_file_is_left_out_and_told(tmp_path: Path) -> None:
    one = place(tmp_path, "one", a=minimal.site("a", ""), b="systems: }")
    found = read_sites([one])
    assert names(one) == ["a"]
    assert "b.yaml" in str(found.broken[one / "b.yaml"])


def test_the_nearest_directory_has_a_system(tmp_path: Path) -> None:
    near = place(tmp_path, "near", a=minimal.site("a", "trend: {new_days: 3}\n"))
    far = place(tmp_path, "far", a=minimal.site("a", ""), b=minimal.site("b", ""))
    found = read_sites([near, far])
    assert names(near, far) == ["a", "b"]
    assert found.read[near / "a.yaml"]["trend"] == {"new_days": 3}
    assert found.broken == {}
    assert nearest([near, far], "b.yaml") == far / "b.yaml"
    assert nearest([near, far], "c.yaml") == near / "c.yaml"


@pytest.mark.parametrize(
    ("name", "text", "lost"),
    [
        ("a", minimal.site("a", "night: {budget: {wall: -1h}}"), ["a"]),
        ("mine", minimal.site("a").replace("local", "slrum, max_jobs: oops"), ["a"]),
        ("a", "systems: }", ["a"]),
        ("mine", "systems:\n  - 'name' : 'a'\n  }", ["a"]),
        ("c", "systems: }", []),
    ],
)
def test_a_mistake_in_a_near_file_runs_no_other_system_of_that_name(
    tmp_path: Path, name: str, text: str, lost: list[str]
) -> None:
    near = place(tmp_path, "near", **{name: text})
    far = place(tmp_path, "far", a=minimal.site("a", ""), b=minimal.site("b", ""))
    assert names(near, far) == [each for each in ("a", "b") if each not in lost]
    assert list(read_sites([near, far]).broken) == [near / f"{name}.yaml"]


def test_a_system_of_two_files_is_nobodys(tmp_path: Path) -> None:
    one = place(tmp_path, "one", a=minimal.site("a", ""), copy=minimal.site("a", ""))
    assert names(one) == []
    assert len(read_sites([one]).broken) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[x]", "['a{99999999999}']", "hostnames > 1: expected a regular expression of host names"),
        (
            "\n\n",
            "\nnight: {budget: {wall: 1h}, weight: {latency: 1.0e+308}}\n",
            "a weight from 0.001",
        ),
        (
            "\n\n",
            "\nnight: {budget: {wall: 1h}, weight: {latency: 1.0e-308}}\n",
            "a weight from 0.001",
        ),
    ],
)
def test_what_no_number_can_hold_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    one = place(tmp_path, "one", a=minimal.site("a").replace(old, new))
    (error,) = read_sites([one]).broken.values()
    assert said in str(error)


@pytest.mark.parametrize(
    ("features", "container", "said"),
    [
        (
            "[mpi, spack]",
            "{platform: Apptainer, image: a.sif}",
            "extras > container: expected environment in in a container without the feature spack",
        ),
        ("[mpi]", "{platform: Podman, image: a}", "platform: expected one of Apptainer, Docker"),
        ("[mpi]", "{platform: Apptainer}", "image"),
        ("[mpi]", "{platform: Apptainer, image: a, mount: [/x]}", "mount"),
    ],
)
def test_a_container_that_cannot_be_is_refused(
    tmp_path: Path, features: str, container: str, said: str
) -> None:
    environment = (
        f"{{name: in, target_systems: [a], cc: mpicc, cxx: mpicxx, features: {features}, "
        f"extras: {{mpi_family: openmpi, container: {container}}}}}"
    )
    text = minimal.site("a").replace("environments: []", f"environments: [{environment}]")
    (error,) = read_sites([place(tmp_path, "one", a=text)]).broken.values()
    assert said in str(error)
