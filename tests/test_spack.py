"""What can be said of the Spack files without Spack: paths, names and pins."""

import ast
import json
import platform
import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
import yaml

from fabricheck.transports.families import MPIS

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = yaml.safe_load((ROOT / "spack.yaml").read_text())["spack"]
REPOSITORY = ROOT / ENVIRONMENT["repos"]["fabricheck"]
SITES = sorted(path.name for path in (ROOT / "sites/spack").iterdir())
LOCKS = sorted((ROOT / "sites/spack").glob("*/spack.lock"))
DEFINITIONS = {name: value for each in ENVIRONMENT["definitions"] for name, value in each.items()}
# What `spack.yaml` and `packages.yaml` may hold, as far as it is used here (Spack 1.1).
ENVIRONMENT_KEYS = {
    *("include", "config", "repos", "concretizer", "toolchains", "definitions", "specs", "view"),
}
PACKAGE_KEYS = {"externals", "buildable", "require", "prefer", "variants"}
EXTERNAL_KEYS = {"spec", "prefix", "extra_attributes"}
# Debian's package of each external whose version can be asked for.
DEBIAN = {
    "gcc": "g++-12",
    "openmpi": "libopenmpi-dev",
    "mpich": "libmpich-dev",
    "ucx": "libucx-dev",
    "rdma-core": "libibverbs-dev",
    "pmix": "libpmix-dev",
    "munge": "munge",
    "hwloc": "libhwloc-dev",
    "numactl": "libnuma-dev",
    "libevent": "libevent-dev",
    "libpciaccess": "libpciaccess-dev",
    "pciutils": "libpci-dev",
    "libxml2": "libxml2-dev",
    "zlib": "zlib1g-dev",
    "openblas": "libopenblas-serial-dev",
    "cmake": "cmake",
    "gmake": "make",
    "pkgconf": "pkgconf",
    "perl": "perl",
    "m4": "m4",
    "autoconf": "autoconf",
    "automake": "automake",
    "libtool": "libtool",
    "bison": "bison",
    "flex": "flex",
}


def packages_of(site):
    return yaml.safe_load((ROOT / "sites/spack" / site / "packages.yaml").read_text())["packages"]


def roots():
    """The roots that spack.yaml names, each as one text."""
    found = []
    for entry in ENVIRONMENT["specs"]:
        if isinstance(entry, str):
            found += DEFINITIONS[entry.removeprefix("$")]
        else:
            (axes,) = entry.values()
            lists = [
                [each for name in axis for each in DEFINITIONS[name.removeprefix("$")]]
                for axis in axes
            ]
            found += [" ".join(combination) for combination in product(*lists)]
    return found


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


def test_every_definition_is_used_and_every_use_defined():
    used = {name for name in DEFINITIONS if f"${name}" in str(ENVIRONMENT["specs"])}
    assert used == set(DEFINITIONS)
    assert DEFINITIONS["mpis"] == [f"%{name}" for name in ENVIRONMENT["toolchains"]]


@pytest.mark.parametrize("site", SITES)
def test_no_site_forbids_to_build_mpi_or_allows_a_ucx_without_infiniband(site):
    packages = packages_of(site)
    assert "mpi" not in packages
    ucx = str(packages["ucx"])
    assert all(variant in ucx for variant in ("+verbs", "+rc", "+ud", "+dc"))


def test_the_site_with_gpus_asks_for_cuda_wherever_an_mpi_would_do_without():
    packages = packages_of("gpu")
    assert packages["all"]["variants"] == "cuda_arch=90"
    assert not packages["cuda"]["buildable"]
    for name in ("ucx", "openmpi", "mpich", "mvapich", "osu-micro-benchmarks"):
        assert "+cuda" in str(packages[name]["require"]), name
    assert "+gdrcopy" in packages["ucx"]["require"]


def test_every_mpi_family_has_its_toolchain():
    specs = [part["spec"] for parts in ENVIRONMENT["toolchains"].values() for part in parts]
    named = [
        re.match(r"%mpi=([a-z0-9]+)", spec)[1] + "_nemesis" * ("fabrics=nemesis" in spec)
        for spec in specs
    ]
    assert sorted(named) == sorted(name for name, mpi in MPIS.items() if mpi.spec)


def test_no_two_roots_of_a_benchmark_share_a_folder_of_the_view():
    benchmarks = ENVIRONMENT["view"]["benchmarks"]["projections"]
    # The first that fits is taken, and an MPI's name fits both builds of MVAPICH2.
    assert list(benchmarks) == ["^mvapich2 fabrics=nemesis", "^mpi"]
    assert benchmarks["^mvapich2 fabrics=nemesis"] != benchmarks["^mpi"]


def test_mvapich_has_the_variants_that_the_pinned_recipe_reads():
    recipe = (REPOSITORY / "packages/mvapich/package.py").read_text()
    assert ENVIRONMENT["repos"]["builtin"]["tag"] == "v2025.11.0", "is it still needed?"
    for name in ("ch3_rank_bits", "pmi_version"):
        assert f'variant("{name}"' in recipe
    for lock in LOCKS:
        specs = json.loads(lock.read_text())["concrete_specs"].values()
        (found,) = [each for each in specs if each["name"] == "mvapich"]
        assert found["namespace"] == REPOSITORY.name


