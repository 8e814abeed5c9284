"""Site files: what is wrong is named with its line, its key and what to do."""

import json
import re
import runpy
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import BANDS
from fabricheck.provenance import SUITE
from fabricheck.sites.extras import PartitionExtras
from fabricheck.sites.files import features_of, read, site_schema

SITE = """\
systems:
  - name: hpc
    hostnames: ['^login']
    partitions:
      - name: cpu
        scheduler: squeue
        launcher: srun
        environs: [openmpi]
        features: [rdma, nodes_2]
        extras:
          link_rate: 100
          ucx_net_devices: {rdma: 'mlx5_0:1'}
environments:
  - name: openmpi
    cc: mpicc
    features: [mpi]
    extras: {mpi_family: openmpi, pmi: pmix}
    target_systems: [hpc]
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "hpc.yaml"
        path.write_text(text)
        return path

    return write


def test_a_site_that_is_right_is_read(written: Callable[[str], Path]) -> None:
    site = read(written(SITE))
    assert site["systems"][0]["partitions"][0]["extras"]["link_rate"] == 100


@pytest.mark.parametrize("path", sorted((SUITE / "sites").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_shipped_sites_are_right(path: Path) -> None:
    assert [system["name"] for system in read(path)["systems"]] == [path.stem]


PARTITION = "systems > hpc > partitions > cpu"


EXTRAS = [
    (
        "link_rat: 100",
        f"{PARTITION} > extras > link_rat: unknown key 'link_rat': did you mean 'link_rate'?",
    ),
    (
        "link_rate: fast",
        f"{PARTITION} > extras > link_rate: expected a number of Gbit/s above 0, found 'fast'",
    ),
    ("ports: []", "expected a list of ports of a node, each once, found []"),
    (
        "ports: [mlx5_0]",
        "a port such as mlx5_3:1, netdev=ens3, pci=0000:41:00.0 or gid=fd00:3::/64",
    ),
    ("ports: ['mlx5_0:1', 'mlx5_0:1']", "expected a list of ports of a node, each once"),
    ("link_rate: 0", "a number of Gbit/s above 0, found 0"),
    ("fabric: myrinet", "infiniband, roce or ethernet, found 'myrinet'"),
    ("node_health: strict", "node_health: expected names and values"),
    ("node_health: {memlok: 1}", "did you mean 'memlock'"),
    ("node_health: {versions: {ucx: 1.12}}", "a version in quotes, such"),
    ("node_health: {versions: {ucx: new}}", "a version in quotes, such"),
    ("node_health: {memlock: all}", "'unlimited' or a number of bytes"),
    ("node_health: {memlock: -1}", "'unlimited' or a number of bytes"),
    ("node_health: {transparent_hugepages: [some]}", "one of always, mad"),
    ("node_health: {hugepages: {2M: 1}}", "a size such as 2MiB, found"),
    ("node_health: {governor: ''}", "governor: expected text, found ''"),
    ("node_health: {numa_distance: true}", "a whole number, 0 or more"),
    ("node_health: {mtu: 9000}", "a mapping of interfaces to bytes"),
    ("node_health: {clock_skew: 0}", "a number of seconds above 0"),
    ("fabric_health: {mtus: 1}", "did you mean 'mtu'"),
    ("fabric_health: {mtu: true}", "a whole number, 0 or more"),
    ("fabric_health: {ignore: x}", "a list of counters, found 'x'"),
    ("fabric_health: {bands: {enc: [1, 2]}}", "did you mean 'ecn'"),
    ("fabric_health: {bands: {ecn: [1]}}", "[warning, critical], each"),
    ("fabric_health: {bands: {ecn: ['1', 2]}}", "a number or null"),
    ("gid_index: -1", "expected a whole number of 0 to 255, found -1"),
    ("gid_index: '3'", "expected a whole number of 0 to 255, found '3'"),
    ("service_level: true", "a whole number of 0 to 15, found True"),
    ("pkey: 0", "a whole number of 1 to 0xffff, found 0"),
    ("pkey: '0x8001'", "a whole number of 1 to 0xffff, found '0x8001'"),
    ("link_shares: {good: 0.9}", "unknown key 'good': known are warning"),
    ("allocation: {nodes: 2}", "the keys time, found none: add them"),
    ("service_level: 16", "a whole number of 0 to 15, found 16"),
    ("pkey: 0x1ffff", "a whole number of 1 to 0xffff, found 131071"),
    ("max_pending_time: ''", "expected a time such as 10m, found ''"),
    ("pin: block", "expected one of cyclic, found 'block'"),
]
SECTIONS = [
    ("nodes: []", "unknown key 'nodes'"),
    ("systems_: null", "unknown key 'systems_'"),
    ("trend: {alarms: 1}", "unknown key 'alarms': did"),
    ("trend: text", "trend: expected names and numbers"),
    ("acceptance: {pairs: 2}", "from 3 to 1000, found 2"),
    ("night: {always: [rc]}", "night"),
    ("night: {}", "night"),
    ("night: {nodes: {}}", "at_least_every"),
    ("night: {nodes: {at_least_every: 0}}", "a whole number of nights, 1 to 90"),
    ("night: {budget: {}}", "night > budget: expected node_h"),
    ("night: {budget: {wall: soon}}", "a time such as 10m"),
    ("night: {budget: {node_hours: 0}}", "a number above 0"),
    ("night: {budget: {wall: 1h}, at_least_every: {rc: 0}}", "a whole number of nights, 1 to 90"),
    ("night: {budget: {wall: 1h}, after_change: {firmwar: [rc]}}", "firmwar"),
]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        *(("link_rate: 100", new, 11, message) for new, message in EXTRAS),
        *(("environments:", f"{new}\nenvironments:", 13, message) for new, message in SECTIONS),
        (
            "scheduler: squeue",
            "schedular: squeue",
            6,
            f"{PARTITION} > schedular: unknown key 'schedular': did you mean 'scheduler'? known",
        ),
        (
            "launcher: srun",
            "launcher: srun\n        time_limit: soon",
            8,
            "a time such as 10m, found",
        ),
        ("{rdma: 'mlx5_0:1'}", "{rdma: 1}", 12, "ucx_net_devices > rdma: expected text, found 1"),
        (
            "{rdma: 'mlx5_0:1'}",
            "{dc: 'mlx5_0:1'}",
            12,
            "unknown key 'dc': known are tcp, ipoib, rdma",
        ),
        (
            "features: [rdma,",
            "features: rdma #",
            9,
            "expected a list of features, each once, found 'rdma'",
        ),
        ("        launcher: srun\n", "", 5, "expected the keys launcher, found none: add them"),
        ("{mpi_family: openmpi,", "{family: openmpi,", 17, "unknown key 'family'"),
        ("    hostnames: ['^login']\n", "    hostnames: []\n", 3, "regular expressions of host"),
        ("['^login']", "['[']", 3, "expected a regular expression of host names, found '['"),
        ("features: [mpi]", 'features: ["mpi\\n"]', 16, "found 'mpi\\n'"),
        ("nodes_2]", "nodes-2]", 9, "expected a name of letters, digits and '_', found 'nodes-2'"),
        ("environs: [openmpi]", "environs: [openmpi, openmpi]", 8, "a list of names, each once"),
        ("    cc: mpicc\n", "    prefix_variable: MPI\n", 14, "expected the keys cc, cxx beside"),
        ("name: hpc", "name: [hpc]", 2, "systems > 1 > name: expected a name of letters"),
    ],
)
def test_what_is_wrong_is_named(
    written: Callable[[str], Path], old: str, new: str, line: int, message: str
) -> None:
    assert old in SITE
    path = written(SITE.replace(old, new))
    with pytest.raises(FabricheckError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: line {line}: ")
    assert message in str(caught.value)
    assert str(caught.value).endswith("see docs/reference/sites.md")


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("environments:\n", "  - {name: hpc, hostnames: [x], partitions: [", 13, "a system"),
        ("environments:\n", "      - {name: cpu, ", 13, "a partition"),
        (
            "    target_systems: [hpc]",
            "    target_systems: [hpc]\n  - {name: openmpi, ",
            19,
            "an env",
        ),
    ],
)
def test_two_of_one_name_are_named(
    written: Callable[[str], Path], old: str, new: str, line: int, what: str
) -> None:
    rest = {
        "a system": "{name: a, scheduler: local, launcher: local, environs: []}]}\nenvironments:\n",
        "a partition": "scheduler: local, launcher: local, environs: []}\nenvironments:\n",
        "an env": "target_systems: [hpc]}",
    }
    path = written(SITE.replace(old, new + rest[what]))
    with refused("FC0102", f"line {line}: .*expected {what}.* of one name once"):
        read(path)


def test_one_name_may_stand_for_an_installation_on_each_system(
    written: Callable[[str], Path],
) -> None:
    more = "  - {name: openmpi, target_systems: ['hpc:gpu']}\n"
    assert len(read(written(SITE + more))["environments"]) == 2


def test_an_environment_that_nobody_describes_is_named(written: Callable[[str], Path]) -> None:
    with refused("FC0102", r"system hpc \(openmpi\) in partition cpu, .*'mpich'"):
        read(written(SITE.replace("[openmpi]\n        features", "[mpich]\n        features")))


@pytest.mark.parametrize("text", ["- 1\n", "systems: []\n", "", "systems: null\n"])
def test_a_file_that_is_no_site_is_named(written: Callable[[str], Path], text: str) -> None:
    with refused("FC0201"):
        read(written(text))


@pytest.mark.parametrize("text", ["systems: [\n", "\0"])
def test_a_file_that_is_no_yaml_is_named(written: Callable[[str], Path], text: str) -> None:
    with pytest.raises(FabricheckError, match="expected a site file in YAML"):
        read(written(text))


def test_the_examples_of_the_page_are_sites(written: Callable[[str], Path]) -> None:
    page = (SUITE / "docs" / "reference" / "sites.md").read_text()
    examples = re.findall(r"^ *```yaml\n(.*?)^ *```", page, re.DOTALL | re.MULTILINE)
    names = [read(written(textwrap.dedent(each)))["systems"][0]["name"] for each in examples]
    assert names == ["mycluster"]


def test_extras_are_read_by_name() -> None:
    """Where a mapping is asked for a key, a misspelt one is a default, and mypy sees nothing."""
    raw = re.compile(
        r"""extras"?[\])]*(\.get\(|\.items\(|\[["'])|["']\w+["'] (not )?in (\w+\.)*extras\b"""
        r"""|extras: (Mapping|dict)\b"""
    )
    found = [
        f"{path}:{number}: {line.strip()}"
        for root in ("src/fabricheck", "checks", "ci", "lab")
        for path in (SUITE / root).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if raw.search(line)
    ]
    assert found == []


