"""Random reference files: indices, patterns and layouts as somebody may write them."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.baseline.test_apply import CHECK, accept, proposed

from fabricheck.baseline.proposal import Case
from fabricheck.judge.model import CaseKey
from fabricheck.judge.references import resolve

NAMES: dict[str, tuple[str, ...]] = {
    "$system": ("hpc", "h.*"),
    "$partition": ("hpc:cpu", ".*"),
    "$environ": ("openmpi", "mpich", "(openmpi|mpich)", ".*", "o.*"),
    "placement": ("rc-2n", "tcp-2n", "rc-4n", ".*-2n", ".*", "(rc-2n|tcp-2n)"),
    "transport": ("rc", ".*"),
}
CASES = [
    Case(CHECK, CaseKey("hpc", "hpc:cpu", environ, "latency", placement))
    for environ, placement in itertools.product(("openmpi", "mpich"), ("rc-2n", "tcp-2n", "rc-4n"))
]


def tree(index: list[str], leaf: Any, chance: random.Random, always: str = "") -> Any:
    if not index:
        return leaf(chance)
    keys = [key for key in NAMES[index[0]] if chance.random() < 0.5] or [NAMES[index[0]][0]]
    chance.shuffle(keys)
    found = {key: tree(index[1:], leaf, chance, always) for key in keys}
    return found | ({always: tree(index[1:], leaf, chance, always)} if always else {})


def text(node: dict[str, Any], chance: random.Random, indent: int = 0) -> str:
    """YAML with blocks and braces, comments and empty lines."""
    pad, found = " " * indent, ""
    for key, value in node.items():
        if isinstance(value, dict) and chance.random() < 0.6:
            comment = chance.choice(["", "", "  # so it is", "\n"])
            found += f"{pad}{key}:{comment}\n{text(value, chance, indent + 2)}"
        else:
            flow = yaml.safe_dump(value, default_flow_style=True, width=60).rstrip()
            lines = flow.replace("\n...", "").replace("\n", f"\n{pad}  ")
            found += f"{pad}{key}: {lines}\n"
    return found


def random_file(chance: random.Random) -> str:
    def entry(chance: random.Random) -> Any:
        return {"latency_p50_8B": [chance.randint(3, 99), -0.5, 4, "us"]}

    def levels(_chance: random.Random) -> Any:
        return {"warning": [-0.4, 3], "kind": "bound", "source": "x", "date": "2026-01-01"}

    index = chance.sample(list(NAMES), chance.randint(1, 4))
    of_levels = chance.sample(list(NAMES), chance.randint(1, 3))
    sections = {
        CHECK: {"$index": index, **tree(index, entry, chance)},
        f"{CHECK}.levels": {"$index": of_levels, **tree(of_levels, levels, chance, ".*")},
    }
    return text(sections, chance)


@pytest.mark.parametrize("seed", range(40))
def test_cases_get_what_is_proposed_and_the_others_keep_theirs(tmp_path: Path, seed: int):
    chance = random.Random(seed)
    path = tmp_path / "hpc.yaml"
    path.write_text(random_file(chance))
    wanted = chance.sample(CASES, chance.randint(1, 4))
    others = [case for case in CASES if case not in wanted]
    before = [resolve(path, CHECK, case.key) for case in others]
    accept(path, *map(proposed, wanted), others=others, reindex=True)
    assert [resolve(path, CHECK, case.key) for case in others] == before
    for case in wanted:
        references, tolerance = resolve(path, CHECK, case.key)
        assert references["latency_p50_8B"].value == 2.5
        assert tolerance is not None
        assert tolerance.kind == "measured"
    assert accept(path, *map(proposed, wanted), others=others, reindex=True) == ""
