"""The table of faults: what it tells, and that the documentation has it for the list as it is."""

from drill.document import LETTERS, cause, lead, rows, table
from drill.drill import Outcome, Sight
from drill.fault import Fault, Key, read_faults
from fabricheck.provenance import SUITE
from fabricheck.report.status import Status

FAULTS = read_faults(SUITE / "lab" / "faults.yaml")
DOCUMENT = SUITE / "docs" / "explanation" / "faults.md"


def fault(**changes: object) -> Fault:
    entry: dict[str, object] = {
        "name": "loss",
        "title": "packets are lost",
        "partition": "rdma",
        "steps": (("rx1", "loss 2%"),),
        "in_mid_job": False,
        "site": {},
        "cases": (),
        "expected": (),
        "explained": {},
        "remark": "",
    }
    return Fault(**(entry | changes))  # type: ignore[arg-type]


def outcome(sights: dict[Key, Sight]) -> Outcome:
    return Outcome(fault(), sights, "X critical bw: lost | gone", (), (), 1.0)


def test_a_row_tells_who_saw_it_and_who_did_not() -> None:
    written = table(
        [
            outcome(
                {
                    Key("latency", "openmpi", "rc-2n"): Sight(Status.GOOD, ()),
                    Key("bw", "openmpi", "rc-2n"): Sight(Status.CRITICAL, ("x",), ("fabric",), "s"),
                    Key("bw", "openmpi", "ud-2n"): Sight(Status.UNTRUSTED, ("y",), (), "s"),
                    Key("node_health", "builtin"): Sight(Status.WARNING, ("z",)),
                }
            )
        ],
        [fault()],
        [],
    )
    assert written.splitlines()[2] == (
        "| **loss**: packets are lost | `rx1 loss 2%` | "
        "untrusted: bw openmpi ud-2n<br>critical: bw openmpi rc-2n<br>warning: node_health builtin"
        "<br>not seen by latency openmpi rc-2n | lost / gone | "
        "fabric (bw openmpi rc-2n)<br>none (bw openmpi ud-2n) |"
    )


def test_a_cause_is_what_follows_case_and_nodes_and_is_cut_between_words() -> None:
    told = cause(f"X critical bw on n[1-2] (fault in UCX): a port is down: {'look ' * 40}")
    assert told.startswith("a port is down: look look")
    assert told.endswith("look …")
    assert len(told) <= LETTERS


def test_rows_of_other_faults_stay_in_the_order_of_the_list() -> None:
    first, second, third = (fault(name=name) for name in ("first", "second", "third"))
    old = ["| **third**: old |", "| **second**: old |", "| **gone**: old |"]
    new = Outcome(second, {}, "", (), (), 1.0)
    written = table([new], [first, second, third], old).splitlines()[2:]
    assert [row.split("**")[1] for row in written] == ["second", "third"]
    assert "old" not in written[0]
    assert written[1] == old[0]


def test_every_fault_of_the_list_has_its_row() -> None:
    written = rows(DOCUMENT.read_text())
    assert len(written) == len(FAULTS)
    for row, each in zip(written, FAULTS, strict=True):
        assert row.startswith(lead(each)[:-1]), f"{each.name}: run lab/faults.py --write"


def test_a_row_has_what_the_list_asks_for() -> None:
    for row, each in zip(rows(DOCUMENT.read_text()), FAULTS, strict=True):
        seen = row.split(" | ")[2].split("<br>")
        for expected in each.expected:
            (part,) = [part for part in seen if str(expected.case) in part.split(": ")[-1]]
            assert part.startswith("not seen by") is (expected.seen == "good"), (each.name, part)
