#!/usr/bin/env python3
"""Break each card of two nodes with four cards each, and see that it is named, and no other.

The guest of a testbed of its own is booted once. Each fault is made, measured and undone, as often
as asked for; a healthy guest comes in turn. Slow cards are judged by the table of a night's page,
from the bandwidths of perftest: two of each direction. Cards that are down, have other names or
another MTU are judged by what `fabricheck node --manifest` says of each node. An accusation of
another card is a false one. A run in which perftest could not measure a sound card is made again.
Runs are kept in build/card-faults until --forget: the next call goes on where this one ended.

Exit code 0: every fault was named each time, and nothing else was. 1: not so, or not all were run.
2: bad input.

examples:
    lab/card-faults.py --minutes 9               # as much of it as that
    lab/card-faults.py --minutes 0 --write       # the table of what was run into the page
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.node_health.alike import census, odd
from fabricheck.node_health.facts import Facts, facts_of
from fabricheck.nodes.cards import Cards
from fabricheck.nodes.told import SCRIPT, parse
from fabricheck.programs.perftest import read
from fabricheck.provenance import SUITE
from fabricheck.record.entries import Sample
from fabricheck.report.cards import card_tables
from fabricheck.report.files import write_whole
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.transports.rails import sought
from fabricheck_testbed import Testbed, faults
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest.devices import device
from generated import insert

KEPT: Final = SUITE / "build" / "card-faults" / "runs.jsonl"
DOCUMENT: Final = SUITE / "docs" / "how-to" / "localisation.md"
COMMAND: Final = "lab/card-faults.py --write"
NODES: Final = ("rx1", "rx2")
CARDS: Final = range(4)
PORTS: Final = tuple(f"gid=fe80::{card}:0/112" if card else "gid=fe80::/112" for card in CARDS)
HEALTHY: Final = "healthy"
FAULTS: Final = ("rate 2mbit", "link down", "rename other0", "mtu 1500")
SOUND: Final = ("rate", "10mbit")
"""Of every other card: the cables are the limit, not the cores, which other work takes at times.

What is on its way, 64 packets of 4 KiB, lasts for 0.2 s in which nobody sends."""
TRIES: Final = 4
# Benchmark and the rank on rx1 that is its client; two in each direction.
RUNS: Final = (("ib_write_bw", 0), ("ib_send_bw", 0), ("ib_read_bw", 0), ("ib_write_bw", 1))
_SECONDS: Final = 180.0
_RAILS: Final = f'. "{SUITE}/src/fabricheck/transports/rails.sh"; find_rail "$rail"'
_TEST: Final = (
    '"$1" -d "${found%:*}" -i 1 -x 1 -F -s 65536 -n 20 -u 20 -p "$2" --force-link=Ethernet'
)
# Arguments: program, port of TCP and rail of each run. A server ends with its input. None is
# measured while others start, which takes both cores: the first card would be the slow one.
_SERVE: Final = f"""
while [ $# -gt 0 ]; do
    rail=$3; {_RAILS}
    timeout 170 {_TEST} >/dev/null 2>&1 & pids="$pids $!"
    shift 3
done
cat >/dev/null; kill $pids 2>/dev/null; :
"""
_FIRST: Final = 18600
_ASK: Final = f"""
server=$1; servers=$2; shift 2
for turn in $(seq 150); do
    [ "$(ss -Hltn 'sport >= :{_FIRST}' | wc -l)" -ge "$servers" ] && break
    sleep 0.2
done
while [ $# -gt 0 ]; do
    rail=$3; {_RAILS}
    for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        said=$(timeout 20 {_TEST} "$server" 2>&1) && break
        case $said in *"state is"*) break ;; esac
        sleep 0.2
    done
    echo "=== $2"; echo "$said"
    shift 3
done
"""


class Run(NamedTuple):
    """What a run said of a fault."""

    target: str
    fault: str
    named: bool
    false: list[str]


def main() -> int:
    """Read the options, and go through the faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5, help="each fault of each card (5)")
    parser.add_argument("--healthy", type=int, default=20, help="without a fault (20)")
    parser.add_argument("--only", action="append", metavar="FAULT", help="may be repeated")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many")
    parser.add_argument("--forget", action="store_true", help="forget the runs that were kept")
    parser.add_argument("--write", action="store_true", help=f"the table of {DOCUMENT.name}")
    options = parser.parse_args()
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    if options.forget:
        KEPT.unlink(missing_ok=True)
    runs = [Run(*json.loads(each)) for each in _kept()]
    wanted = dict.fromkeys(((f"{node}:{card}", fault) for fault in FAULTS for node in NODES
                            for card in CARDS), options.times)  # fmt: skip
    wanted |= {("", HEALTHY): options.healthy}
    wanted = {key: n for key, n in wanted.items() if not options.only or key[1] in options.only}
    due = list(turns(wanted, runs))
    try:
        if due and options.minutes > 0:
            hold(due, runs, time.monotonic() + 60 * options.minutes)
    except (FabricheckError, TestbedError) as error:
        sys.stderr.write(f"card-faults: {error}\n")
        return error.exit_code
    table = "\n".join(words(runs))
    sys.stdout.write(f"{table}\n")
    if options.write:
        write_whole(DOCUMENT, insert(DOCUMENT.read_text(), COMMAND, [table], DOCUMENT))
    good = all((run.named or not run.target) and not run.false for run in runs)
    return 0 if good and not list(turns(wanted, runs)) else 1


