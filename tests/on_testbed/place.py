"""A site of its own on nodes of the testbed, of whose Slurm its checks know nothing."""

import subprocess
from pathlib import Path

import yaml
from tests.testbeds import SHARES, measured_again

from fabricheck.provenance import SUITE
from fabricheck.record.entries import CaseEntry
from fabricheck.record.read import entries, record_files
from fabricheck_testbed import Testbed

HOSTS = ("n1", "n2", "n3", "n4")
ENVIRONS = ("openmpi", "mpich", "builtin")


class Place:
    """A repository of a site: one of the testbed's partitions, by another scheduler.

    Attributes:
        part: the partition.
        environs: its environments, as of a machine without a scheduler.
        tools: features of the one without MPI, beside those.
    """

    part = "main"
    environs = ENVIRONS
    tools: tuple[str, ...] = ()

    def __init__(
        self,
        testbed: Testbed,
        place: Path,
        system: str,
        *,
        partition: dict[str, object],
        extras: dict[str, object],
        variables: tuple[str, ...] = (),
    ) -> None:
        """Write it.

        Args:
            testbed: whose nodes it has.
            place: an empty directory that all nodes see.
            system: its name.
            partition: scheduler, launcher and more of its partition.
            extras: of the partition, beside those of the testbed's.
            variables: of the environment of a run.
        """
        self.testbed, self.place, self.system, self.variables = testbed, place, system, variables
        (place / "sites").mkdir()
        written = yaml.safe_dump(self._site(partition, extras))
        (place / "sites" / f"{system}.yaml").write_text(written)
        (place / "references").mkdir()
        for part in ("", ".measured"):
            text = (SUITE / "references" / f"testbed{part}.yaml").read_text()
            (place / "references" / f"{system}{part}.yaml").write_text(text)

    def _site(self, own: dict[str, object], extras: dict[str, object]) -> dict[str, object]:
        testbed, local = (
            yaml.safe_load((SUITE / "sites" / f"{name}.yaml").read_text())
            for name in ("testbed", "local")
        )
        [part] = (x for x in testbed["systems"][0]["partitions"] if x["name"] == self.part)
        kept = {key: part["extras"][key] for key in part["extras"] if key != "stress"}
        kept.pop("allocation")
        environs = list(self.environs)
        partition = {
            **{key: part[key] for key in ("name", "features", "env_vars") if key in part},
            "environs": environs,
            "extras": {**kept, **extras},
            **own,
        }
        system = {"name": self.system, "hostnames": ["^none$"], "partitions": [partition]}
        named = [
            # Where ranks may share a core, PRRTE fills the first host before it takes the next.
            each
            | {
                "prefix": str(SUITE / each["prefix"]),
                "env_vars": [pair for pair in each["env_vars"] if "PRTE_" not in pair[0]],
            }
            if "prefix" in each
            else each
            for each in local["environments"]
            if each["name"] in environs
        ]
        for each in named:
            each["target_systems"] = [self.system]
            if each["name"] == "builtin":
                each["features"] = [*each["features"], *self.tools]
        return {"systems": [system], "environments": named}

    def run(self, *words: str, command: str = "run") -> list[CaseEntry]:
        """Run checks, and again where other work disturbed them."""
        return measured_again(
            lambda: self._run(command, *words),
            lambda found: any(each.level == "disturbed" for each in found),
        )

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of fabricheck on the login node."""
        program = SUITE / ".venv" / "bin" / "fabricheck"
        shares = (f"{name}={share}" for name, share in SHARES.items())
        settings = (f"FABRICHECK_SITES={self.place}", *shares, *self.variables)
        command = self.testbed.command("login", "env", *settings, str(program), *words)
        return subprocess.run(command, cwd=self.place, capture_output=True, text=True, check=False)

    def _run(self, command: str, *words: str) -> list[CaseEntry]:
        self.said = self.ask(command, f"--system={self.system}", *words)
        return self.recorded()

    def recorded(self) -> list[CaseEntry]:
        """The cases of the last session."""
        found = [
            each for path in record_files(self.place / "perflogs") for each in entries(path)[0]
        ]
        session = max(found, key=lambda each: each.time).session
        cases = [each for each in found if isinstance(each, CaseEntry) and each.session == session]
        # The last attempt of each.
        return list({(each.id, each.environ): each for each in cases if not each.fixture}.values())


def all_good_and_proved(cases: list[CaseEntry], said: str) -> None:
    """A smoke run of both MPIs on all hosts: nothing worse than a warning, and all on the network.

    Args:
        cases: what was recorded.
        said: what the run printed, shown where a case is worse.
    """
    assert {each.level for each in cases} <= {"good", "warning"}, said
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
    # Each host answered, so that the clocks were compared.
    assert "clocks known to" in health.evidence
    assert {node for each in cases if each.check == "UcxPerftest" for node in each.nodes} > {"n1"}
