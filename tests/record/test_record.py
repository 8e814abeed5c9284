"""The record: what is written is read again, and damage costs only itself."""

import dataclasses
import gzip
import json
import math
import threading
import zlib
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.record.entries import (
    CaseEntry,
    Entry,
    Nodes,
    Sample,
    Session,
    from_line,
    is_sound,
    to_line,
)
from fabricheck.record.read import ProblemKind, entries, read_session, record_files
from fabricheck.record.write import append, file_of

CASE = CaseEntry(
    time="2026-11-21T06:12:44+00:00",
    session="s1",
    system="testbed",
    partition="main",
    environ="openmpi",
    check="MpiPointToPoint",
    benchmark="latency",
    transport="tcp",
    num_nodes=2,
    ranks=2,
    ranks_per_node=1,
    options="-W 64",
    result="fail",
    level="warning",
    findings=('slow | "quoted"\nsecond line', "größer"),
    nodes=("n1", "n2"),
    prerequisites=({"rule": "clock", "level": None, "words": "x", "nodes": "n1"},),
    samples=(
        Sample(metric="latency", statistic="p50", size=8, value=9.15, unit="us", level="good"),
        Sample(metric="latency", statistic="p50", size=16, unit="us", reference=10, lower=0.5),
    ),
)
NODES = Nodes(
    time=CASE.time,
    session="s1",
    system="testbed",
    partition="main",
    environ="openmpi",
    nodes=("n1",),
    machine={"kernel": "6.1"},
    software={"mpi": "Open MPI v4.1.4"},
)
END = Session(time=CASE.time, session="s1", system="testbed", announced=1, info={"uuid": "u"})


@pytest.mark.parametrize("entry", [CASE, NODES, END], ids=lambda each: each.KIND)
def test_a_line_gives_back_what_was_written(entry: Entry) -> None:
    line = to_line(entry)
    assert line.count("\n") == 1
    assert from_line(line.encode()[:-1]) == entry


