#!/usr/bin/env python3
"""A month of a fleet by the rules as they are shipped: each fault once by name, and no false page.

Usage: lab/simulate-month.py [--weeks N] [--nodes N] [--seed N]

promtool evaluates the rules each four minutes on a week at a time. Links go down or train too
slowly; cards fall off, or come back without a driver; nodes die; counters of errors rise. Between
them is what must page nobody: most nodes are booted for a new kernel, some are drained, exporters
are restarted. In the middle of each fault its alert is asked for, with its labels; then and every
two hours each alert for how many fire, except on nodes where something just began or ended.

Exit code 1: an alert is missing, has another label, or fires without a fault.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

SUITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SUITE))

from tests.monitor.conftest import promtool

RULES = SUITE / "bin" / "prometheus" / "rules.yml"
STEP = 4
"""Minutes of an evaluation."""
WEEK = 7 * 24 * 60 // STEP
HOUR = 60 // STEP
LEAF = 40
ASKED = 2 * HOUR
SETTLE = HOUR // 2


class Fault(NamedTuple):
    """Something that happens to a node.

    Attributes:
        kind: which.
        node: its number.
        at: from which step on.
        steps: how long.
        alerts: alerts that must fire meanwhile, with the labels beside the node's.
    """

    kind: str
    node: int
    at: int
    steps: int
    alerts: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def name(self) -> str:
        """The node's."""
        return f"n{self.node:03}"

    @property
    def due(self) -> range:
        """The steps at which its alerts must fire."""
        if not self.alerts:
            return range(0)
        end = self.at + self.steps
        # The counter has grown when they end, and is looked at for a quarter of an hour.
        return range(end, end + 3) if self.kind == "bit errors" else range(self.at + SETTLE, end)

    def moves(self, step: int) -> bool:
        """Whether it has begun or ended so lately that its alerts may fire or not."""
        edges = self.at, self.at + self.steps
        return step not in self.due and any(-1 <= step - edge < HOUR for edge in edges)


