"""A new site where PBS is, and no Slurm."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.asking import MissingError, UnansweredError
from fabricheck.planning.site_init import gather, write
from fabricheck.sites.files import read

PBSNODES = (Path(__file__).parents[1] / "data" / "pbs" / "pbsnodes.txt").read_text()


def run(command: Sequence[str]) -> str:
    if command == ("pbsnodes", "-av"):
        return PBSNODES
    if command[0] != "ssh":
        raise MissingError(command[0])
    return ""


def test_all_nodes_are_one_partition(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    write(path, "mine", gather(run, ("ssh", "n1")), "^login$")
    [made] = read(path)["systems"][0]["partitions"]
    assert (made["scheduler"], made["launcher"]) == ("pbs", "mpirun")
    assert [each for each in made["features"] if each.startswith("nodes")] == [
        "nodes_1", "nodes_2", "nodes_4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("on_node", "code", "words"),
    [((), "FC0309", "such as 'ssh NODE'"), (("ssh", "n1"), "FC0308", "expected pbsnodes to list")],
)
def test_what_is_missing_is_named(on_node: Sequence[str], code: str, words: str) -> None:
    def without(command: Sequence[str]) -> str:
        if code == "FC0308" and command[0] == "pbsnodes":
            raise UnansweredError("pbsnodes: cannot connect to server login, error=111")
        return run(command)

    with refused(code, words):
        gather(without, on_node)
