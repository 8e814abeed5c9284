from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.judge.references import CaseKey
from fabricheck.launch.judging import find_references, of_sizes
from fabricheck.provenance import SUITE
from fabricheck.sites.extras import PartitionExtras, StressExtra
from fabricheck.sites.files import read
from fabricheck.stress.mix import Block, read_mix

MIB = 1 << 20


def test_the_seed_has_nine_blocks_with_their_counts() -> None:
    mix = read_mix("seed")
    assert [each.words for each in mix.blocks] == [
        "allreduce 4MiB x500",
        "allreduce 1MiB x500",
        "allreduce 64KiB x500",
        "allreduce 1KiB x500",
        "bcast 4MiB x500",
        "bcast 1MiB x500",
        "alltoall 1MiB x300",
        "reduce 1MiB x500",
        "allgather 128KiB x500",
    ]
    assert mix.pause == 2


def test_a_range_doubles() -> None:
    first = read_mix("once").blocks[0]
    assert first == Block("allreduce", tuple(MIB >> each for each in (4, 3, 2, 1, 0)), 100)
    assert first.words == "allreduce 64KiB:1MiB x100"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{benchmark: allreduce, size: 4MB, iterations: 5}", "line 2: .*message size such as 8B"),
        ("{benchmark: allreduce, size: '3KiB:8KiB', iterations: 5}", "a range that doubles"),
        ("{benchmark: allreduce, size: '8KiB:1KiB', iterations: 5}", "line 2: .*MIN <= MAX"),
        ("{benchmark: allreduce, size: 0B, iterations: 5}", "a size such as 4MiB"),
        ("{benchmark: latency, size: 1KiB, iterations: 5}", "a collective with data"),
        ("{benchmark: barrier, size: 1KiB, iterations: 5}", "a collective with data"),
        ("{benchmark: allreduce, size: 1KiB, iterations: 0}", "from 1 to 1000000"),
        ("{benchmark: allreduce, size: 1KiB, count: 5}", "unknown key 'count'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"blocks:\n  - {line}\n")
    with refused("FC0102", message):
        read_mix(str(path))


def test_an_unknown_mix_names_those_there_are() -> None:
    with refused("FC2312", r"once, seed.*found '\.\./seed'"):
        read_mix("../seed")


def stresses() -> list[tuple[str, str, StressExtra]]:
    """System, partition, and what its site file says of stress."""
    return [
        (system["name"], each["name"], stress)
        for path in sorted((SUITE / "sites").glob("*.yaml"))
        for system in read(path)["systems"]
        for each in system["partitions"]
        if (stress := PartitionExtras.of(each.get("extras")).stress)
    ]


def test_every_block_of_a_shipped_site_has_a_reference() -> None:
    found = set()
    for system, partition, says in stresses():
        for block in read_mix(says.mix).blocks:
            place = f"{system}:{partition}"
            key = CaseKey(system, place, says.environ, block.benchmark, says.placement)
            references, _ = find_references(key, ["MpiCollective"])
            assert of_sizes(references, block.sizes), (system, block.words)
            found.add(system)
    assert found == {"local", "testbed", "roce25g-8n"}
