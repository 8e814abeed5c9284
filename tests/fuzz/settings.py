"""Damaged site files, references and acceptances of steps."""

import functools
import json
from pathlib import Path
from random import Random
from typing import Any

import yaml
from tests.fuzz import damage
from tests.fuzz.outputs import DATA, references
from tests.fuzz.place import Place, expect

from fabricheck import provenance

_PIECES = (
    "trend: {alarm_p: .nan}", "trend: {nope: 1}", "trend: [1]", "acceptance: {margin: x}",
    "acceptance: {margin: .inf}", "systems: null", "systems: []", "hostnames: ['[']",
    "x: !!int abc",
    "x: !!float abc", "x: !!bool abc", "x: !!timestamp abc", "x: 2026-02-30", "x: &a [*a]",
    "x: !!python/object:os.system ls", "? [1, 2]\n: 3", "<<: 5", "x: " + "9" * 5000,
    "%YAML 9.9\n---",
    "---\nx: 1\n---\ny: 2", "x: !!binary '='", "x: *nobody", "x: {" * 500, "x: " + "[" * 30000,
    "\tx: 1", "x: 'open", "!!bool abc: 1", "x: !!set {a, b}", "environments: {}",
    "scheduler: slrum",
    "name: 5", "features: [rdma, rdma]", "trend: {penalty: true}", "x: 0o999", "x: 1e999", "~: 1",
)  # fmt: skip


def sites(chance: Random, place: Place) -> None:
    """A site file; one that nothing is wrong with stops no other command."""
    suite = provenance.SUITE
    name = chance.choice(sorted(path.name for path in (suite / "sites").glob("*.yaml")))
    path = suite / "sites" / name
    original = path.read_text()
    place.write("site.yaml", _damaged(original, chance))
    try:
        path.write_bytes((place.inside / "site.yaml").read_bytes())
        checked = place.run("site", "check", path.stem)
        trend = place.run("trend", "--sites", suite / "sites", "--store", "nowhere")
        if checked.code == 0:
            expect("site" not in trend.stderr, f"0 wrong, and trend refuses it: {trend.stderr}")
        expect(checked.code or "wrong: " not in checked.stdout, "wrong, and the code is 0")
        if chance.random() < 0.2:
            place.run("references", "list", "--system", path.stem)
    finally:
        path.write_text(original)


def reference_files(chance: Random, place: Place) -> None:
    """A reference file, for a list and for a verdict."""
    original = chance.choice((references(), _smallest_references()))
    place.write("references.yaml", _damaged(original, chance))
    place.run(
        "judge", DATA / "mpi_probe" / "latency.json", "--references", "references.yaml", "--system",
        "local:here", "--environ", "openmpi", "--placement", "shm-1n",
    )  # fmt: skip
    suite = provenance.SUITE
    path = suite / "references" / "local.yaml"
    before = path.read_bytes()
    try:
        path.write_bytes((place.inside / "references.yaml").read_bytes())
        place.run("references", "list", "--system", "local")
    finally:
        path.write_bytes(before)


def acceptances(chance: Random, place: Place) -> None:
    """A file of accepted steps: all of its records count, or it is refused."""
    record: dict[str, Any] = {
        "date": "2026-11-20", "series": {"partition": "rdma", "benchmark": ["latency", "bw"]},
        "by": "Ada", "signed": "2026-11-23", "why": "a reason",
    }  # fmt: skip
    text = yaml.safe_dump([record, record | {"series": {}}]).replace("'", "")
    place.write("references/hpc.accepted.yaml", _damaged(text, chance))
    place.run("trend", "--references", "references", "--sites", "none", "--store", "nowhere")


@functools.cache
def _smallest_references() -> str:
    files = (Path(provenance.SUITE) / "references").glob("*.yaml")
    return min((path.read_text() for path in files), key=len)


def _damaged(original: str, chance: Random) -> bytes:
    how = chance.random()
    if how < 0.4:
        document = yaml.safe_load(original)
        for _ in range(chance.choice((1, 1, 2))):
            document = damage.tree(document, chance)
        try:
            text = yaml.safe_dump(document, sort_keys=False, allow_unicode=chance.random() < 0.5)
        except (yaml.YAMLError, RecursionError, ValueError):
            text = json.dumps(None)
    elif how < 0.6:
        lines = original.splitlines()
        place = chance.randrange(len(lines) + 1)
        indent = chance.choice(("", "  ", "      "))
        lines[place:place] = [indent + chance.choice(_PIECES)]
        text = "\n".join(lines)
    elif how < 0.65:
        text = chance.choice(_PIECES)
    else:
        text = damage.text(original, chance)
    content = text.encode("utf-8", "surrogatepass")
    return damage.octets(content, chance) if chance.random() < 0.05 else content
