"""OpenPBS on nodes of the testbed, beside the Slurm there, of which these checks know nothing.

``FABRICHECK_PBS_EXEC`` names an installation, as ``PBS_EXEC`` in its configuration; its database
needs PostgreSQL and the user postgres.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.on_testbed.place import HOSTS, Place, all_good_and_proved
from tests.waiting import wait_until

from fabricheck.provenance import SUITE
from fabricheck.transports.witness import unfinished_ranks
from fabricheck_testbed import Testbed

# A build for each of two MPIs.
pytestmark = pytest.mark.lab

EXEC = os.environ.get("FABRICHECK_PBS_EXEC", "")
LOGIN = "login"
PARTS = ("SERVER", "SCHED", "COMM", "MOM")
# Private to each node, and gone with it.
HOME = "/run/pbs"
SETTINGS = """\
set server acl_roots = root@*
set server flatuid = True
set server job_history_enable = True
"""


class Cluster(Place):
    """A site of PBS: its server on the login node, a MoM on each other one."""

    def __init__(self, testbed: Testbed, place: Path) -> None:
        path = f"{EXEC}/bin:{os.environ['PATH']}"
        variables = (f"PBS_CONF_FILE={place / LOGIN}", f"PATH={path}")
        partition: dict[str, object] = {
            "scheduler": "pbs",
            "launcher": "mpirun",
            "max_jobs": 1,
            "prepare_cmds": [f"export PATH=$PATH:{EXEC}/bin"],
        }
        # An emulated node needs half a second to tell the time when the machine is busy.
        extras: dict[str, object] = {
            "max_pending_time": "1m", "node_health": {"clock_skew": 2}
        }  # fmt: skip
        super().__init__(
            testbed, place, "pbs", partition=partition, extras=extras, variables=variables
        )

    def start(self) -> None:
        for host in (LOGIN, *HOSTS):
            runs = {name: (name == "MOM") != (host == LOGIN) for name in PARTS}
            lines = [
                *(f"PBS_EXEC={EXEC}", f"PBS_HOME={HOME}", f"PBS_SERVER={LOGIN}"),
                *(f"PBS_START_{name}={int(own)}" for name, own in runs.items()),
                "PBS_DATA_SERVICE_USER=postgres",
            ]
            (self.place / host).write_text("\n".join(lines) + "\n")
            # The sockets of the database.
            self.on(host, "install -d -o postgres /run/postgresql")
            self.on(host, f"{EXEC}/libexec/pbs_init.d start")
            if host != LOGIN:
                told = f"echo '$usecp *:/ /' >>{HOME}/mom_priv/config"
                self.on(host, f"{told} && kill -HUP $(cat {HOME}/mom_priv/mom.lock)")
        nodes = "".join(f"create node {host}\n" for host in HOSTS)
        self.on(LOGIN, f"qmgr <<'END'\n{SETTINGS}{nodes}END")
        wait_until(lambda: self.on(LOGIN, "pbsnodes -a").count("state = free") == len(HOSTS))

    def on(self, host: str, script: str) -> str:
        settings = (f"PBS_CONF_FILE={self.place / host}", *self.variables[1:])
        done = self.testbed.run(host, "env", *settings, "sh", "-c", script, timeout_seconds=120)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout


@pytest.fixture(scope="module")
def cluster(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not EXEC:
        pytest.skip("FABRICHECK_PBS_EXEC names no installation of OpenPBS")
    directory = tmp_path_factory.mktemp("pbs")
    testbed = Testbed(directory / "tb")
    made = Cluster(testbed, directory)
    try:
        testbed.up(nodes=len(HOSTS), shares=[directory.parent, SUITE])
        made.start()
        yield made
    finally:
        # With the nodes all that ran on them ends, PBS too.
        testbed.down()


def test_all_is_good_and_proved_by_either_launcher(cluster: Cluster) -> None:
    plan = json.loads(cluster.ask("plan", "--system=pbs", "--tag=smoke", "--json").stdout)
    cases = cluster.run("--tag=smoke")
    assert len(cases) == len(plan["cases"])
    all_good_and_proved(cases, cluster.said.stdout)


def test_nodes_are_located(cluster: Cluster) -> None:
    """Of four ranks on two CPUs none is alone; of three one is, which looks slow."""
    [located] = cluster.run("--environ=mpich", "--transport=tcp", command="locate")
    assert located.level in ("good", "warning"), cluster.said.stdout
    assert located.nodes == HOSTS
    assert "4 of 4 nodes good" in cluster.said.stdout


def test_options_of_a_run_are_kept_and_no_history_of_jobs_is_needed(cluster: Cluster) -> None:
    cluster.on(LOGIN, "qmgr -c 'set server job_history_enable = False'")
    words = ("--benchmark=latency", "--transport=tcp", "--nodes=2", "--environ=mpich")
    [found] = cluster.run(*words, "--exclude=n[1,3]", "--account=proj", "--time=5m")
    assert found.level in ("good", "warning"), cluster.said.stdout
    assert found.nodes == ("n2", "n4")


@pytest.mark.parametrize(
    ("node", "nodes", "benchmark", "check"),
    [
        ("n4", 4, "allreduce", "MpiCollective"),
        pytest.param("n1", 2, "latency", "MpiPointToPoint", id="the one that runs the script"),
    ],
)
def test_a_node_that_dies_in_mid_job_is_named(
    cluster: Cluster, node: str, nodes: int, benchmark: str, check: str
) -> None:
    site = cluster.place / "sites" / "pbs.yaml"
    before = site.read_text()
    site.write_text(before.replace("time_budget: 0.05", "time_budget: 60"))
    words = (f"--benchmark={benchmark}", f"--nodes={nodes}", "--transport=tcp", "--environ=mpich")
    stages = (cluster.place / "stage").glob
    with ThreadPoolExecutor() as pool:
        found = pool.submit(cluster.run, *words)
        wait_until(
            lambda: nodes == sum(len(unfinished_ranks(each)) for each in stages(f"*/*/*/{check}*"))
        )
        cluster.testbed.kill_node(node)
        [case] = found.result()
    site.write_text(before)
    assert case.level == "untrusted"
    assert f"node failure: PBS lost node {node} in mid-job" in case.findings[0]


def test_a_node_that_is_down_is_named(cluster: Cluster) -> None:
    """After those above."""
    cases = cluster.run("--tag=smoke", "--environ=builtin")
    [health] = [each for each in cases if each.check == "NodeHealth"]
    assert health.level == "critical"
    assert any("launch of n[1,4]: not reached: down" in each for each in health.findings)
