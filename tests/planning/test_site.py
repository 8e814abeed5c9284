"""New sites are written from what the tools say, and told what they lack."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from tests.planning.test_detect import IBV_DEVINFO, UCX_INFO
from tests.refusals import refused
from typer.testing import CliRunner

from fabricheck import asking
from fabricheck.asking import MissingError, UnansweredError
from fabricheck.cli.application import build
from fabricheck.errors import FabricheckError
from fabricheck.node_health.alike import read_manifest
from fabricheck.nodes.told import SCRIPT
from fabricheck.planning.site_check import Effect, check
from fabricheck.planning.site_init import Facts, Hardware, gather, unmeasured, write
from fabricheck.provenance import SUITE
from fabricheck.sites.files import read

LSCPU = '{"lscpu": [{"field": "CPU(s):", "data": "64"}, {"field": "Thread(s) per core:", \
"data": "1"}, {"field": "Socket(s):", "data": "2"}]}'
SAID = {
    "sinfo": "compute|10|up|infinite|n[1-10]\n",
    "true": "",
    "ibv_devinfo": IBV_DEVINFO,
    "ucx_info": UCX_INFO,
    "lscpu": LSCPU,
    "spack": "openmpi ~cuda fabrics=ucx\nsome_other_mpi\nmvapich2 fabrics=nemesis\n",
    "srun": "MPI plugin types are...\n\tpmix\n\tpmi2\n",
    "mpicc.mpich": "gcc",
    "collect.sh": "told init c001 1.0\nend\n",
}
CARDS = """told init c001 86400.0
sys/class/infiniband/mlx5_0/fw_ver:22.39.2048
sys/class/infiniband/mlx5_0/board_id:MT_0000000359
sys/class/infiniband/mlx5_0/device/uevent:DRIVER=mlx5_core
sys/class/infiniband/mlx5_0/device/uevent:PCI_SLOT_NAME=0000:21:00.0
sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE
sys/class/infiniband/mlx5_0/ports/1/rate:100 Gb/sec (4X EDR)
sys/class/infiniband/mlx5_0/ports/1/link_layer:Ethernet
end
"""


SRUN = ("srun", "-N1")


def cluster(command: Sequence[str]) -> str:
    words = list(command)
    if words[0] == "srun":
        # A node has these programs; srun's own options come before them.
        words = [word for word in words[1:] if not word.startswith("-")] or ["srun"]
    if words[:2] == ["sh", "-c"]:
        words = words[2].split()
    if words[0] == "spack" and words[1:4] != ["-e", str(SUITE), "find"]:
        raise UnansweredError("outside the suite's environment Spack has another store")
    if words[0] == str(SCRIPT):
        words = ["collect.sh"]
    if words[0] not in SAID:
        raise MissingError(f"{words[0]} is not on PATH")
    return SAID[words[0]]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "sites").mkdir()
    return tmp_path


def test_a_cluster_becomes_a_site(suite: Path) -> None:
    path = suite / "sites" / "hpc.yaml"
    write(path, "hpc", gather(cluster, SRUN), "^login$")
    site = read(path)
    (partition,) = site["systems"][0]["partitions"]
    assert partition["access"] == ["--partition=compute"]
    assert partition["features"] == [
        *("tcp", "shm", "rdma"),
        *("nodes_1", "nodes_2", "nodes_4", "nodes_8"),
    ]
    assert partition["extras"] == {
        "fabric": "infiniband",
        "link_rate": 100.0,
        "ucx_net_devices": {"tcp": "eth0", "rdma": "mlx5_0:1"},
    }
    assert partition["processor"]["num_cpus"] == 64
    openmpi, ethernet, mpich, builtin = site["environments"]
    assert ethernet["extras"] == {
        "mpi_family": "mvapich2_nemesis",
        "pmi": "pmi2",
        "mpi_spec": "^mvapich2 fabrics=nemesis",
    }
    assert openmpi["features"] == ["mpi", "spack"]
    assert openmpi["extras"] == {"mpi_family": "openmpi", "pmi": "pmix", "mpi_spec": "^openmpi"}
    assert (mpich["cc"], mpich["extras"]["pmi"]) == ("mpicc.mpich", "pmi2")
    assert builtin["name"] == "builtin"


def test_of_several_interfaces_none_is_chosen(suite: Path) -> None:
    path = suite / "sites" / "hpc.yaml"
    several = Hardware(lanes={"tcp": {"lo", "eth0", "eno1"}})
    write(path, "hpc", Facts(hardware={"": several}), "x")
    assert "extras" not in read(path)["systems"][0]["partitions"][0]


def test_each_partition_is_asked_on_a_node_of_its_own(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "cpu|4|up|1-0|n[1-4]\nstress|2|up|1-0|n[3-4]\ngpu|2|up|1-0|g[1-2]\n"
    monkeypatch.setitem(SAID, "sinfo", said)

    def run(command: Sequence[str]) -> str:
        if "--partition=gpu" in command and "ibv_devinfo" in command:
            return ""
        if "--partition=stress" in command:
            raise UnansweredError("srun: error: Requested nodes are busy")
        return cluster(command)

    facts = gather(run, SRUN)
    path = suite / "sites" / "hpc.yaml"
    write(path, "hpc", facts, "^login$")
    cpu, gpu = read(path)["systems"][0]["partitions"]
    assert ("rdma" in cpu["features"], "rdma" in gpu["features"]) == (True, False)
    assert facts.missing[0] == (
        "partition stress, which is left out: srun: error: Requested nodes are busy"
    )
    assert [*unmeasured(facts)] == [
        "partition gpu: no active RDMA port with verbs was seen: nothing on InfiniBand or RoCE "
        "will be measured"
    ]
    assert "&id" not in path.read_text()
    assert [*unmeasured(gather(cluster, SRUN))] == [
        "partitions cpu and stress share n[3-4]: every case would run twice there: take one of "
        "them out of the file"
    ]


def nothing_but_the_first(command: Sequence[str]) -> str:
    if any(word.startswith("--partition") for word in command):
        raise UnansweredError("broken")
    return cluster(command)


@pytest.mark.parametrize(
    ("broken", "on_node", "said"),
    [
        ("sinfo", "srun -N1", "expected sinfo to list the partitions, found: broken: run it"),
        ("srun", "srun -N1 -p no", "expected 'srun -N1 -p no' to run a command on a node, f"),
        ("srum", "srum -N1", "expected 'srum -N1' to run a command on a node, found: broken"),
        ("none", "", "expected --on-node such as 'srun -N1', found '': each of the partitions c"),
        ("own", "srun -N1", "expected a partition, found partition compute, which is left out: br"),
    ],
)
def test_a_tool_that_fails_ends_with_its_last_words(
    suite: Path, monkeypatch: pytest.MonkeyPatch, broken: str, on_node: str, said: str
) -> None:
    def run(command: Sequence[str]) -> str:
        if command[0] == broken:
            raise UnansweredError("broken")
        return nothing_but_the_first(command) if broken == "own" else cluster(command)

    monkeypatch.setattr(asking, "ask", run)
    monkeypatch.setenv("FABRICHECK_SITES", str(suite))
    words = ["site", "init", "hpc", "--on-node", on_node]
    ended = CliRunner().invoke(build(["site"]), words)
    assert isinstance(ended.exception, FabricheckError)
    assert said in str(ended.exception)
    assert not list((suite / "sites").iterdir())


def test_one_machine_has_the_mpi_of_its_mpirun(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAID, "mpicc.openmpi", "gcc")
    monkeypatch.setitem(SAID, "mpirun", "mpirun (Open MPI) 4.1.4")
    monkeypatch.delitem(SAID, "spack")
    facts = gather(cluster, alone=True)
    path = suite / "sites" / "laptop.yaml"
    write(path, "laptop", facts, "^laptop$")
    openmpi, builtin = read(path)["environments"]
    assert (openmpi["name"], builtin["name"]) == ("openmpi", "builtin")
    assert ["OMPI_ALLOW_RUN_AS_ROOT", "1"] in openmpi["env_vars"]
    assert "MPI mpich: mpirun is openmpi's" in facts.missing


def test_a_machine_with_nothing_becomes_a_site_of_one_machine(suite: Path) -> None:
    path = suite / "sites" / "laptop.yaml"
    write(path, "laptop", Facts(), "^laptop$")
    (partition,) = read(path)["systems"][0]["partitions"]
    assert (partition["scheduler"], partition["features"]) == ("local", ["shm", "nodes_1"])


def test_a_manifest_has_the_cards_of_a_node_and_is_left_as_it_is(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAID, "collect.sh", CARDS)
    path = suite / "sites" / "hpc.yaml"
    write(path, "hpc", gather(cluster, SRUN), "^login$")
    (partition,) = read(path)["systems"][0]["partitions"]
    name = partition["extras"]["node_health"]["manifest"]
    assert name == "hpc.compute.manifest.json"
    assert read_manifest(path.with_name(name)) == {
        "": {"RDMA ports": "1"},
        "mlx5_0": {
            "board": "MT_0000000359",
            "firmware": "22.39.2048",
            "driver": "mlx5_core",
            "PCI address": "0000:21:00.0",
        },
        "mlx5_0:1": {"state": "ACTIVE", "link layer": "Ethernet", "rate": "100 Gb/sec"},
    }
    path.unlink()
    path.with_name(name).write_text("{}")
    write(path, "hpc", gather(cluster, SRUN), "^login$")
    assert path.with_name(name).read_text() == "{}", "somebody has looked through it"


def test_a_site_file_is_never_replaced(suite: Path) -> None:
    path = suite / "sites" / "hpc.yaml"
    path.write_text("mine")
    with refused("FC0311"):
        write(path, "hpc", Facts(), "x")
    assert path.read_text() == "mine"


def test_a_suite_without_sites_is_named(tmp_path: Path) -> None:
    with refused("FC0312"):
        write(tmp_path / "sites" / "hpc.yaml", "hpc", Facts(), "x")


@pytest.mark.parametrize(
    ("name", "hostname", "said"),
    [
        ("my cluster", "x", "a name of letters, digits"),
        ("../x", "x", "a name of letters, digits"),
        ("", "x", "a name of letters, digits"),
        ("x\n", "x", "a name of letters, digits"),
        ("n" * 101, "x", "a name of letters, digits"),
        ("hpc", "[", "regular expression of host names"),
        ("old", "x", "expected a system that no site file has, found old in .*laptop.yaml"),
    ],
)
def test_what_would_stop_other_commands_is_not_left_behind(
    suite: Path, name: str, hostname: str, said: str
) -> None:
    other = suite / "sites" / "laptop.yaml"
    write(other, "laptop", Facts(), "x")
    other.write_text(other.read_text().replace("laptop", "old"))
    with pytest.raises(FabricheckError, match=said):
        write(suite / "sites" / f"{name}.yaml", name, Facts(), hostname)
    assert [path for path in suite.rglob("*") if path.is_file()] == [other]


SITE = """
systems:
- {name: hpc, hostnames: [x], partitions: [{name: cpu, scheduler: local, launcher: mpirun,
   environs: [gnu], features: [shm, nodes_1, bound_ranks]}]}
