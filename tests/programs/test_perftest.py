"""perftest's tables: what is read, in which units, and each kind of damage with its sentence."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.programs.results import named
from tests.refusals import refused

from fabricheck.errors import ParseError
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete, decode
from fabricheck.measures.parser import parse as parse_any
from fabricheck.measures.registry import sweep
from fabricheck.programs.perftest.read import (
    parse_runs,
)
from fabricheck.programs.perftest.table import CONNECTION, DEVICE, GID_INDEX, INLINE, LINK, MTU
from fabricheck.units import MIB

DATA = Path(__file__).parents[1] / "data" / "perftest-4.5"
SEND_LAT = (DATA / "send_lat.rc.txt").read_text()
WRITE_BW = (DATA / "write_bw.rc.txt").read_text()
ALL_BW = (DATA / "write_bw.rc.all.txt").read_text()
LATENCIES = re.search(r"^ 2 .*\n", SEND_LAT, re.MULTILINE)[0]
BW, RATE = (Metric.BANDWIDTH, "avg"), (Metric.MESSAGE_RATE, "avg")


@pytest.mark.parametrize(
    ("file", "benchmark", "iterations"),
    [
        ("send_lat.rc", "ib_send_lat", 500),
        ("send_lat.events", "ib_send_lat_events", 200),
        ("write_bw.rc", "ib_write_bw", 200),
        ("write_bw.post16", "ib_write_bw_post16", 1600),
        ("write_bw.qp4", "ib_write_bw_qp4", 800),
        ("write_bw.bidir", "ib_write_bw_bidir", 200),
        ("send_bw.bidir", "ib_send_bw_bidir", 200),
        ("read_bw.rc", "ib_read_bw", 60),
        ("read_lat.rc", "ib_read_lat", 200),
        ("atomic_bw.rc", "ib_atomic_bw", 200),
        ("atomic_lat.rc", "ib_atomic_lat", 200),
    ],
)
def test_the_program_says_itself_which_benchmark_ran(file, benchmark, iterations):
    curve = parse_runs([(DATA / f"{file}.txt").read_text()], file)
    assert curve.benchmark == benchmark
    assert [point.iterations for point in curve.points] == [iterations]
    assert curve.program == "perftest"
    assert curve.variables()


def test_latencies_are_what_the_columns_say():
    (point,) = parse_runs([SEND_LAT], "x").points
    _, _, low, high, typical, mean, _, p99, p999 = map(float, LATENCIES.split())
    assert point.values == {
        (Metric.LATENCY, "min"): low,
        (Metric.LATENCY, "max"): high,
        (Metric.LATENCY, "p50"): typical,
        (Metric.LATENCY, "avg"): mean,
        (Metric.LATENCY, "p99"): p99,
        (Metric.LATENCY, "p99.9"): p999,
    }
    assert list(named(parse_runs([SEND_LAT], "x").variables())) == [
        "latency_p50_2B",
        "latency_avg_2B",
        "latency_p99_2B",
    ]


def test_settings_are_kept():
    settings = parse_runs([SEND_LAT], "x").metadata
    keys = (DEVICE, CONNECTION, MTU, LINK, GID_INDEX, INLINE)
    assert [settings[key] for key in keys] == ["rxe1", "RC", "4096", "Ethernet", "1", "0"]


BW_ROW = " 65536      200              {peak}              {average}  \t\t   {rate}\n"


def bandwidth(peak="48.22", average="37.51", rate="0.000600", size="65536", unit="MB"):
    row = BW_ROW.format(peak=peak, average=average, rate=rate).replace("65536", size)
    text = re.sub(r"^ 65536 .*\n", lambda _: row, WRITE_BW, flags=re.MULTILINE)
    return text.replace("[MB/sec]", f"[{unit}/sec]")


@pytest.mark.parametrize("unit", ["MB", "MiB"])
def test_what_perftest_calls_a_megabyte_has_2_to_the_20_bytes(unit):
    (point,) = parse_runs([bandwidth(unit=unit)], "x").points
    assert point.values[BW] == pytest.approx(37.51 * 1.048576)
    assert point.values[Metric.BANDWIDTH, "max"] == pytest.approx(48.22 * 1.048576)
    assert point.values[RATE] == pytest.approx(37.51 * 1048576 / 65536)


def test_gigabits_are_ten_to_the_ninth():
    (point,) = parse_runs(
        [bandwidth(peak="97.12", average="96.90", rate="0.184822", unit="Gb")], "x"
    ).points
    assert point.values[BW] == pytest.approx(0.184822 * 65536)
    assert point.values[BW] == pytest.approx(96.90 * 125, rel=1e-3)


def test_the_finer_of_bandwidth_and_rate_is_taken():
    (small,) = parse_runs([bandwidth("0.05", "0.04", "0.020921", size="2")], "x").points
    assert small.values[RATE] == pytest.approx(20921)
    assert small.values[BW] == pytest.approx(0.041842)
    (large,) = parse_runs([bandwidth("15.70", "15.70", "0.000002", size="8388608")], "x").points
    assert large.values[BW] == pytest.approx(15.70 * 1.048576)
    assert large.values[RATE] == pytest.approx(15.70 / 8)


def test_a_rate_that_the_bandwidth_is_too_coarse_for():
    (point,) = parse_runs([bandwidth("0.00", "0.00", "0.001200", size="2")], "x").points
    assert point.values == {BW: pytest.approx(0.0024), RATE: pytest.approx(1200)}


def test_what_shows_its_end_is_whole():
    files = {"write_bw.rc.all": True, "send_lat.ud.all": True, "write_bw.rc": False}
    for file, is_whole in files.items():
        assert parse_runs([(DATA / f"{file}.txt").read_text()], file).is_whole is is_whole
    assert not parse_runs([replaced(r"^ 8388608 .*\n", "", ALL_BW)], "x").is_whole


def test_a_sweep_in_one_run():
    curve = parse_runs([ALL_BW], "x")
    check_complete(curve, sweep(2, 8 * MIB))
    assert (
        parse_runs([(DATA / "send_lat.ud.all.txt").read_text()], "x").metadata[CONNECTION] == "UD"
    )


def test_a_sweep_in_a_run_for_each_size():
    text = (DATA / "write_lat.rc.sizes.txt").read_text()
    runs = re.findall(r"(?s)-{80,}\n +RDMA_Write Latency.*?#bytes.*?\n-{80,}\n", text)
    curve = parse_runs(runs, "x")
    check_complete(curve, (2, 8, 64))
    with refused("FC1219", "x: expected a size greater than 8, found 8"):
        parse_runs([*runs[:2], runs[1]], "x")
    with refused("FC1214", "run 2: expected GID index 1 as in run 1, found 3"):
        parse_runs([runs[0], runs[1].replace("GID index       : 1", "GID index       : 3")], "x")
    with refused("FC1214", "run 2: expected benchmark ib_write_lat as in run 1, found ib_s"):
        parse_runs([runs[0], SEND_LAT.replace(" 2  ", " 4  ")], "x")
    with refused("FC1110", r"run 2: line 25: expected .* found a second title"):
        parse_runs([runs[0], runs[1] + runs[2]], "x")


NEWER = SEND_LAT.replace(
    " PCIe relax order: ON\n ibv_wr* API     : OFF\n",
    " PCIe relax order: ON\t\tLock-free      : OFF\n"
    " ibv_wr* API     : OFF\t\tUsing Enhanced Reorder      : OFF\n",
)
CPU = SEND_LAT.replace("99.9% percentile[usec] ", "99.9% percentile[usec]     CPU_Util[%]").replace(
    LATENCIES, LATENCIES.rstrip() + "\t    12.50\n"
)


def test_newer_versions_and_cpu_load_are_read_as_well():
    assert NEWER != SEND_LAT
    assert parse_runs([NEWER], "x").metadata["Lock-free"] == "OFF"
    assert CPU.count("12.50") == 1
    assert parse_runs([CPU], "x").points == parse_runs([SEND_LAT], "x").points


def test_warnings_are_kept():
    warning = " WARNING: CPU is not PCIe relaxed ordering compliant.\n"
    peak = " WARNING: BW peak won't be measured in this run.\n"
    text = SEND_LAT.replace(" PCIe relax order: ON\n", " PCIe relax order: ON\n" + warning)
    assert parse_runs([peak + text], "x").remarks == (warning.strip(),)


def test_a_deviation_that_perftest_could_not_reckon_is_no_damage():
    row = LATENCIES.split()
    text = replaced(re.escape(LATENCIES), " " + " ".join([*row[:6], "-nan", *row[7:]]) + "\n")
    assert parse_runs([text], "x").points == parse_runs([SEND_LAT], "x").points


def replaced(pattern: str, replacement: str, text: str = SEND_LAT) -> str:
    changed, count = re.subn(pattern, lambda _: replacement, text, count=1, flags=re.MULTILINE)
    assert count == 1
    return changed


DAMAGE = {
    "empty": ("", "found nothing: the client did not start"),
    "another program": ("hello\n", "found no title .* ends with 'hello'"),
    "title of a test that no benchmark is": (
        replaced("Send Latency Test", "Raw Latency Test"),
        "line 2: expected the title of a known test, found 'Raw Latency Test'",
    ),
    "options that no benchmark has": (
        replaced("Number of qps   : 1", "Number of qps   : 3", WRITE_BW),
        "expected a verbs benchmark of the registry, found ib_write_bw -q 3",
    ),
    "a setting missing": (
        replaced(r"^ Number of qps .*\n", "", WRITE_BW),
        "expected the settings Number of qps below the title, found none",
    ),
    "a setting damaged": (replaced("4096", "40x6"), "expected the settings Mtu .*, found 40x6"),
    "title of another run": (
        replaced("RDMA_Write BW", "RDMA_Write Post List BW", WRITE_BW),
        "expected Post List in the title and in the settings, found it in one",
    ),
    "no columns": (replaced(r"^ #bytes.*\n", ""), "expected one line of column names .* found 0"),
    "unknown column": (
        replaced(r"t_typical\[usec\]", "t_mode[usec]"),
        r"expected the name of a known column, found 't_mode\[usec\]",
    ),
    "column twice": (
        replaced(r"t_max\[usec\]", "t_min[usec]"),
        "expected the columns of a latency test",
    ),
    "duration mode": (
        replaced(
            r"^ #bytes.*\n.*\n",
            " #bytes        #iterations       t_avg[usec]    tps average\n 2 5 1.0 2.0\n",
        ),
        r"line 21: expected a latency test of a number of iterations \(-n\), found one of a",
    ),
    "perftest of 2014": (
        replaced(r"    t_avg\[usec\].*\n.*\n", "\n 2 1000 22.12 3065.61 22.77\n"),
        r"expected the columns of a latency test, .*t_typical\[usec\]: .* of before August 2016",
    ),
    "bandwidth without rate": (
        replaced(r"   MsgRate\[Mpps\]", "", WRITE_BW),
        "expected the columns of a bandwidth test",
    ),
    "no row": (replaced(re.escape(LATENCIES), ""), "expected rows after the column names"),
    "cut row": (
        replaced(re.escape(LATENCIES), LATENCIES[:40] + "\n"),
        "expected a row of 9 numbers, found",
    ),
    "log line among the rows": (
        replaced(re.escape(LATENCIES), LATENCIES + "mlx5: something happened\n"),
        "expected a row of 9 numbers, found 'mlx5: something happened'",
    ),
    "two rows in one line": (
        replaced(re.escape(LATENCIES), LATENCIES.rstrip() + LATENCIES),
        "expected a row of 9 numbers",
    ),
    "row above the table": ("2 500 1 2 3\n" + SEND_LAT, "line 1: expected no row before"),
    "row below the table": (SEND_LAT + LATENCIES, "expected no row below the table"),
    "no end": (
        SEND_LAT[: SEND_LAT.rindex("-----\n") - 90],
        "expected a line of dashes below the rows, found none",
    ),
    "cut end": (SEND_LAT.rstrip("\n-") + 80 * "-", "expected a line of dashes below the rows"),
    "not a number": (
        replaced(r"^ 2       500", " 2       nan"),
        "whole number above zero as #iter",
    ),
    "nan": (
        replaced(re.escape(LATENCIES), re.sub(r"\S+\s*$", "-nan\n", LATENCIES)),
        "expected a finite number, not negative, as 99.9% percentile",
    ),
    "zero latency": (
        replaced(re.escape(LATENCIES), re.sub(r"^( 2 +500 +)\S+", r"\g<1>0.00", LATENCIES)),
        "expected latencies above zero, found zero",
    ),
    "size zero": (replaced(r"^ 2    ", " 0    "), "whole number above zero as #bytes, found '0'"),
    "minimum above the median": (
        replaced(re.escape(LATENCIES), re.sub(r"^( 2 +500 +)\S+", r"\g<1>1e6", LATENCIES)),
        "expected a finite number",
    ),
    "median below the minimum": (
        replaced(re.escape(LATENCIES), re.sub(r"^( 2 +500 +)\S+", r"\g<1>9999999.00", LATENCIES)),
        "expected minimum, median, percentiles and maximum in rising order",
    ),
    "zero bandwidth": (bandwidth("0.00", "0.00", "0.000000"), "expected a bandwidth above zero"),
    "bandwidth against rate": (
        bandwidth("48.22", "37.51", "0.006000"),
        r"expected BW average\[MB/sec\] and MsgRate\[Mpps\] to agree, found 37.51 and 0.006000",
    ),
    "sizes out of order": (
        replaced(
            r"^ 512 .*\n",
            " 128        5                0.02               0.73   \t\t   0.005974\n",
            ALL_BW,
        ),
        "expected 512 B after 256 B, found 128 B: rows are missing, repeated",
    ),
    "first size of all missing": (
        replaced(r"^ 2 .*\n", "", ALL_BW),
        r"expected a sweep \(-a\) from 2 B on, found one from 4 B",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused_with_its_own_sentence(kind):
    text, message = DAMAGE[kind]
    with pytest.raises(ParseError, match=message) as raised:
        parse_runs([text], "out.txt")
    assert str(raised.value).startswith("out.txt: ")
    assert "\n" not in str(raised.value)


def test_a_missing_size_is_seen():
    with refused("FC1217", "expected 4096 B after 2048 B, found 8192 B"):
        parse_runs([replaced(r"^ 4096 .*\n", "", ALL_BW)], "x")


CONFLICT = "Conflicting CPU frequency values detected: 800.1 != 3500.2. CPU Frequency is not max.\n"
POSTED = {
    "tabs turned into blanks": lambda text: text.expandtabs(),
    "blanks run together": lambda text: re.sub(
        r"(?m)^ |[ \t]+(?=\n)", "", re.sub(r"[ \t]+", " ", text)
    ),
    "indented": lambda text: re.sub(r"(?m)^", " " * 8, text),
    "hard blanks": lambda text: text.replace(" ", "\xa0"),
    "lines of a terminal": lambda text: text.replace("\n", "\r\n"),
    "quoted": lambda text: re.sub(r"(?m)^(?=.)", "> ", text),
    "no line end": lambda text: text.removesuffix("\n"),
    "an empty line after each": lambda text: text.replace("\n", "\n\n"),
    "error output among the rows": lambda text: re.sub(
        r"(?m)^( #bytes.*\n)", lambda line: line[0] + 2 * CONFLICT, text
    ),
    "a log around it": lambda text: f"2026-11-22 10:00 start\n$ perftest\n{text}10.0.0.1$ exit\n",
}


@pytest.mark.parametrize("how", POSTED)
@pytest.mark.parametrize(
    "file", ["send_lat.rc", "write_bw.qp4", "write_bw.post16", "write_bw.rc.all"]
)
def test_what_people_post_is_read_as_what_was_printed(file, how):
    printed = (DATA / f"{file}.txt").read_text()
    posted = POSTED[how](printed)
    assert posted != printed
    expected, found = parse_runs([printed], "x"), parse_any(decode(posted.encode(), "x"), "x")
    assert replace(found, remarks=()) == expected
    assert found.remarks == ((CONFLICT.strip(),) if CONFLICT in posted else ())


@pytest.mark.parametrize("text", [SEND_LAT, ALL_BW])
def test_no_cut_passes_for_a_whole_table(text):
    end = len(text) - 1
    for cut in random.Random(7).sample(range(end), 400):
        with pytest.raises(ParseError):
            parse_runs([text[:cut]], "x")


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_never_changes_a_value_unseen(seed):
    """A byte changed in the rows is refused, or is one that no reader could tell from a figure."""
    chance = random.Random(seed)
    begin, end = ALL_BW.index("#bytes"), len(ALL_BW)
    expected = parse_runs([ALL_BW], "x")
    for _ in range(60):
        place = chance.randrange(begin, end)
        text = ALL_BW[:place] + chance.choice("x \n\t-+.#\0") + ALL_BW[place + 1 :]
        try:
            found = parse_runs([text], "x")
        except ParseError:
            continue
        assert len(found.points) == len(expected.points)
        for point, original in zip(found.points, expected.points, strict=True):
            assert point.size == original.size
            assert point.values[BW] == pytest.approx(original.values[BW], rel=0.6)


WAITING = "*" * 36 + "\n* Waiting for client to connect... *\n" + "*" * 36 + "\n"
HEAD = WRITE_BW[: WRITE_BW.index("#bytes")]


@pytest.mark.parametrize(
    "both",
    [
        f"{WAITING}{HEAD}{WRITE_BW}",
        f"{WRITE_BW}{WAITING}{WRITE_BW}",
        WAITING
        + "".join(f"{line}\n{line}\n" for line in HEAD.splitlines())
        + WRITE_BW[len(HEAD) :],
    ],
    ids=["the server first", "each by itself", "line by line"],
)
def test_both_ends_in_one_file_are_one_run(both):
    assert parse_any(both, "out") == parse_any(WRITE_BW, "out")


def test_ends_that_do_not_agree_are_refused():
    row = re.search(r"^ 65536 .*\n", WRITE_BW, re.MULTILINE)[0]
    with pytest.raises(ParseError):
        parse_any(f"{WRITE_BW}{WAITING}{WRITE_BW.replace(row, row.replace('0', '1', 1))}", "out")


def test_two_runs_are_not_two_ends():
    with refused("FC1219"):
        parse_any(f"{WRITE_BW}{WRITE_BW}", "out")
