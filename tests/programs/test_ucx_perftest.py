"""The parser of ucx_perftest's output: real tables, then each kind of damage with its sentence."""

import random
import re
from pathlib import Path

import pytest
from tests.programs.results import named
from tests.refusals import refused, sentence

from fabricheck.errors import ParseError
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete
from fabricheck.measures.registry import sweep
from fabricheck.programs.ucx_perftest.entries import BENCHMARKS
from fabricheck.programs.ucx_perftest.read import batch, batch_name, parse

DATA = Path(__file__).parents[1] / "data" / "ucx-1.13.1"
SAMPLES = sorted(path.name for path in DATA.glob("*.csv"))
LATENCY = (DATA / "rc.tag_lat.csv").read_text()
BANDWIDTH = (DATA / "shm.get_bw.csv").read_text()
HEAD = LATENCY.partition("\n")[0]
ROW_64 = re.search(r"^ucx_tag_lat:64,.*\n", LATENCY, re.MULTILINE)[0]
LOG = (
    "[1700000000.123456] [rx2:123:0]   ucp_worker.c:1763 UCX  INFO  ep_cfg[0]: "
    "tag(rc_verbs/rxe1:1), rma(rc_verbs/rxe1:1), am(rc_verbs/rxe1:1), amo(-), key(-)\n"
)
PEOPLE = (
    "+--------------+--------------+----------+---------+---------+----------+----------+\n"
    "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |\n"
)


@pytest.mark.parametrize("name", SAMPLES)
def test_reads_real_tables(name):
    curve = parse((DATA / name).read_text(), name)
    assert curve.benchmark == f"ucx_{name.split('.')[1]}"
    assert curve.program == "ucx_perftest"
    check_complete(curve, sweep(1, 1 << 20))
    assert all(point.iterations >= 10 and point.valid is None for point in curve.points)


def test_latency_has_the_median_and_the_average_of_the_whole_run():
    point = parse(LATENCY, "x").points[1]
    assert point.values == {(Metric.LATENCY, "avg"): 2239.081, (Metric.LATENCY, "p50"): 2784.5}


def test_bandwidth_is_in_millions_of_bytes():
    """The program's MB is 2^20 B: 60569.32 MiB/s of 4 KiB messages are 63511.5 MB/s."""
    variables = named(parse(BANDWIDTH, "x").variables())
    assert variables["bandwidth_avg_4KiB"] == (pytest.approx(60569.32 * 2**20 / 1e6, 1e-6), "MB/s")
    assert variables["message_rate_avg_4KiB"] == (15505745, "messages/s")


def test_bandwidth_of_small_messages_has_digits_that_the_program_does_not_print():
    curve = parse((DATA / "rc.tag_bw.csv").read_text(), "x")
    value, _ = named(curve.variables())["bandwidth_avg_1B"]
    assert value == pytest.approx(1 / 42.794, 1e-6), "the table says 0.02"


def test_bandwidth_agrees_with_the_printed_one_everywhere():
    printed = [float(line.split(",")[6]) for line in BANDWIDTH.splitlines()[1:]]
    for point, mebibytes in zip(parse(BANDWIDTH, "x").points, printed, strict=True):
        value = point.values[Metric.BANDWIDTH, "avg"]
        assert value == pytest.approx(mebibytes * 2**20 / 1e6, rel=1e-5, abs=0.006)


def test_other_percentiles_and_the_median_of_old_versions():
    text = LATENCY.replace("50.0_percentile", "99.9_percentile")
    assert (Metric.LATENCY, "p99.9") in parse(text, "x").points[0].values
    text = LATENCY.replace("50.0_percentile_lat", "typical_lat")  # UCX 1.9 to 1.11
    assert parse(text, "x").points == parse(LATENCY, "x").points


