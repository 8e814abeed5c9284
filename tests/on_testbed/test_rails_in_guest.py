"""A real MPI with two cards in its settings uses both, or each card that it left out is named."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricheck.provenance import SUITE
from fabricheck.sites.files import read
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.proof import prove
from fabricheck.transports.rails import sought
from fabricheck.transports.settings import Ports, settings
from fabricheck.transports.statement import rail_objections, read_lanes
from fabricheck.transports.table import find
from fabricheck.transports.witness import RANK_WRAPPER, read_ucx_logs, read_witnesses
from fabricheck_testbed import Testbed

# The guest is a second one, with several cards.
pytestmark = [pytest.mark.lab, pytest.mark.alone]

SECONDS = 200.0
BYTES, COUNT = 1 << 18, 40
RAILS = ("gid=fe80::/112", "gid=fe80::1:0/112")
LEFT_OUT = {"rx1": "rxe2:1", "rx2": "rxe3:1"}
"""The second cards."""
ONE = 'UCX_NET_DEVICES=${UCX_NET_DEVICES%%,*} exec "$0" "$@"'
"""What a module or a user's script does between ``rank.sh`` and the program."""


@pytest.fixture(scope="module")
def guest(can_run_guests: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    testbed = Testbed(tmp_path_factory.mktemp("cards") / "tb")
    try:
        testbed.up(
            nodes=1, rdma=True, cards=len(RAILS), shares=[SUITE, tmp_path_factory.getbasetemp()]
        )
        yield testbed
    finally:
        testbed.down()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None:
        pytest.skip("mpicc.openmpi is not installed")
    path = tmp_path_factory.mktemp("exchange") / "exchange"
    source = Path(__file__).with_name("exchange.c")
    subprocess.run([compiler, str(source), "-o", str(path)], check=True, timeout=SECONDS)
    return path


def objections(testbed: Testbed, place: Path, *command: str) -> tuple[str, ...]:
    """What is said against the rails of a job of one rank on each node."""
    (cards,) = (
        partition
        for partition in read(SUITE / "sites" / "testbed.yaml")["systems"][0]["partitions"]
        if partition["name"] == "cards"
    )
    variables = dict(cards["env_vars"]) | settings("openmpi", "rc", Ports(rails=RAILS, gid_index=1))
    done = testbed.run(
        "login",
        *("env", *(f"{name}={text}" for name, text in variables.items()), "srun"),
        *("--partition=rdma", "--nodes=2", "--ntasks=2", "--mpi=pmix", f"--chdir={place}"),
        *(str(RANK_WRAPPER), *command, str(BYTES), str(COUNT)),
        timeout_seconds=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    logs, witnesses = read_ucx_logs(place), read_witnesses(place)
    transport, load = find("rc"), Load(BYTES * COUNT, COUNT, {BYTES: COUNT})
    said = read_lanes(transport, logs, len(witnesses))
    proof = prove(transport, load, said, witnesses, quiet=True)
    return (*rail_objections(logs, witnesses), *proof.objections)


def test_two_cards_are_proved(guest: Testbed, program: Path, tmp_path: Path) -> None:
    assert objections(guest, tmp_path, str(program)) == ()


def test_a_card_that_is_left_out_is_named(guest: Testbed, program: Path, tmp_path: Path) -> None:
    found = objections(guest, tmp_path, "sh", "-c", ONE, str(program))
    lanes, counted = found[:2], found[2:]
    for (node, card), by_lanes, by_counters in zip(LEFT_OUT.items(), lanes, counted, strict=True):
        assert f"lanes of {node} on 2 of the ports" in by_lanes
        assert (
            f"found none on {card} ({sought(RAILS[1])}): UCX did not take these cards" in by_lanes
        )
        assert f"2 ports of {node}" in by_counters
        assert by_counters.endswith(f"through {card}: these cards carried nothing")
