"""Two programs in one job: their commands, in turns, and the ratio of their medians."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.programs.results import document, named
from tests.refusals import refused

from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, resolve
from fabricheck.judge.verdict import Subject, judge_curve
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Setting
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.programs.rdma_batch import in_turns, judge, launch
from fabricheck.programs.rdma_batch.entries import BENCHMARKS as PROGRAM_BENCHMARKS
from fabricheck.programs.rdma_batch.entries import COMPARISONS
from fabricheck.sites.extras import PartitionExtras

DATA = Path(__file__).parents[1] / "data" / "perftest-4.5"
READ_LAT = (DATA / "read_lat.rc.txt").read_text()
WRITE_BW = (DATA / "write_bw.rc.txt").read_text()
SETTING = in_turns.Setting("/build/rdma_batch", ("--gid-index", "1"), ("-x", "1"), lambda _: 50)
SESSION = PROGRAM_BENCHMARKS["rdma_batch_session"]
BANDWIDTH = PROGRAM_BENCHMARKS["rdma_batch_write_bandwidth"]
READ = PROGRAM_BENCHMARKS["rdma_batch_read_latency"]
WRITE = PROGRAM_BENCHMARKS["rdma_batch_write_latency"]


def result(size: int, batch: int, least: float, average: float, median: float) -> str:
    """What rdma_batch writes for one row; times in us."""
    seconds = {"min": least * 1e-6, "avg": average * 1e-6, "p50": median * 1e-6}
    total = size * batch
    row = {
        "initiator": 0, "size": size, "batch": batch, "bytes": total, "iterations": 50,
        "latency": seconds,
        "bandwidth": {"max": total / seconds["min"], "avg": total / seconds["avg"]},
    }  # fmt: skip
    found = document("rdma_batch", "read", [row])
    found["environment"] |= {"ranks": 1, "mtu": 4096}
    return json.dumps(found)


def test_both_take_turns_at_each_size():
    runs = in_turns.turns(READ, [8, 16], SETTING)
    assert [(turn.is_own, turn.size) for turn in runs] == [
        (False, 8), (True, 8), (False, 16), (True, 16),
    ] * in_turns.ROUNDS  # fmt: skip
    assert " ".join(runs[0].words) == "ib_read_lat -x 1 -s 8 -n 50"
    own = " ".join(runs[1].words)
    assert own.startswith("/build/rdma_batch --enable-sess --enable-batch-transfer --op read ")
    assert "--buffer-size 8 --transfer-batch-size 1 --iters 50" in own
    assert own.endswith(" --no-validate --json - --gid-index 1")


def test_perftest_moves_as_many_messages_as_all_batches():
    (rival, own, *_) = in_turns.turns(BANDWIDTH, [65536], SETTING)
    assert " ".join(rival.words) == "ib_write_bw -t 128 -x 1 -s 65536 -n 12800"
    assert "--transfer-batch-size 256 --iters 50" in " ".join(own.words)
    assert "--sq-depth 128" in " ".join(own.words)


def test_a_latency_is_divided_by_ours_and_medians_outvote_one_disturbed_run():
    runs = in_turns.turns(READ, [2], SETTING)
    outputs = [
        text
        for average in (40, 5000, 42)
        for text in (READ_LAT, result(2, 1, 30, average, average))
    ]
    sides = in_turns.read(READ, runs, outputs, "job")
    assert sides.own == pytest.approx({2: 42})
    assert sides.rival[2] > 0
    curve = in_turns.ratios(READ, sides)
    ratio = curve.points[0].values[Metric.RATIO, "p50"]
    assert ratio == pytest.approx(sides.rival[2] / 42)
    assert list(named(curve.variables())) == ["ratio_p50_2B"]
    assert len(sides.rows) == 3


def test_a_bandwidth_is_ours_divided_by_theirs():
    runs = in_turns.turns(BANDWIDTH, [65536], SETTING)
    own = result(65536, 256, 4e5, 5e5, 5e5)
    sides = in_turns.read(BANDWIDTH, runs, [WRITE_BW, own] * in_turns.ROUNDS, "job")
    assert sides.own[65536] == pytest.approx(65536 * 256 / 5e5)
    assert in_turns.ratio(BANDWIDTH, sides, 65536) == sides.own[65536] / sides.rival[65536]


def test_one_write_in_flight_is_told_as_a_rate():
    runs = in_turns.turns(WRITE, [65536], SETTING)
    own = result(65536, 1, 100, 200, 150)
    sides = in_turns.read(WRITE, runs, [WRITE_BW, own] * in_turns.ROUNDS, "job")
    assert sides.own[65536] == pytest.approx(200), "an average beside an average"
    bandwidth = in_turns.read(BANDWIDTH, in_turns.turns(BANDWIDTH, [65536], SETTING),
                            [WRITE_BW, own] * in_turns.ROUNDS, "job").rival[65536]  # fmt: skip
    assert sides.rival[65536] == pytest.approx(65536 / bandwidth)


def test_our_own_program_may_be_the_other_one():
    runs = in_turns.turns(SESSION, [8], SETTING)
    assert runs[0].words[0] == runs[1].words[0] == "/build/rdma_batch"
    assert "--enable-sess" in runs[1].words
    assert "--enable-sess" not in runs[0].words
    outputs = [result(8, 128, 100, 120, 120), result(8, 128, 80, 100, 100)] * in_turns.ROUNDS
    sides = in_turns.read(SESSION, runs, outputs, "job")
    assert in_turns.ratio(SESSION, sides, 8) == pytest.approx(1.2)
    assert len(sides.rows) == 6


def test_a_damaged_output_is_named_by_its_run():
    runs = in_turns.turns(READ, [2], SETTING)
    outputs = [READ_LAT, result(2, 1, 30, 40, 40)] * in_turns.ROUNDS
    outputs[3] = "nothing"
    with refused("FC1114", r"^job: run 4: "):
        in_turns.read(READ, runs, outputs, "job")


def test_every_comparison_has_one_metric_and_known_programs():
    for entry in COMPARISONS.values():
        assert entry.metrics == (Metric.RATIO,)
        assert entry.rival in ("rdma_batch", "ib_read_lat", "ib_read_bw", "ib_write_bw")


PORTS = tuple(f"mlx5_{number}:1" for number in range(4))
ALL_CARDS = PROGRAM_BENCHMARKS["rdma_batch_all_cards"]


def together(*times: float) -> str:
    """What rdma_batch writes of so many devices, with the average time of each."""
    found = json.loads(result(65536, 64, 1, times[0], times[0]))
    (row,) = found["results"]
    found["results"] = [
        row | {"initiator": number, "latency": row["latency"] | {"avg": time * 1e-6},
               "bandwidth": row["bandwidth"] | {"avg": row["bytes"] / time * 1e6}}
        for number, time in enumerate(times)
    ]  # fmt: skip
    found["environment"]["ranks"] = len(times)
    found["expected"] = len(times)
    return json.dumps(found)


def cards_together(*times: float) -> tuple[in_turns.Sides, Curve]:
    """What comes of cards that take 100 us each alone, and these times together."""
    measured = launch.measurement(Case("rdma_batch_all_cards", "rc-2n"))
    setting = Setting(
        extras=PartitionExtras(ports=PORTS, max_message_size=65536),
        build=SimpleNamespace(program=lambda name: f"/build/{name}"),
    )
    runs = measured.job(setting).words[1:]
    asked = [words.split() for words in " ".join(runs).split(" ::: ")[1:]]
    assert len(asked) == 5 * in_turns.ROUNDS
    devices = [each[each.index("--dev") + 1] for each in asked[:5]]
    assert devices[:4] == list(PORTS)
    assert devices[4] == ",".join(devices[:4])
    assert asked[4][asked[4].index("--num-target-dev") + 1] == "4"
    outputs = [*[result(65536, 64, 1, 100, 100)] * 4, together(*times)] * in_turns.ROUNDS
    sides = in_turns.read(ALL_CARDS, measured._turns(setting), outputs, "job")
    return sides, in_turns.ratios(ALL_CARDS, sides)


def test_all_cards_at_once_stand_beside_the_sum_of_each_alone() -> None:
    alone = 65536 * 64 / 100
    sides, curve = cards_together(100, 100, 100, 100)
    assert sides.parts == pytest.approx(dict.fromkeys(PORTS, alone))
    assert curve.points[0].values[Metric.RATIO, "p50"] == pytest.approx(1)
    assert len(sides.rows) == (4 + 4) * in_turns.ROUNDS


@pytest.mark.parametrize(
    ("times", "level"),
    [
        ((105, 105, 105, 105), Level.GOOD),
        ((100, 100, 120, 120), Level.WARNING),
        ((100, 100, 200, 200), Level.CRITICAL),
    ],
)
def test_cards_that_share_a_link_are_seen_and_named(times: tuple[int, ...], level: Level) -> None:
    _, curve = cards_together(*times)
    path = Path(launch.__file__).with_name("references.yaml")
    key = CaseKey("testbed", "testbed:cards", "builtin", "rdma_batch_all_cards", "rc-2n")
    found, tolerance = resolve(path, "RdmaBatchBeside", key)
    verdict = judge_curve(curve, found, tolerance)
    verdict = judge.refine(verdict, Subject(curve, tolerance))
    assert verdict.level is level
    said = "all cards at once" in " ".join(verdict.findings)
    assert said == (level is not Level.GOOD)
