"""Damaged records: cases, perflogs, databases, stores, run reports, acceptances."""

import copy
import csv
import functools
import io
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import damage
from tests.fuzz.outputs import DATA
from tests.fuzz.place import Place, expect
from tests.history import recorded

from fabricheck.record.entries import CaseEntry, Nodes, from_line, to_line

_FOREIGN = tuple(sorted(path for path in (DATA / "reframe").rglob("*.log")))
_ALL = ("--store", "store")


def perflogs(chance: Random, place: Place) -> None:
    """A record: each line that is whole is taken or named, and nothing else is taken."""
    if chance.random() < 0.4:
        _imported(chance, place)
        return
    lines = [
        to_line(_nodes(night) if chance.random() < 0.1 else _case(night))
        for night in range(chance.randint(1, 8))
    ]
    text = "".join(lines)
    for _ in range(chance.choice((1, 1, 2, 4))):
        text = damage.text(text, chance)
    content = text.encode("utf-8", "surrogateescape" if "\ud800" not in text else "surrogatepass")
    if chance.random() < 0.1:
        content = damage.octets(content, chance)
    name = chance.choice(("main/2020-01", "caf\udce9/2020-01", "new\nline/imported-x"))
    place.write(f"logs/testbed/{name}.jsonl", content)
    if place.run("history", "refresh", "--perflogs", "logs", *_ALL).code == 0:
        _is_complete(place, content)
        if chance.random() < 0.1:
            place.run("history", "show", *_ALL)
            place.run("trend", *_ALL, "--sites", "none", "--references", "none")


def _case(night: int, sizes: tuple[int, ...] = (1, 8, 64)) -> CaseEntry:
    changes = {"session": f"session-{night}", "job": str(100 + night), "nodes": ("n1", "n2")}
    time = f"2020-01-{night + 1:02}T06:00:00+00:00"
    return recorded.case(0, 9 + night / 10, sizes, time=time, findings=('it "is"',), **changes)


def _nodes(night: int) -> Nodes:
    case = _case(night)
    where = {name: getattr(case, name) for name in ("time", "session", "system", "partition")}
    return Nodes(**where, environ="openmpi", nodes=("n1",), machine={"kernel": "6"}, software={})


def _is_complete(place: Place, content: bytes) -> None:
    """What stands in whole lines is in the history, or its line is named."""
    status = place.run("history", "status", "--json", *_ALL).json()
    named = {problem["line"] for problem in status["problems"]}
    taken = set(_exported(place))
    told = set()
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            entry = from_line(line)
        except ValueError:
            expect(number in named, f"line {number} is damaged and not named: {line!r}")
            continue
        for each in entry.samples if isinstance(entry, CaseEntry) else ():
            name = f"{each.metric} {each.statistic} {each.size}"
            read = (entry.session, name, each.value)
            told.add(read)
            expect(read in taken or number in named, f"line {number} is whole, and not taken")
    expect(taken <= told, f"taken, though no line says it: {taken - told}")


def _exported(place: Place) -> list[tuple[str, str, float]]:
    ended = place.run("history", "export", *_ALL)
    if ended.code:
        return []
    rows = csv.DictReader(io.StringIO(ended.stdout))
    return [(row["session"], _variable(row), float(row["value"])) for row in rows if row["value"]]


def _variable(row: Mapping[str, str]) -> str:
    return f"{row['metric']} {row['statistic']} {row['size']}"


def _imported(chance: Random, place: Place) -> None:
    """Perflogs."""
    content = damage.text(chance.choice(_FOREIGN).read_text(), chance).encode("utf-8", "replace")
    place.write("logs/generic/default/Stream.log", content)
    _refresh_imported(place, "logs")
    place.run("history", "status", *_ALL)


def _refresh_imported(place: Place, source: str) -> bool:
    if place.run("history", "import", source, "--perflogs", "record").code == 2:
        return False
    return place.run("history", "refresh", "--perflogs", "record", *_ALL).code == 0


def databases(chance: Random, place: Place) -> None:
    """A results database with damaged sessions: the others are read, or it is refused."""
    sessions = _sessions()
    spared = json.dumps(sessions[0])
    broken = copy.deepcopy(sessions[1])
    for _ in range(chance.choice((1, 1, 2, 5))):
        broken = damage.tree(broken, chance)
    text = _as_json(broken)
    if chance.random() < 0.1:
        text = damage.text(text, chance)
    path = place.inside / "results.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE sessions (uuid TEXT PRIMARY KEY, json_blob TEXT)")
        db.execute("CREATE TABLE metadata (schema_version TEXT)")
        db.execute("INSERT INTO metadata VALUES (?)", [chance.choice(("1.0",) * 20 + ("2.0", ""))])
        db.execute("INSERT INTO sessions VALUES ('spared', ?)", [spared])
        content = text.encode("utf-8", "replace")
        other = "other" if chance.random() < 0.9 else chance.choice(("", "\x00", 5, b"\xff"))
        odd = chance.choice((content.decode(errors="replace"), content))
        db.execute("INSERT INTO sessions VALUES (?, ?)", [other, odd])
    if chance.random() < 0.1:
        path.write_bytes(damage.octets(path.read_bytes(), chance))
    if _refresh_imported(place, "results.db"):
        wanted = _values(sessions[0])
        taken = Counter(name.split()[0] for _, name, _ in _exported(place))
        for name, count in wanted.items():
            expect(taken[name] >= count, f"the session that is whole is not taken: {name}")
        place.run("history", "show", *_ALL)
        place.run("history", "status", *_ALL)


