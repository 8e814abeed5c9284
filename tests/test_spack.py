"""What can be said of the Spack files without Spack: paths, names and pins."""

import ast
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = yaml.safe_load((ROOT / "spack.yaml").read_text())["spack"]
REPOSITORY = ROOT / ENVIRONMENT["repos"]["fabricheck"]
SITES = sorted(path.name for path in (ROOT / "sites/spack").iterdir())


def test_own_repository_lies_where_its_namespace_says():
    repo = yaml.safe_load((REPOSITORY / "repo.yaml").read_text())["repo"]
    assert REPOSITORY.name == repo["namespace"]
    assert REPOSITORY.parent.name == "spack_repo"


@pytest.mark.parametrize("recipe", sorted(REPOSITORY.glob("packages/*/package.py")))
def test_recipe_has_the_class_that_its_directory_names(recipe):
    classes = [n.name for n in ast.parse(recipe.read_text()).body if isinstance(n, ast.ClassDef)]
    assert classes == ["".join(part.title() for part in recipe.parent.name.split("_"))]


def test_builtin_recipes_are_pinned():
    assert ENVIRONMENT["repos"]["builtin"]["tag"].startswith("v")


def test_developed_packages_are_recipes_with_sources_here():
    for name, place in ENVIRONMENT["develop"].items():
        assert (REPOSITORY / "packages" / name.replace("-", "_") / "package.py").is_file()
        assert (ROOT / place["path"]).is_dir()


def test_every_definition_is_used_and_every_use_defined():
    defined = {name for definition in ENVIRONMENT["definitions"] for name in definition}
    used = {name for name in defined if f"${name}" in str(ENVIRONMENT["specs"])}
    assert used == defined


@pytest.mark.parametrize("site", SITES)
def test_no_site_forbids_to_build_mpi_or_allows_a_ucx_without_infiniband(site):
    packages = yaml.safe_load((ROOT / "sites/spack" / site / "packages.yaml").read_text())[
        "packages"
    ]
    assert "mpi" not in packages
    ucx = str(packages["ucx"])
    assert all(variant in ucx for variant in ("+verbs", "+rc", "+ud", "+dc"))
