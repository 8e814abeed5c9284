"""How walk is run: one process on one node, which moves nothing over a fabric."""

from pathlib import Path

from fabricheck.programs.walk import read
from fabricheck.programs.walk.entries import BENCHMARKS

from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.measures.parser import check_complete
from fabricheck.transports.witness import read_witnesses


def cases(family: str) -> list[Case]:
    """The one case."""
    return [Case(name, "shm-1n") for name, each in BENCHMARKS.items() if each.family == family]


def measurement(case: Case) -> Measurement:
    """How a case is measured."""
    return Walk(BENCHMARKS[case.benchmark], case.placement, environs=["builtin"])


class Walk(Measurement):
    """One process on one node."""

    def ranks(self, setting: Setting) -> Ranks:
        """One."""
        return Ranks(1, 1)

    def job(self, setting: Setting) -> Job:
        """The program beside this file, with its sizes."""
        return Job(words=["sh", str(Path(__file__).with_name("walk.sh")),
                          *map(str, self.sizes(setting))])  # fmt: skip

    def examine(self, setting: Setting) -> Evidence:
        """Each size must be there, and the process must have ended well."""
        try:
            (witness,) = read_witnesses(setting.stage)
            curve = read.parse(setting.text(setting.stdout), setting.stdout)
            check_complete(curve, self.sizes(setting))
        except (FabricheckError, ValueError) as error:
            return Evidence(objections=(str(error),))
        proof = f"one process on {witness.host}, exit code {witness.exit_code}"
        return Evidence(curve=curve, hosts=(witness.host,), proof=proof)