PORT = ("job", "leaf", "node", "device", "port")
KINDS: dict[str, tuple[int, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "link down": (5, (("LinkDown", PORT), ("FewerPortsThanPeers", ("job", "leaf", "node")))),
    "card gone": (5, (("PortMissing", ("job", "leaf", "node", "device", "port")),)),
    "no driver": (5, (("NoPorts", ("job", "leaf", "node")),)),
    "slow link": (5, (("LinkSlow", PORT),)),
    "node dead": (5, (("ExporterDown", ("job", "instance", "leaf", "node")),)),
    "bit errors": (0, (("PortErrors", ("node", "device", "port", "counter", "band")),)),
    # What must page nobody.
    "boot": (2, ()),
    "restart": (1, ()),
    "drained": (0, ()),
}  # fmt: skip
"""Hours that a kind lasts, and its alerts."""


def happen(nodes: int, chance: random.Random) -> Iterator[Fault]:
    """Faults of a week, each on a node of its own."""
    free = chance.sample(range(nodes), nodes)
    often = dict.fromkeys(KINDS, 5) | {"boot": nodes - 6 * len(KINDS)}
    for kind, (hours, alerts) in KINDS.items():
        for _ in range(often[kind]):
            node = free.pop()
            steps = {"boot": 2, "restart": 1, "bit errors": 4}.get(kind, hours * HOUR)
            at = chance.randrange(3 * HOUR, WEEK - steps - 4 * HOUR)
            yield Fault(kind, node, at, steps, alerts)


def runs(values: list[str]) -> str:
    """Values as promtool reads them, those that repeat once."""
    told: list[str] = []
    count = 0
    for at, value in enumerate(values):
        count += 1
        if at + 1 == len(values) or values[at + 1] != value:
            told.append(f"{value}x{count - 1}" if value not in ("_", "stale") else f"_x{count}")
            count = 0
    return " ".join(told)


def series_of(number: int, fault: Fault | None) -> Iterator[dict[str, str]]:
    """What is scraped of a node in the week."""
    name = f"n{number:03}"
    target = f'job="fabricheck-ports",instance="{name}:9105",leaf="leaf{number // LEAF}"'
    node = f'{target},node="{name}"'
    port = f'{node},device="mlx5_0",port="1"'
    kind, at, steps = (fault.kind, fault.at, fault.steps) if fault else ("", 0, 0)
    inside = range(at, at + steps)
    silent = kind in ("node dead", "boot", "restart")

    def course(before: str, during: str, after: str = "") -> list[str]:
        values = [before] * at + [during] * steps + [after or before] * (WEEK - at - steps)
        if silent:
            values = ["_" if step in inside else value for step, value in enumerate(values)]
        return values

    def one(metric: str, labels: str, values: list[str]) -> dict[str, str]:
        return {"series": f"{metric}{{{labels}}}", "values": runs(values)}

    down, gone = kind == "link down", kind in ("card gone", "no driver")
    up = ["1"] * at + ["0" if silent else "1"] * steps + ["1"] * (WEEK - at - steps)
    yield one("up", target, up)
    yield one("fabricheck_ports", node, course("1", "0" if kind == "no driver" else "1"))
    missing = course("0", "1" if kind == "card gone" else "0")
    yield one("fabricheck_port_missing", port, missing)
    there = course("1", "_" if gone else "0" if down else "1")
    yield one("fabricheck_port_active", port, there)
    yield one("fabricheck_port_last_active_timestamp_seconds", port, course("604800", "604800"))
    rate = course("5e+10", "_" if gone else "1.25e+10" if kind == "slow link" else "5e+10")
    yield one("fabricheck_port_rate_bytes_per_second", port, rate)
    errors = course("3", "3", "900" if kind == "bit errors" else "0" if silent else "3")
    more = f'{port},counter="symbol_error",band="bit_error"'
    yield one("fabricheck_port_errors_total", more, errors)
    booted = kind == "boot"
    changes = course("6", "6", "2" if booted else "6")
    yield one("fabricheck_port_carrier_changes_total", port, changes)
    uptime = f"900000+{STEP * 60}x{WEEK}"
    if booted:
        rest = WEEK - at - steps
        uptime = f"900000+{STEP * 60}x{at - 1} _x{steps} 60+{STEP * 60}x{rest - 1}"
    yield {"series": f"fabricheck_node_uptime_seconds{{{node}}}", "values": uptime}


def labels_of(fault: Fault, names: tuple[str, ...]) -> dict[str, str]:
    """The labels of an alert."""
    known = {
        "job": "fabricheck-ports", "instance": f"{fault.name}:9105",
        "leaf": f"leaf{fault.node // LEAF}", "node": fault.name, "device": "mlx5_0", "port": "1",
        "counter": "symbol_error", "band": "bit_error",
    }  # fmt: skip
    return {each: known[each] for each in names}


def week(nodes: int, chance: random.Random) -> tuple[dict[str, Any], list[Fault]]:
    """The series of a week, and its faults."""
    faults = sorted(happen(nodes, chance), key=lambda each: each.at)
    by_node = {each.node: each for each in faults}
    series = [one for node in range(nodes) for one in series_of(node, by_node.get(node))]
    band = 'band="bit_error",level="critical"'
    series += [
        {"series": f'fabricheck_band_limit{{node="n{node:03}",{band}}}', "values": f"100x{WEEK}"}
        for node in range(nodes)
    ]
    return {"interval": f"{STEP}m", "input_series": series}, faults


def asked(faults: list[Fault]) -> list[int]:
    """The steps at which all alerts are asked for: every two hours, and while a fault lasts."""
    lasting = {each.due[len(each.due) // 2] for each in faults if each.due}
    return sorted({*range(ASKED, WEEK - 1, ASKED), *lasting})


def questions(faults: list[Fault], step: int, names: list[str]) -> Iterator[tuple[str, int]]:
    """What is asked at a step, and the answer: of each alert, how many fire on the nodes where
    nothing begins or ends; of each that must, that it fires once.
    """
    due = [
        (alert, labels_of(each, own)) for each in faults if step in each.due
        for alert, own in each.alerts
    ]  # fmt: skip
    moving = "|".join(each.name for each in faults if each.moves(step)) or "-"
    for name in names:
        others = f'alertstate="firing",alertname="{name}",node!~"{moving}"'
        yield f"count(ALERTS{{{others}}})", sum(alert == name for alert, _ in due)
    for alert, labels in due:
        own = ",".join(f'{key}="{value}"' for key, value in labels.items())
        yield f'count(ALERTS{{alertstate="firing",alertname="{alert}",{own}}})', 1


def simulate(nodes: int, chance: random.Random, root: Path) -> tuple[int, int, list[str]]:
    """What happens in a week, the faults among it that were asked for, and what was wrong."""
    given, faults = week(nodes, chance)
    rules = yaml.safe_load(RULES.read_text())
    names = [rule["alert"] for group in rules["groups"] for rule in group["rules"]
             if "alert" in rule and rule["alert"] not in ("RulesFail", "TargetGone")]  # fmt: skip
    tests = [
        {
            "expr": expr,
            "eval_time": f"{step * STEP}m",
            "exp_samples": [{"labels": "{}", "value": answer}] if answer else [],
        }
        for step in asked(faults)
        for expr, answer in questions(faults, step, names)
    ]
    count = sum(each.due != range(0) for each in faults)
    file = root / "month_test.yml"
    (root / "rules.yml").write_text(RULES.read_text())
    document = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": f"{STEP}m",
        "tests": [{**given, "promql_expr_test": tests}],
    }
    file.write_text(yaml.dump(document, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    done: subprocess.CompletedProcess[str] = promtool("test", "rules", file)
    wrong = (
        []
        if done.returncode == 0
        else [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    )
    return len(faults), count, wrong


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weeks", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)  # noqa: S311 - no secret
    bad = 0
    for number in range(given.weeks):
        with tempfile.TemporaryDirectory() as scratch:
            faults, alerts, wrong = simulate(given.nodes, chance, Path(scratch))
        bad += bool(wrong)
        told = "as they must be" if not wrong else "\n".join(wrong[:40])
        sys.stdout.write(f"week {number + 1}: {faults} events, {alerts} of them faults: {told}\n")
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