def test_averages_since_the_last_report_may_be_anything():
    """They are 0/0 when the last report fell on the last iteration."""
    row = "ucx_tag_lat:1, 399,23.000,-nan,414.719,-nan,0.00,-nan,2411\n"
    assert parse(f"{HEAD}\n{row}", "x").points == parse(LATENCY, "x").points[:1]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_noise_between_any_two_lines_is_skipped(line_end):
    noise = LOG + "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n\n"
    noisy = noise + noise.join(LATENCY.splitlines(keepends=True)) + noise
    assert parse(noisy.replace("\n", line_end), "x") == parse(LATENCY, "x")


@pytest.mark.parametrize(
    "benchmark", [b for b in BENCHMARKS.values() if b.family == "ucx"], ids=lambda b: b.name
)
def test_a_batch_has_a_line_for_each_size(benchmark):
    lines = batch(benchmark, {1: 500, 2: 5}).splitlines()
    name, *words = lines[0].split()
    assert name == f"{benchmark.name}:1"
    assert words == [*benchmark.options, "-s", "1", "-n", "500", "-w", "50"]
    assert lines[1].endswith("-s 2 -n 5 -w 1")
    assert len(lines) == 2


def test_the_head_names_the_batch_file():
    assert HEAD.startswith(f"{batch_name('ucx_tag_lat')},iterations,")


def replaced(pattern: str, replacement: str, text: str = LATENCY) -> str:
    changed, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
    assert count == 1
    return changed


CASES = {
    "empty": ("", r"found nothing: the client did not start"),
    "no table": (
        LOG + "Waiting for connection...\n",
        r"no line that names its columns .* ends with 'Waiting for connection",
    ),
    "table for people": (PEOPLE, r"table for people, which names no sizes: run it with -b FILE"),
    "two tables": (LATENCY * 2, r"expected one table, found 2 \(heads at lines 1, 23\)"),
    "no head": (replaced("^.*iterations.*\n", ""), r"no line that names its columns"),
    "no rows": (HEAD + "\n", r"expected rows .* found none: every test of the batch failed"),
    "unknown benchmark": (
        replaced("ucx_tag_lat.batch", "mine"),
        r"line 1: unknown benchmark 'mine': .* of ucx_tag_lat, ucx_tag_bw",
    ),
    "unknown column": (replaced("avg_bw", "avg_bv"), r"line 1: expected the columns of ucx_perf"),
    "column missing": (replaced(",overall_mr", ""), r"line 1: expected the columns .*overall_bw,"),
    "column twice": (replaced("avg_lat,", "overall_lat,"), r"each once, found 'iterations,50.0_p"),
    "two percentiles": (replaced("avg_lat,", "99.0_percentile_lat,"), r"each once, found .*99.0"),
    "row of another benchmark": (
        replaced("^ucx_tag_lat:64,", "ucx_tag_bw:64,"),
        r"line 8: expected a row named ucx_tag_lat:SIZE, found 'ucx_tag_bw:64'",
    ),
    "name cut": (replaced("^ucx_tag_lat:64,", "lat:64,"), r"line 8: .* found 'lat:64'"),
    "size damaged": (replaced("^ucx_tag_lat:64,", "ucx_tag_lat:6x,"), r"found 'ucx_tag_lat:6x'"),
    "huge size": (replaced("_lat:64,", f"_lat:{'9' * 5000},"), r"found 'ucx_tag_lat:999"),
    "row cut": (replaced(r"^(ucx_tag_lat:64,.*),\d+$", r"\1"), r"line 8: expected 9 .* found 8 in"),
    "row too long": (replaced(r"^(ucx_tag_lat:64,.*)$", r"\1,5"), r"line 8: .* found 10 in"),
    "log in mid-row": (
        LATENCY.replace(ROW_64, ROW_64[:20] + LOG + ROW_64[20:]),
        r"line 8: .* the row is cut or mixed with other output",
    ),
    "report in mid-run": (
        LATENCY.replace(ROW_64, replaced(":64, *", ":64,[thread 0] ", ROW_64) + ROW_64),
        r"line 8: expected final numbers only, found a report in mid-run: run with -f",
    ),
    "repeated size": (
        LATENCY.replace(ROW_64, ROW_64 * 2),
        r"line 9: .* 64, found 64: rows are repe",
    ),
    "falling size": (replaced("_lat:64,", "_lat:8,"), r"line 8: .* greater than 32, found 8: "),
    "row before the head": (ROW_64 + LATENCY, r"line 1: expected the head of the table before"),
    "no iterations": (
        replaced("_lat:64, 383,", "_lat:64,   0,"),
        r"whole number above zero as iterations, found '0",
    ),
    "iterations damaged": (replaced("_lat:64, 383,", "_lat:64, 38x,"), r"iterations, found '38x'"),
    "NaN": (replaced("28.436,2.15", "nan,2.15"), r"line 8: .*finite.* as overall_lat, found 'nan'"),
    "NaN median": (replaced("383,26.000", "383,nan"), r"as 50.0_percentile_lat, found 'nan'"),
    "infinite": (replaced(",35167$", ",inf"), r"as overall_mr, found 'inf'"),
    "negative": (replaced("28.436,2.15", "-28.436,2.15"), r"not negative, .* found '-28.436'"),
    "digit of the latency lost": (
        replaced("28.436,2.15", "2.436,2.15"),
        r"line 8: expected latency, bandwidth and message rate to agree, found 2.436 us",
    ),
    "digit of the bandwidth changed": (replaced("2.15,2.15", "2.15,2.25"), r"agree, .*2.25"),
    "digit of the rate lost": (replaced(",35167$", ",3517"), r"agree, .* 3517/s at 64 B"),
    "nothing moved": (
        replaced("^ucx_tag_lat:64,.*", "ucx_tag_lat:64, 1,0.000,0.000,0.000,0.00,0.00,0,0"),
        r"agree, found 0.0 us",
    ),
    "no line end": (LATENCY.rstrip("\n"), r"line 22: expected a line end after the last line"),
}