def _kept() -> list[str]:
    return KEPT.read_text().splitlines() if KEPT.exists() else []


def turns(wanted: Mapping[tuple[str, str], int], runs: list[Run]) -> Iterator[tuple[str, str]]:
    """Each target and fault as often as it still is to be run, in turns."""
    made = {key: sum((run.target, run.fault) == key for run in runs) for key in wanted}
    for turn in range(max(wanted.values(), default=0)):
        yield from (key for key, number in wanted.items() if made[key] <= turn < number)


def words(runs: list[Run]) -> Iterator[str]:
    """The rows of the table: of each fault the card that was named least often."""
    yield "| fault | named, each card | others accused |"
    yield "|---|---|---|"
    for fault in FAULTS:
        here = [r for r in runs if r.fault == fault]
        of = [
            [r.named for r in here if r.target == f"{node}:{card}"]
            for node in NODES for card in CARDS
        ]  # fmt: skip
        least = max(of, key=lambda each: len(each) - sum(each))
        yield f"| {fault} | {sum(least)} of {len(least)} | {_false(here)} |"
    yield f"| {HEALTHY} | - | {_false([r for r in runs if not r.target])} |"


def _false(runs: list[Run]) -> str:
    return f"{sum(bool(run.false) for run in runs)} of {len(runs)}"


def hold(due: list[tuple[str, str]], runs: list[Run], until: float) -> None:
    """The runs that are still to be made, in one guest."""
    with tempfile.TemporaryDirectory(prefix="fabricheck-cards-") as directory:
        testbed = Testbed(Path(directory) / "tb")
        try:
            testbed.up(nodes=1, rdma=True, cards=len(CARDS), shares=[SUITE])
            for card in CARDS:
                for node in NODES:
                    faults.inject(testbed.files, f"{node}:{card}", SOUND)
            manifests = {node: told(testbed, node) for node in NODES}
            for target, fault in due:
                if time.monotonic() > until:
                    return
                run = one(testbed, manifests, target, fault)
                runs.append(run)
                with KEPT.open("a") as kept:
                    kept.write(json.dumps(run) + "\n")
        finally:
            testbed.down()


def one(testbed: Testbed, manifests: Mapping[str, Cards], target: str, fault: str) -> Run:
    """One run under one fault.

    Raises:
        FabricheckError: if a sound card was not measured, however often it was tried.
    """
    for _ in range(TRIES):
        begin = time.monotonic()
        if target:
            faults.inject(testbed.files, target, fault.split())
        try:
            # What a node says of its cards needs no measuring.
            cases = measured(testbed) if not target or "rate" in fault else []
            accused = [s for node in NODES for s in wrong(testbed, node, manifests[node])]
        finally:
            if target:
                faults.clear(testbed.files, target)
                faults.inject(testbed.files, target, SOUND)
        for table in card_tables(ReportedRun(Path(), "", tuple(cases))):
            accused += table.accused
        node, _, card = target.partition(":")
        here = places(node, int(card), fault) if target else {}
        right = tuple(place for place, is_own in here.items() if is_own)
        lost = {case.port for case in cases if not case.samples}
        if lost <= ({PORTS[int(card)]} if target else set()):
            named = bool(right) and any(each.startswith(right) for each in accused)
            false = [each for each in accused if not each.startswith(tuple(here))]
            run = Run(target, fault, named, false)
            took = time.monotonic() - begin
            tell(f"{target} {fault}: {took:.0f} s, named {run.named}, false {run.false}; {accused}")
            return run
        tell(f"{target} {fault}: again: {', '.join(sorted(lost))} not measured")
    raise FabricheckError(f"expected perftest to measure under {target} {fault}, found it can't")


