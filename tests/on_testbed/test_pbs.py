"""OpenPBS on nodes of the testbed, beside the Slurm there, of which these checks know nothing.

``FABRICHECK_PBS_EXEC`` names an installation, as ``PBS_EXEC`` in its configuration; its database
needs PostgreSQL and the user postgres.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.on_testbed.place import HOSTS, Place
from tests.waiting import wait_until

from fabricheck.provenance import SUITE
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
set server job_history_enable = {}
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
        extras: dict[str, object] = {"max_pending_time": "1m"}
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
        self.on(LOGIN, f"qmgr <<'END'\n{SETTINGS.format(True)}{nodes}END")
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
    cases = cluster.run("--tag=smoke")
    assert {each.level for each in cases} <= {"good", "warning"}, cluster.said.stdout
    for environ in ("openmpi", "mpich"):
        of_two = [each for each in cases if each.environ == environ and each.num_nodes == 2]
        assert {each.benchmark for each in of_two} >= {"latency", "bw", "bibw"}
        assert {len(each.nodes) for each in of_two} == {2}
        proofs = [
            (each.transport, each.evidence) for each in of_two if each.check == "MpiPointToPoint"
        ]
        assert [each for each in proofs if "eth0" not in each[1]] == []
    [health] = [each for each in cases if each.check == "NodeHealth" and not each.mpi]
    assert health.nodes == HOSTS