@functools.cache
def _sessions() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / "reframe" / "sessions-4.8.json").read_text())
    return found[:2]


def _values(session: dict[str, Any]) -> Counter[str]:
    return Counter(
        name.rpartition(":")[2]
        for run in session["runs"]
        for case in run["testcases"]
        for name in case.get("perfvalues") or ()
    )


def _as_json(document: Any) -> str:
    try:
        return json.dumps(document)
    except (ValueError, RecursionError):
        return "[" * 3000


def stores(chance: Random, place: Place) -> None:
    """A damaged store: readers refuse it or say the same, and a refresh mends it or says why."""
    origin, right = _whole_store(place.inside.parents[1])
    shutil.copytree(origin / "store", place.inside / "store")
    (place.inside / "logs").symlink_to(origin / "logs")
    path = chance.choice(sorted((place.inside / "store").iterdir()))
    how = chance.randrange(6)
    if how == 0:
        path.unlink()
    elif how == 1:
        path.unlink()
        path.symlink_to(place.outside / "store" / "data.parquet")
    else:
        path.write_bytes(damage.octets(path.read_bytes(), chance))
    place.write("store/foreign.parquet", "precious")
    reader = chance.choice((("show",), ("export",), ("status",), ("status", "--json")))
    place.run("history", *reader, *_ALL)
    place.run("trend", *_ALL, "--sites", "none", "--references", "none")
    logs = origin / "logs"
    again = place.run("history", "refresh", "--perflogs", logs, *_ALL)
    foreign = place.inside / "store" / "foreign.parquet"
    expect(foreign.read_text() == "precious", "a file that is not the store's own is gone")
    if again.code == 0:
        now = sorted(_exported(place))
        expect(now == right, f"{len(now)} values after the damage, {len(right)} before it")


@functools.cache
def _whole_store(root: Path) -> tuple[Path, list[tuple[str, str, float]]]:
    place = Place(root / "whole", separate=False)
    text = "".join(to_line(_case(night, (1, 8))) for night in range(20))
    place.write("logs/testbed/main/2020-01.jsonl", text)
    place.must("history", "refresh", "--perflogs", place.inside / "logs", *_ALL)
    return place.inside, sorted(_exported(place))


def run_reports(chance: Random, place: Place) -> None:
    """A damaged run report: what is sound of it is read, or it is refused."""
    document = copy.deepcopy(_sessions()[0])
    for _ in range(chance.choice((1, 1, 2, 5))):
        document = damage.tree(document, chance)
    text = _as_json(document)
    if chance.random() < 0.1:
        text = damage.text(text, chance)
    place.write("run-1.json", text.encode("utf-8", "surrogatepass"))
    if _refresh_imported(place, "run-1.json"):
        place.run("history", "status", *_ALL)


def acceptance_records(chance: Random, place: Place) -> None:
    """A record that is signed: whole, or left as it was."""
    document = copy.deepcopy(_record(place.inside.parents[1]))
    for _ in range(chance.choice((1, 1, 2, 4))):
        document = damage.tree(document, chance)
    text = _as_json(document)
    if chance.random() < 0.1:
        text = damage.text(text, chance)
    path = place.write("record.json", text.encode("utf-8", "surrogatepass"))
    before = path.read_bytes()
    ended = place.run("accept", "--record", "record.json", "--sign", "Ada", "--comment", "seen")
    expect(ended.code != 2 or path.read_bytes() == before, "refused, and changed all the same")
    if ended.code != 2:
        code = {"accept": 0, "reject": 1, "inconclusive": 3}[json.loads(before)["verdict"]]
        expect(ended.code == code, f"ended with {ended.code}, the record says {code}")


@functools.cache
def _record(root: Path) -> Any:
    place = Place(root / "campaign", separate=False)
    cases = [
        recorded.case(night, (1.0 + 0.2 * (night >= 8)) * (9 + night % 3 / 100), (8, 64))
        for night in range(16)
    ]
    recorded.record(place.inside / "logs", *cases)
    place.must("history", "refresh", "--perflogs", "logs", *_ALL)
    place.must(
        "accept", "--before", "20261101:20261109", "--after", "20261109:20261201", "--record",
        "record.json", "--sites", "none", *_ALL,
    )  # fmt: skip
    return json.loads((place.inside / "record.json").read_text())