environments:
- {name: gnu, cc: sh, features: [mpi], extras: {mpi_family: openmpi}, target_systems: [hpc]}
"""

ONE_HOST = {"hosts": ["n1"]}
STRESS = {"environ": "gnu", "placement": "shm-1n"}


def remarks(suite: Path, **changes: object) -> dict[str, Effect]:
    """What is said of SITE with keys of its partition (or of its environment) changed."""
    site = yaml.safe_load(SITE)
    for key, value in changes.items():
        partition, environment = site["systems"][0]["partitions"][0], site["environments"][0]
        place = environment if key.startswith("env_") else partition
        place[key.removeprefix("env_")] = value
    (suite / "sites" / "hpc.yaml").write_text(yaml.safe_dump(site))
    (suite / "references").mkdir(exist_ok=True)
    (suite / "references" / "hpc.yaml").write_text("rules: [{bound: [null, 1]}]\n")
    return {remark.words: remark.effect for remark in check(suite, "hpc")}


def test_a_complete_site_lacks_nothing(suite: Path) -> None:
    assert remarks(suite) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": ["rmda", "nodes_1", "bound_ranks"]}, "no check asks for the feature 'rmda'"),
        ({"features": ["shm", "bound_ranks"]}, "no feature nodes_N"),
        ({"features": ["ipoib", "nodes_2"]}, "names no interface for ipoib (such as ib0)"),
        ({"features": ["rc_cuda", "nodes_2"]}, "it offers rc_cuda without the feature gpu"),
        ({"features": ["nccl_ib", "nodes_2"]}, "it offers nccl_ib without the feature gpu"),
        ({"launcher": "srun-of-elsewhere"}, "srun-of-elsewhere is not on PATH"),
        ({"extras": {"link_shares": {"warning": 0.1}, "link_rate": 1}}, "expected link_shares"),
        ({"extras": {"fabric_health": {"bands": {"ecn": [2, 1]}}}}, "the warning not above"),
        ({"extras": {"topology": "gone.topology"}}, "gone.topology, but it can't be read"),
        ({"scheduler": "slrum"}, "ReFrame can't use it: failed to initialize partition 'hpc:cpu'"),
        ({"launcher": "mpirn"}, "no such launcher: 'mpirn'"),
        ({"scheduler": "flux"}, "ReFrame asks Flux for one task, whatever a case has"),
        ({"scheduler": "hosts"}, "expected the hosts of partition cpu of system hpc, found none"),
        ({"scheduler": "hosts", "extras": {**ONE_HOST, "remote_shell": "rush"}}, "rush is not on"),
        ({"scheduler": "hosts", "extras": {**ONE_HOST, "stress": STRESS}}, "no jobs that yield"),
        ({"processor": {"num_cpus": "many"}}, "ReFrame can't use it: could not validate"),
        ({"env_features": ["mpi", "gpu"]}, "no check asks for the feature 'gpu'"),
        ({"env_cc": "cc-of-elsewhere"}, "cc cc-of-elsewhere is not on PATH"),
        ({"env_features": ["mpi", "spack"]}, "it needs extras.mpi_spec"),
        ({"env_extras": {"mpi_family": "intelmpi"}}, "compilers need I_MPI_ROOT, and nothing sets"),
        ({"env_extras": {"mpi_family": "lam"}}, "mpi_family of environment gnu, found 'lam'"),
    ],
)
def test_what_fails_a_run_is_wrong(suite: Path, changes: dict[str, object], words: str) -> None:
    found = {said: effect for said, effect in remarks(suite, **changes).items() if words in said}
    assert list(found.values()) == [Effect.WRONG]


@pytest.mark.parametrize(
    "given", [{"env_modules": ["impi"]}, {"env_env_vars": [["I_MPI_ROOT", "/opt/mpi"]]}]
)
def test_a_module_or_a_variable_gives_intel_mpi_its_root(
    suite: Path, given: dict[str, object]
) -> None:
    said = remarks(suite, env_extras={"mpi_family": "intelmpi"}, **given)
    assert not any("I_MPI_ROOT" in words for words in said)


@pytest.mark.parametrize("store", ["", "/store"])
def test_spack_is_asked_for_where_its_environment_is_not_left_out(
    suite: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.setenv("A_STORE", store)
    monkeypatch.setattr("shutil.which", lambda name: None if name == "spack" else name)
    compilers = {"env_cc": sys.executable, "env_cxx": sys.executable}
    spack = {"env_features": ["mpi", "spack"], "env_prefix_variable": "A_STORE"}
    said = remarks(suite, **compilers, **spack)
    assert any("spack is not on PATH here" in words for words in said) == bool(store)


def test_an_mpi_below_srun_needs_its_pmi(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("srun", "sbatch"):
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = remarks(suite, scheduler="squeue", launcher="srun")
    (said,) = (words for words, effect in found.items() if effect is Effect.WRONG)
    assert "srun needs extras.pmi" in said


@pytest.mark.parametrize(
    ("extras", "words"),
    [
        ({}, "without extras.link_rate a port may come up slower unseen"),
        ({}, "without extras.fabric the link's headers"),
        ({}, "without extras.ucx_net_devices perftest takes the first card"),
        ({"fabric": "roce"}, "without extras.gid_index"),
    ],
)
def test_what_makes_a_run_see_less_is_told(
    suite: Path, extras: dict[str, object], words: str
) -> None:
    found = remarks(suite, features=["rdma", "nodes_2", "bound_ranks"], extras=extras)
    assert set(found.values()) == {Effect.WEAKER}
    assert any(words in said for said in found)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheduler": "squeue"}, "without the feature rdma nothing on InfiniBand or RoCE is"),
        ({"extras": {"gpus_per_node": 4}}, "extras.gpus_per_node is for the launcher srun"),
    ],
)
def test_what_a_scheduler_or_launcher_cannot_run_is_told(
    suite: Path, changes: dict[str, object], words: str
) -> None:
    found = [effect for said, effect in remarks(suite, **changes).items() if words in said]
    assert found == [Effect.WEAKER]


def test_gpus_that_no_job_asks_for_are_told(suite: Path) -> None:
    features = ["shm", "gpu", "cuda_ipc", "nodes_1", "bound_ranks"]
    (said,) = remarks(suite, features=features)
    assert "without extras.gpus_per_node jobs ask for no GPUs" in said
    (said,) = remarks(suite, features=features, extras={"gpus_per_node": 4})
    assert "jobs ask for no GPUs" not in said


def test_a_system_without_references_is_told(suite: Path) -> None:
    remarks(suite)
    (suite / "references" / "hpc.yaml").unlink()
    (remark,) = check(suite, "hpc")
    assert (remark.effect, "ends as no-reference" in remark.words) == (Effect.WEAKER, True)


def test_a_site_that_is_not_there_is_named(suite: Path) -> None:
    remarks(suite)
    with refused("FC0306", "there are hpc: use one of these"):
        check(suite, "hcp")