def places(node: str, card: int, fault: str) -> dict[str, bool]:
    """How a right accusation may begin, and whether that names the card of this end."""
    (other,) = (each for each in NODES if each != node)
    own, far = (f"{each} {device(each, card)}" for each in (node, other))
    port = f"Card {PORTS[card]} of "
    if fault.startswith("rate"):
        return {f"{port}{node} is slow": True}
    # A cable has two ends; what has a smaller MTU, or no name, measures otherwise, too.
    return {own: True, port: False} | ({far: False} if fault == "link down" else {})


def measured(testbed: Testbed) -> list[ReportedCase]:
    """The bandwidths of each card in each direction."""
    runs = [(name, client, port) for port in PORTS for name, client in RUNS]
    words = {
        client: [word for number, (name, who, port) in enumerate(runs) if who == client
                 for word in (name, str(_FIRST + number), sought(port))]
        for client in (0, 1)
    }  # fmt: skip
    servers = [
        subprocess.Popen(
            testbed.command(NODES[1 - client], "sh", "-c", _SERVE, "serve", *words[client]),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        )
        for client in (0, 1)
    ]  # fmt: skip
    said = ""
    try:
        for client in (0, 1):
            due = str(sum(len(words[each]) // 3 for each in (0, 1) if each >= client))
            script = ("sh", "-c", _ASK, "ask", NODES[1 - client], due, *words[client])
            said += testbed.run(NODES[client], *script, timeout_seconds=_SECONDS).stdout
    finally:
        for each in servers:
            each.communicate(timeout=_SECONDS)
    outputs = {int(each[:5]): each[6:] for each in said.split("=== ") if each}
    cases = [case(*run, outputs.get(_FIRST + number, "")) for number, run in enumerate(runs)]
    values = [f"{sum(point.value for point in each.samples[:1]):.1f}" for each in cases]
    tell(f"MB/s, {len(RUNS)} of each card: {' '.join(values)}")
    return cases


def case(name: str, client: int, port: str, output: str) -> ReportedCase:
    """A case of a night; where perftest printed no table, one that failed."""
    try:
        points = read.parse(output, name).points
    except FabricheckError:
        points = ()
    samples = tuple(
        Sample(metric=str(metric), statistic=how, size=each.size, value=value, unit="MB/s")
        for each in points for (metric, how), value in each.values.items() if value
    )  # fmt: skip
    return ReportedCase(
        time="", system="testbed", partition="cards", environ=f"client {NODES[client]}",
        check="VerbsPerftest", benchmark=name, transport="rc", num_nodes=2, port=port,
        nodes=(NODES[1 - client], NODES[client]), name=name, level=str(Level.NO_REFERENCE),
        samples=samples, status=Status.NO_REFERENCE if samples else Status.UNTRUSTED,
    )  # fmt: skip


def told(testbed: Testbed, node: str) -> Cards:
    """What a node says of its cards."""
    return _facts(testbed, node).cards


def wrong(testbed: Testbed, node: str, manifest: Cards) -> list[str]:
    """What ``fabricheck node`` says of the ports and cards of a node, a sentence for each."""
    facts = _facts(testbed, node)
    return [
        f"{node} {sentence}"
        for rule in ("ports", "cards")
        for _, sentence in odd(rule, facts, census((facts,)), manifest, (), alone=True)
    ]


def _facts(testbed: Testbed, node: str) -> Facts:
    said = testbed.run(
        node, str(SCRIPT), "now", "node", "ports", "cards", "roce", timeout_seconds=_SECONDS
    ).stdout
    return facts_of(parse(said, node)[-1], {"clock": ["0"]}, node)


def tell(text: str) -> None:
    """Say how far it is."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
