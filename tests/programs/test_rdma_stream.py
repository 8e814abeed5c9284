"""What rdma_stream and SEREN's program print: the seed's rates, each damage with its sentence."""

import csv
import json
import re
from pathlib import Path

import pytest
from tests.programs.results import named
from tests.refusals import refused

from fabricheck.errors import ParseError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, resolve
from fabricheck.judge.verdict import Subject, judge_curve
from fabricheck.measures.curve import Curve
from fabricheck.measures.parser import parse
from fabricheck.programs.rdma_stream.entries import BENCHMARKS as STREAM_BENCHMARKS
from fabricheck.programs.rdma_stream.entries import TOPOLOGIES, topology_of
from fabricheck.programs.rdma_stream.judge import stream_findings
from fabricheck.programs.rdma_stream.read import MISSED, UNEVEN, is_output, read_seren
from fabricheck.sites.extras import PartitionExtras

ROOT = Path(__file__).parents[2]
SEREN = ROOT / "tests" / "data" / "seren"
REFERENCES = ROOT / "references" / "seren-10n.yaml"
SCENARIOS = {
    "t1": ("same-node-pairs-10n", "rc-10n"),
    "t2": ("1-pair-2n", "rc-2n"),
    "t3": ("2-pairs-4n", "rc-4n"),
    "t4": ("1node-1rxproc-2tx", "rc-1n"),
}
OWN = (ROOT / "tests" / "data" / "rdma_stream" / "t6.json").read_text()


def seren(topology: str) -> str:
    return (SEREN / f"{topology}.txt").read_text()


def judged(topology: str, text: str, placement: str):
    curve = parse(text, topology, f"rdma_stream_{topology}")
    key = CaseKey("seren-10n", "seren-10n:compute", "openmpi", curve.benchmark, placement)
    references, tolerance = resolve(REFERENCES, "RdmaStream", key)
    return judge_curve(curve, references, tolerance), stream_findings(Subject(curve, None))


def test_all_30_rates_of_the_seed_are_read():
    with (SEREN / "rates.csv").open() as file:
        wanted = {
            (row["scenario"], row["role"], int(row["rank"]), int(row["from_tx"] or 0)): float(
                row["rate_gbps"]
            )
            for row in csv.DictReader(file)
        }
    found = {}
    for topology, (scenario, _) in SCENARIOS.items():
        streams, _ = read_seren(seren(topology), topology)
        for each in streams:
            found[scenario, "rx", each.receiver, each.number] = each.rate
            found[scenario, "tx", each.receiver + each.number, 0] = each.sent_rate
            assert (each.missed, each.received) == (0, each.total)
    assert len(wanted) == 30
    assert found == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("topology", SCENARIOS)
def test_the_seeds_rates_are_good_against_their_references(topology):
    verdict, findings = judged(topology, seren(topology), SCENARIOS[topology][1])
    assert (verdict.level, verdict.findings, findings) == (Level.GOOD, (), [])


def at_rate(text: str, side: str, rate: float) -> str:
    """The text with another rate of that side, and the time that goes with it."""
    factor = rate / float(re.search(rf"{side},? data rate is (\S+)", text)[1])
    for what, times in (("data rate", factor), ("elapsed time", 1 / factor)):
        text = re.sub(
            rf"({side},? {what} is )(\S+)",
            lambda line, times=times: f"{line[1]}{float(line[2]) * times!r}",
            text,
        )
    return text


@pytest.mark.parametrize(("rate", "level"), [(95.0, Level.WARNING), (92.0, Level.CRITICAL)])
def test_a_slower_stream_is_seen(rate, level):
    slower = at_rate(seren("t2"), "receiver from transmitter 0", rate)
    assert judged("t2", slower, "rc-2n")[0].level is level


def test_a_lost_message_is_critical_whatever_the_rate():
    lost = (
        seren("t2")
        .replace("missed is 0", "missed is 1")
        .replace("received is 100000", "received is 99999")
    )
    lost = lost.replace("loss rate is 0.0", "loss rate is 1e-05")
    verdict, ((level, words),) = judged("t2", lost, "rc-2n")
    assert level is verdict.level is Level.CRITICAL
    assert words.startswith("expected no lost message, found 1 of 100000 lost")


def test_streams_that_share_a_link_unevenly_are_a_warning():
    text = at_rate(seren("t4"), "receiver from transmitter 1", 46.0)
    ((level, words),) = judged("t4", text, "rc-1n")[1]
    assert level is Level.WARNING
    assert "found one 6.1 % away" in words