def test_every_mpi_has_a_root_for_each_benchmark():
    benchmarks = ("osu-micro-benchmarks@7.4", "fabricheck-bench+mpi+verbs+blas")
    expected = {f"{name} %{chain}" for name in benchmarks for chain in ENVIRONMENT["toolchains"]}
    assert expected < set(roots())
    assert {root.split()[0].split("+")[0] for root in set(roots()) - expected} == {
        *("ucx", "perftest", "fabricheck-bench~mpi"),
    }


def test_only_known_keys_are_used():
    assert set(ENVIRONMENT) <= ENVIRONMENT_KEYS
    for site, (name, package) in ((s, item) for s in SITES for item in packages_of(s).items()):
        assert set(package) <= PACKAGE_KEYS, (site, name)
        for external in package.get("externals", []):
            assert {"spec", "prefix"} <= set(external) <= EXTERNAL_KEYS
            assert external["spec"].startswith(f"{name}@"), external
            assert re.fullmatch("(/[a-z0-9_-]+)+", external["prefix"]), external


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(DEBIAN))
def test_versions_of_debian_are_those_of_its_packages(name):
    (external,) = packages_of("debian12")[name]["externals"]
    claimed = re.match(r"[^@]+@([^ +~]+)", external["spec"])[1]
    if platform.freedesktop_os_release().get("VERSION_CODENAME") != "bookworm":
        pytest.skip("expected Debian 12, whose packages these are, found another system")
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", DEBIAN[name]],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        pytest.skip(f"expected Debian's package {DEBIAN[name]}, found it not installed")
    assert re.match(rf"(\d+:)?{re.escape(claimed)}\b", done.stdout)


def test_a_site_of_the_suite_names_a_root_of_spack():
    names = {
        re.match(r"%mpi=([a-z0-9]+)", c[0]["spec"])[1] for c in ENVIRONMENT["toolchains"].values()
    }
    for path in (ROOT / "sites").glob("*.yaml"):
        for environment in yaml.safe_load(path.read_text())["environments"]:
            spec = environment.get("extras", {}).get("mpi_spec")
            assert spec is None or re.split(r"[@ ]", spec.removeprefix("^"))[0] in names, path.name


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
class TestLock:
    def test_has_the_roots_of_the_environment(self, lock):
        found = [root["spec"] for root in json.loads(lock.read_text())["roots"]]
        assert sorted(map(_words, found)) == sorted(map(_words, map(_spelled_out, roots())))

    def test_every_root_has_the_mpi_that_it_asks_for(self, lock):
        content = json.loads(lock.read_text())
        for root in content["roots"]:
            if asked := re.search(r"mpi=([a-z0-9]+)", root["spec"]):
                below = content["concrete_specs"][root["hash"]]["dependencies"]
                assert asked[1] in [each["name"] for each in below]

    def test_fits_any_checkout(self, lock):
        """No path of the machine on which it was made; those of Debian are the same everywhere."""
        for node in json.loads(lock.read_text())["concrete_specs"].values():
            path = node.get("external", {}).get("path", "/usr")
            assert path.startswith(("/usr", "/opt/fabricheck/mpi/")), node["name"]
            assert "dev_path" not in node["parameters"]

    def test_every_ucx_has_infiniband(self, lock):
        nodes = json.loads(lock.read_text())["concrete_specs"].values()
        variants = [node["parameters"] for node in nodes if node["name"] == "ucx"]
        assert variants
        for each in variants:
            assert all(each[name] for name in ("verbs", "rc", "ud", "dc", "rdmacm"))


def _spelled_out(root):
    """A root with its toolchain in Spack's words."""
    name, _, chain = root.partition(" %")
    return f"{name} {ENVIRONMENT['toolchains'][chain][0]['spec']}" if chain else root


def _words(spec):
    """What a spec says, in an order that does not depend on how it is written."""
    words = spec.replace("%[when='%mpi'] mpi=", "%mpi=").split()
    return sorted("".join(sorted(word)) for word in words)


def test_a_build_by_spack_takes_no_library_by_chance():
    """What CMake would take where it finds it, the recipe decides."""
    sources = (ROOT / "src" / "bench").glob("*/CMakeLists.txt")
    found = {
        name for each in sources for name in re.findall(r"set\((\w+) AUTO CACHE", each.read_text())
    }
    recipe = (REPOSITORY / "packages" / "fabricheck_bench" / "package.py").read_text()
    assert {name for name in found if f'"{name}"' not in recipe} == set()
    assert {"FABRICHECK_BLAS", "FABRICHECK_GLOO"} <= found
    assert 'depends_on("openblas", when="+blas")' in recipe
    assert 'self.define("FABRICHECK_BLAS_VENDORS", "OpenBLAS")' in recipe


def test_the_version_that_made_the_lock_files_is_the_one_that_is_named():
    script = (ROOT / "ci" / "spack-bootstrap").read_text()
    (named,) = re.findall(r"^spack_version=(\S+)", script, re.MULTILINE)
    assert {json.loads(path.read_text())["spack"]["version"] for path in LOCKS} == {named}