@pytest.mark.parametrize("replacement", ["", LOG.rstrip() + ROW_64])
def test_a_row_that_is_missing_is_seen_by_its_size(replacement):
    """A test that failed leaves none, and a log can stand before one."""
    curve = parse(LATENCY.replace(ROW_64, replacement), "x")
    with refused("FC1108", "expected 21 message sizes, but 64B is missing"):
        check_complete(curve, sweep(1, 1 << 20))


def test_each_damage_is_named_in_a_sentence_of_its_own():
    sentences = {name: sentence(parse, *case) for name, case in CASES.items()}
    assert len({*sentences.values()}) == len(CASES), sentences


def read(text: str):
    try:
        return parse(text, "cut")
    except ParseError as error:
        assert "\n" not in str(error)
        return None


@pytest.mark.parametrize("name", SAMPLES)
def test_output_cut_at_any_byte_is_an_error_or_lacks_whole_sizes(name):
    text = (DATA / name).read_text()
    for end in range(len(text)):
        curve = read(text[:end])
        if curve:
            assert text[:end].endswith("\n"), f"cut at byte {end}"
            with refused("FC1108"):
                check_complete(curve, sweep(1, 1 << 20))


@pytest.mark.parametrize("name", SAMPLES)
def test_any_bytes_missing_from_the_middle_are_never_a_wrong_curve(name):
    text = (DATA / name).read_text()
    whole = read(text)
    rng = random.Random(2)
    for _ in range(1000):
        start, end = sorted(rng.sample(range(len(text)), 2))
        curve = read(text[:start] + text[end:])
        assert curve is None or len(curve.points) < len(whole.points) or same(curve, whole)


def same(one, other) -> bool:
    """Whether two curves are equal but for a median, which nothing else in a row contradicts."""

    def averages(curve):
        return [
            (p.size, {k: v for k, v in p.values.items() if k[1] == "avg"}) for p in curve.points
        ]

    return averages(one) == averages(other)


def test_random_corruption_is_an_error_or_a_whole_curve():
    texts = [(DATA / name).read_bytes() for name in SAMPLES]
    rng = random.Random(1)
    refused = 0
    for _ in range(2000):
        data = bytearray(rng.choice(texts))
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        refused += read(data.decode("latin-1")) is None
    assert refused > 1200