def test_every_band_can_be_given() -> None:
    assert site_schema().schema["$defs"]["bands"]["properties"].keys() == BANDS.keys()


def test_the_page_has_every_extra_as_the_code_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["document-extras", "--check"])
    script = SUITE / "ci" / "document-extras.py"
    assert runpy.run_path(str(script))["main"]() == 0


def test_extras_survive_json() -> None:
    given = {
        "link_rate": 100,
        "allreduce_lab": {"noise": 0.1},
        "allocation": {"nodes": 2, "time": "2h"},
    }
    extras = PartitionExtras.of(given)
    assert extras.allocation is not None
    assert (extras.allocation.nodes, extras.allocation.side_by_side) == (2, False)
    assert PartitionExtras.of(json.loads(json.dumps(asdict(extras)))).allreduce_lab.noise == 0.1


def test_the_schema_is_a_schema() -> None:
    site_schema().check_schema(site_schema().schema)


def test_every_form_of_an_extra_is_defined() -> None:
    tree = site_schema().schema
    named = set(re.findall(r"#/\$defs/(\w+)", json.dumps(tree)))
    assert named == tree["$defs"].keys()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ports: ['mlx5_1:1'], ucx_net_devices: {rdma: 'mlx5_0:1'}", "expected ports or ucx_net"),
        ("ports: ['gid=fd00:3::5/64']", "expected the subnet of a GID"),
        ("ports: ['gid=fd00::/62', 'mlx5_0:1']", "expected a subnet of a multiple of 4"),
    ],
)
def test_ports_that_make_no_sense_are_refused(
    written: Callable[[str], Path], given: str, words: str
) -> None:
    with refused("FC0102", words):
        read(
            written(
                SITE.replace(
                    "ucx_net_devices: {rdma: 'mlx5_0:1'}", given.replace("], ", "]\n          ")
                )
            )
        )


def test_ports_are_features_and_devices(written: Callable[[str], Path]) -> None:
    text = SITE.replace("ucx_net_devices: {rdma: 'mlx5_0:1'}", "ports: ['mlx5_0:1', 'mlx5_3:1']")
    (partition,) = read(written(text))["systems"][0]["partitions"]
    several = ["port_mlx5_0_1", "port_mlx5_3_1", "several_ports"]
    assert features_of(partition) == ["rdma", "nodes_2", *several]
    assert PartitionExtras.of(partition["extras"]).given_ports.names("rdma") == (
        "mlx5_0:1",
        "mlx5_3:1",
    )
    (one,) = read(written(SITE))["systems"][0]["partitions"]
    assert features_of(one) == one["features"]