def test_what_serens_program_prints_needs_the_name_of_its_topology():
    assert is_output(seren("t1"))
    for name in ("", "latency", "rdma_batch_read", "mpi_stream_t2"):
        with refused("FC1235"):
            parse(seren("t1"), "out", name)
    with refused("FC1236", r"expected streams of T4 .* found 10 into 10 receivers"):
        parse(seren("t1"), "out", "rdma_stream_t4")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Rank 0 transmitter data rate", "Rank 0 x data rate", "expected the 'data rate'"),
        ("missed is 0", "missed is 3", "expected missed and received messages to be the total"),
        ("message total is 100000", "message total is 100001", "to be the total"),
        ("Rank 0 transmitter", "Rank 7 transmitter", "expected the 'data rate'"),
        ("missed is 0", "missed is 1e999", "line 5: expected a figure of a rank"),
        ("missed is 0", "missed is 0.9", "line 5: expected a figure of a rank"),
        ("total is 100000", f"total is {'9' * 5000}", "line 7: expected a figure of a rank"),
        ("97.71920957824764", "97.91920957824764", "expected one size of messages from times"),
        ("(1, 10, 100, 65536)", "(1, 10, 100, 32768)", "found 32768, 65536 B"),
        ("INFO:\tReceive Visibilities ending 0\n", "", "found 1 with 1 streams: the output is cut"),
    ],
)
def test_damage_of_serens_output(old, new, words):
    assert old in seren("t2")
    with pytest.raises(ParseError, match=words):
        read_seren(seren("t2").replace(old, new), "out")


def test_no_cut_of_serens_output_is_a_smaller_topology():
    text = seren("t1")
    lines = text.splitlines(keepends=True)
    for count in range(len(lines)):
        with pytest.raises(ParseError):
            parse("".join(lines[:count]), "cut", "rdma_stream_t1")
    assert parse(text, "whole", "rdma_stream_t1").is_whole


def test_own_output_tells_its_topology():
    curve = parse(OWN, "out")
    assert curve.benchmark == "mpi_stream_t6"
    assert (curve.program, curve.version) == ("rdma_stream", "0.1.0")
    (point,) = curve.points
    assert (point.size, point.iterations) == (4096, 500)
    assert list(named(curve.variables())) == [
        "bandwidth_avg_4KiB",
        "bandwidth_min_4KiB",
        "error_ratio_avg_4KiB",
    ]
    assert named(curve.variables())["error_ratio_avg_4KiB"] == (0.1, "1")
    assert stream_findings(Subject(curve, None, PartitionExtras(stream_share=1.0)))[0][
        1
    ].startswith("expected no lost message, found 100 of 1000 lost")


@pytest.mark.parametrize(
    ("method", "allowed", "words"),
    [
        ("udp", 0.05, "expected at most 5 % of the messages lost, found 100 of 1000 lost"),
        ("udp", 0.1, None),
        # What repeats its messages loses none.
        ("mpi", 0.1, "expected no lost message, found 100 of 1000 lost"),
    ],
)
def test_a_partition_may_allow_datagrams_to_be_lost(method, allowed, words):
    metadata = {MISSED: "100 of 1000", UNEVEN: "0.0"}
    curve = Curve(f"{method}_stream_t2", "rdma_stream", "1", None, metadata, ())
    found = [
        words
        for _, words in stream_findings(Subject(curve, None, PartitionExtras(stream_loss=allowed)))
    ]
    assert [each.partition(":")[0] for each in found] == ([words] if words else [])


def test_topologies_are_the_sources():
    assert TOPOLOGIES["T1"].places(10) == [*range(10), *range(10)]
    assert TOPOLOGIES["T2"].places(2) == [0, 1]
    assert TOPOLOGIES["T3"].places(4) == [0, 1, 2, 3]
    assert TOPOLOGIES["T4"].places(1) == [0, 0, 0]
    assert TOPOLOGIES["T5"].places(2) == [0, 1, 0, 1, 0, 1]
    assert TOPOLOGIES["T6"].places(3) == [0, 1, 2]
    assert TOPOLOGIES["T6"].places(2) == [0, 1, 1]
    assert TOPOLOGIES["T7"].places(6) == [0, 1, 2, 3, 4, 5]
    assert [name for name, each in TOPOLOGIES.items() if each.units_on(5)] == ["T1", "T5"]
    assert [name for name, each in TOPOLOGIES.items() if each.units_on(1)] == ["T1", "T4"]


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_topology_is_recognised_by_its_hosts(name):
    topology = TOPOLOGIES[name]
    for nodes in (1, 2, 3, 4, 6, 10):
        units = topology.units_on(nodes)
        if not units:
            continue
        places = topology.places(nodes)
        streams = [
            (f"n{places[tx % units]}:{tx % units}", f"n{places[units + tx]}")
            for tx in range(units * topology.transmitters)
        ]
        assert topology_of(streams) is topology


def test_what_is_no_topology_is_none():
    assert topology_of([("n1:0", "n1"), ("n2:1", "n3")]) is None
    assert topology_of([("n1:0", "n2"), ("n1:0", "n3"), ("n4:1", "n5")]) is None
    assert topology_of([("n1:0", "n1"), ("n1:0", "n2")]) is None


def test_a_pair_on_one_node_is_the_first_topology():
    assert TOPOLOGIES["T1"].places(1) == [0, 0]
    alone = json.loads(OWN.replace('"n2"', '"n1"'))
    alone |= {"benchmark": "rdma", "expected": 1, "results": alone["results"][:1]}
    found = parse(json.dumps(alone), "out")
    assert found.benchmark == "rdma_stream_t1"


def test_sizes_are_the_sources():
    assert STREAM_BENCHMARKS["rdma_stream_t1"].max_size == 65536
    assert {each.method for each in STREAM_BENCHMARKS.values()} == {"rdma", "mpi", "udp"}