def test_a_line_is_plain_json_without_defaults() -> None:
    given = json.loads(to_line(CASE))
    assert list(given)[:3] == ["crc", "kind", "time"]
    assert "evidence" not in given
    assert given["samples"][1] == {
        "metric": "latency", "statistic": "p50", "size": 16, "unit": "us", "reference": 10,
        "lower": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_none(value: float) -> None:
    case = dataclasses.replace(CASE, samples=(Sample(metric="x", value=value),))
    found = from_line(to_line(case).encode()[:-1])
    assert isinstance(found, CaseEntry)
    assert found.samples == (Sample(metric="x"),)


def test_what_is_no_text_is_escaped() -> None:
    found = from_line(to_line(dataclasses.replace(CASE, name="\udc80")).encode()[:-1])
    assert isinstance(found, CaseEntry)
    assert found.name == "\\udc80"


def test_every_flipped_byte_is_seen() -> None:
    line = to_line(CASE).encode()[:-1]
    for place in range(len(line)):
        damaged = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
        assert not is_sound(damaged), place


@pytest.mark.parametrize(
    "change",
    [
        {"time": "yesterday"},
        {"num_nodes": "2"},
        {"num_nodes": 2**63},
        {"fixture": 1},
        {"findings": "x"},
        {"findings": [1]},
        {"samples": [{"value": 1}]},
        {"samples": [{"metric": "x", "value": "1"}]},
        {"kind": "other"},
        {"options": {"a": 1}},
        {"prerequisites": [{"a": 1}, 2]},
        {"time": "2026-11-22T03:00:00Z"},
        {"num_nodes": -3},
        {"samples": [{"metric": "x", "value": math.nan}]},
        {"samples": [{"metric": "x", "size": -1}]},
    ],
    ids=str,
)
def test_a_line_that_is_no_entry_is_refused_though_its_checksum_fits(
    change: dict[str, object],
) -> None:
    given = {**json.loads(to_line(CASE)), **change}
    del given["crc"]
    body = json.dumps(given, separators=(",", ":"))[1:].encode()
    with pytest.raises(ValueError, match="expected an entry"):
        from_line(b'{"crc":"%08x",%s' % (zlib.crc32(body), body))


def test_the_record_rotates_by_month_and_sessions_stand_above_partitions(tmp_path: Path) -> None:
    later = dataclasses.replace(CASE, time="2026-12-01T00:00:00+00:00")
    append(tmp_path, [CASE, NODES, END, later])
    assert [path.relative_to(tmp_path).as_posix() for path in record_files(tmp_path)] == [
        "testbed/2026-11.jsonl",
        "testbed/main/2026-11.jsonl",
        "testbed/main/2026-12.jsonl",
    ]
    assert entries(file_of(tmp_path, CASE)) == ([CASE, NODES], [])


def test_damage_costs_only_itself(tmp_path: Path) -> None:
    append(tmp_path, [CASE])
    path = file_of(tmp_path, CASE)
    with path.open("ab") as file:
        file.write(b"no json\n\xff\xfe\n\n" + to_line(CASE)[:40].encode())
    append(tmp_path, [NODES])
    with path.open("a") as file:
        file.write("cut")
    found, problems = entries(path)
    assert found == [CASE, NODES]
    assert [(each.kind, each.line) for each in problems] == [
        *((ProblemKind.DAMAGED, line) for line in (2, 3, 4, 5)),
        (ProblemKind.CUT, 7),
    ]


@pytest.mark.parametrize("cut", [0, 5, 400])
def test_a_compressed_file_is_read_up_to_its_damage(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "2026-01.jsonl.gz"
    packed = gzip.compress("".join(to_line(CASE) for _ in range(3)).encode() + b"\n" * 9)
    path.write_bytes(packed[: len(packed) - cut])
    found, problems = entries(path)
    assert len(found) == (3 if cut < 400 else 0) or cut == 400
    assert (ProblemKind.LOST in {each.kind for each in problems}) == bool(cut)


def test_foreign_files_are_none_of_the_record(tmp_path: Path) -> None:
    append(tmp_path, [CASE])
    for name in ("notes.jsonl", "testbed/main/Check.log", "example/main/2026-11.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert record_files(tmp_path) == [file_of(tmp_path, CASE)]


@pytest.mark.integration
def test_several_writers_leave_whole_lines(tmp_path: Path) -> None:
    def write() -> None:
        for _ in range(20):
            append(tmp_path, [CASE])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found, problems = entries(file_of(tmp_path, CASE))
    assert (len(found), problems) == (80, [])


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "testbed").write_text("a file in the way")
    with refused("FC0619"):
        append(tmp_path, [CASE])


def test_a_session_is_read_whole(tmp_path: Path) -> None:
    other = dataclasses.replace(CASE, session="s0", time="2026-11-20T06:00:00+00:00")
    append(tmp_path, [other, CASE, NODES, END])
    run = read_session(tmp_path, "s1")
    assert (run.end, run.cases, run.nodes) == (END, [CASE], [NODES])
    assert read_session(tmp_path, "s0").end is None
    with refused("FC0617"):
        read_session(tmp_path, "s2")


def test_damage_near_a_session_is_its_problem(tmp_path: Path) -> None:
    append(tmp_path, [CASE])
    with file_of(tmp_path, CASE).open("a") as file:
        file.write("damaged\n")
    assert [each.kind for each in read_session(tmp_path, "s1").problems] == [ProblemKind.DAMAGED]


def test_a_port_makes_another_series_and_a_line_without_one_is_read_as_before() -> None:
    port = dataclasses.replace(CASE, port="gid=fd00:3::/64")
    assert from_line(to_line(port).encode().rstrip()) == port
    assert port.placement == "tcp-2n@gid=fd00:3::/64"
    old = to_line(CASE)
    assert '"port":' not in old
    read = from_line(old.encode().rstrip())
    assert isinstance(read, CaseEntry)
    assert (read.port, read.placement) == ("", "tcp-2n")
