"""Runs of pair_probe that did not happen: their rounds, as the check keeps them."""

import json
from pathlib import Path
from typing import Any

from tests.programs.results import document

from fabricheck.localise.evidence import Round
from fabricheck.localise.located import write_told
from fabricheck.localise.schedules import Schedule
from fabricheck.localise.topology import Topology, as_json
from simulation.pairs import Simulated


def kept(
    simulated: Simulated, directory: Path, seed: int = 7, port: str = "", dead: str = ""
) -> Path:
    """Measure a simulated fabric, and leave what the check leaves."""
    directory.mkdir(parents=True, exist_ok=True)
    fabric = simulated.fabric()
    schedule = Schedule(fabric, seed)
    rounds: list[Round] = []
    while (pairs := schedule.next(rounds)) is not None:
        rounds.append(simulated.measure(pairs))
    whole = document("pair_probe", "pairs", [_result(n, each) for n, each in enumerate(rounds, 1)])
    whole["environment"] |= {"ranks": len(fabric.nodes), "hosts": list(fabric.nodes)}
    whole["units"] |= {"latencies": "s", "there": "B/s", "back": "B/s"}
    (directory / "result.json").write_text(json.dumps(whole))
    known = None
    if simulated.kind.spines:
        known = directory / "fabric.topology"
        known.write_text(json.dumps(as_json(topology(simulated))))
    write_told(directory, known, {}, {}, {dead: port} if dead else {}, port=port)
    return directory


def topology(simulated: Simulated) -> Topology:
    """What is known of a simulated fabric: its leaves, spines and routes."""
    kind = simulated.kind
    leaves = {f"n{node}": f"leaf{node // kind.hosts}" for node in range(kind.nodes)}
    spines = tuple(f"spine{number}" for number in range(kind.spines))
    ways = {node: spines[int(node[1:]) % kind.spines] for node in leaves}
    names = sorted(set(leaves.values()))
    return Topology(leaves, dict.fromkeys(names, spines), dict.fromkeys(names, ways))


def _result(number: int, each: Round) -> dict[str, Any]:
    return {
        "round": number,
        "pairs": len(each.pairs),
        "first": each.pairs[:, 0].tolist(),
        "second": each.pairs[:, 1].tolist(),
        "latencies": each.latency.tolist(),
        "there": each.there.tolist(),
        "back": each.back.tolist(),
        "valid": True,
    }
