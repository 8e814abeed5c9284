"""Damaged outputs of benchmarks, and references that judge them."""

import datetime
import functools
import re
from pathlib import Path
from random import Random

import yaml
from tests.fuzz import damage
from tests.fuzz.place import Place, expect

from fabricheck.measures.registry import FAMILIES, REGISTRY, folder_of, names

DATA = Path(__file__).parents[1] / "data"
OF_OTHERS = (
    *("osu-7.4", "osu-layout", "mpi_probe", "mori-io", "seren", "perftest-4.5", "ucx-1.13.1"),
)
OWN = dict.fromkeys(folder_of(name).name for name in REGISTRY)
FOLDERS = (*OF_OTHERS, *(name for name in OWN if (DATA / name).is_dir()))
NAMES = (*(names(family)[0] for family in FAMILIES), "barrier", "", "²")
_ROW = re.compile(r"^(\d+)\s+(\d+\.\d+)\b.*$", re.MULTILINE)
_CURVE = "1:1MiB"


@functools.cache
def originals() -> tuple[str, ...]:
    """The text of every output that the tests have."""
    return tuple(
        path.read_text(errors="surrogateescape")
        for folder in FOLDERS
        for path in sorted((DATA / folder).glob("*"))
        if path.suffix in (".txt", ".csv", ".json")
        and path.name not in ("rates.csv", "reference.csv")
    )


def outputs(chance: Random, place: Place) -> None:
    """The output of a benchmark, damaged one to three times."""
    text = chance.choice(originals())
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = damage.text(text, chance, chance.choice(originals()))
    content = text.encode("utf-8", "surrogatepass" if chance.random() < 0.5 else "replace")
    if chance.random() < 0.1:
        content = damage.octets(content, chance)
    place.write("output.txt", content)
    options = []
    if chance.random() < 0.3:
        options = ["--benchmark", chance.choice(NAMES)]
    if chance.random() < 0.2:
        options += ["--expect", chance.choice(("1:4MiB", _CURVE, "8:8", "64KiB:64KiB", "x", "²:4"))]
    machine = chance.random() < 0.7
    ended = place.run("parse", "output.txt", *options, *(["--json"] if machine else []))
    if machine and ended.code == 0 and (curve := ended.json())["program"] == "osu":
        _read_as_it_stands(curve["points"], content.decode(errors="replace"))


def _read_as_it_stands(points: list[dict[str, object]], text: str) -> None:
    rows = {number for line in text.split("\n") if (number := _numbers(line))}
    for point in points:
        values = list(point["values"].values())
        found = point["size"] is None or (point["size"], values[0]) in rows
        expect(found, f"a point that no line has: {point}")
    sizes = [point["size"] for point in points]
    expect(len(set(sizes)) == len(sizes), f"a size twice: {sizes}")


def _numbers(line: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in line.split()[:2])
    except ValueError:
        return ()


def judged(chance: Random, place: Place) -> None:
    """A curve in which one row is missing or one value wrong is never good."""
    text = (DATA / "osu-layout" / "latency.txt").read_text()
    rows = list(_ROW.finditer(text))
    row = chance.choice(rows[1:])
    how = chance.randrange(5)
    if how == 0:
        text = text[: row.start()] + text[row.end() + 1 :]
    elif how == 1:
        text = text[: row.start()]
    elif how == 2:
        text = text.replace(row[0], row[0].replace(row[2], f"{float(row[2]) * 1e6:.2f}", 1))
    elif how == 3:
        odd = chance.choice(("0.00", "nan", "", "x", "-5.0"))
        text = text.replace(row[0], row[0].replace(row[2], odd, 1))
    place.write("output.txt", text)
    place.write("references.yaml", references())
    ended = place.run(
        "judge", "output.txt", "--references", "references.yaml", "--system", "local:here",
        "--environ", "openmpi", "--placement", "shm-1n", "--expect", _CURVE,
    )  # fmt: skip
    expect((ended.code == 0) == (how == 4), f"ended with {ended.code}, damaged in way {how}: {row}")


@functools.cache
def references() -> str:
    """A reference file for latencies, with and without damage a good one."""
    sizes = [f"{1 << n}B" for n in range(10)] + [f"{1 << n}KiB" for n in range(10)] + ["1MiB"]
    values = {f"latency_{name}": dict.fromkeys(sizes, 10.0) for name in ("avg", "p50", "p99")}
    rule = {
        "for": {"check": "MpiPointToPoint", "benchmark": "latency", "placement": "shm-1n|tcp-.*"},
        "value": values,
        "bound": [-0.999, 9999.0],
        "warning": [-0.99, 9000.0],
        "kind": "bound",
        "source": "x",
        "date": datetime.date(2026, 1, 1),
    }
    return yaml.safe_dump({"rules": [rule]}, sort_keys=False)
