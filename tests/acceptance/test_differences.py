from collections.abc import Callable
from dataclasses import replace

import polars as pl
from tests.acceptance.made import judged, values

from fabricheck.acceptance.answers import Difference
from fabricheck.acceptance.wording import cautions
from fabricheck.history.provenance import Provenance
from fabricheck.record.entries import Nodes
from fabricheck.record.facts import UNTOLD
from simulation.acceptance import Campaign

CAMPAIGN = Campaign(6)
ORIGIN = Nodes(
    time="2020-01-01T06:00:00+00:00",
    session="",
    system="simulated",
    partition="fabric",
    environ="openmpi",
    nodes=("n1", "n2"),
    machine={"kernel": "6.1.0", "bios": UNTOLD},
    software={"ucx": "1.18", "mpi": "Open MPI 4"},
)


def found(change: Callable[[Nodes], Nodes]) -> list[Difference]:
    """The differences where the runs after the change have another origin."""
    frame = values(CAMPAIGN)
    after = set(frame.filter(pl.col("side") == "after")["session"])
    origins = [
        replace(change(ORIGIN) if name in after else ORIGIN, session=name)
        for name in frame["session"].unique()
    ]
    return judged(frame, Provenance(origins)).differences


def test_where_nothing_else_differs_nothing_is_said():
    assert found(lambda origin: origin) == []


def test_facts_of_nodes_and_software_that_differ_are_named_with_their_place():
    changed = found(
        lambda origin: replace(
            origin,
            machine={**origin.machine, "kernel": "6.5.0", "bios": "2"},
            software={**origin.software, "ucx": "1.19"},
        )
    )
    assert changed == [
        Difference("kernel", ("n1", "n2"), ("6.1.0",), ("6.5.0",)),
        Difference("ucx", ("simulated:fabric+openmpi",), ("1.18",), ("1.19",)),
    ]


def test_other_nodes_are_a_difference_of_nodes_alone():
    changed = found(lambda origin: replace(origin, nodes=("n1", "n3"), machine={"kernel": "6.1.0"}))
    assert changed == [Difference("nodes", ("simulated:fabric",), ("n1,n2",), ("n1,n3",))]


def test_what_else_differs_is_said_with_the_verdict():
    frame = values(CAMPAIGN)
    origins = [
        replace(ORIGIN, session=name, software={"commit": side})
        for name, side in frame.select("session", "side").unique().iter_rows()
    ]
    lines = cautions(judged(frame, Provenance(origins)))
    assert lines == ["commit of simulated:fabric+openmpi differs: before before, after after"]
