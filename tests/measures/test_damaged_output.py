"""The parser on damaged output: each kind of damage has its own sentence."""

import random
import re
from pathlib import Path

from tests.refusals import refused, sentence

from fabricheck.errors import ParseError
from fabricheck.measures.parser import decode, parse, parse_file

DATA = Path(__file__).parents[1] / "data"
OSU = DATA / "osu-7.4"
LAYOUT = DATA / "osu-layout"
LATENCY = (LAYOUT / "latency.txt").read_text()
OSU_TAIL = (OSU / "openmpi.lat_tail.txt").read_text()
ALLREDUCE = (LAYOUT / "allreduce.txt").read_text()
BARRIER = (LAYOUT / "barrier.txt").read_text()
ROW_64 = re.search(r"^64 .*\n", LATENCY, re.MULTILINE)[0]
LOG = "[1700000000.123456] [n1:123:0] ucp_worker.c:1763 UCX INFO ep_cfg[0]: tag(tcp/eth0)\n"


def replaced(pattern: str, replacement: str, text: str = LATENCY) -> str:
    changed, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
    assert count == 1
    return changed


CASES = {
    "empty": ("", r"found nothing: the program did not start"),
    "no table": (
        LOG + "This test requires exactly two processes\n",
        r"found no title line .* ends with 'This test requires exactly two processes'",
    ),
    "unknown benchmark": (
        "# OSU MPI_Pot Latency Test v7.4\n# Size  Latency (us)\n1 0.15\n",
        r"line 1: unknown benchmark 'MPI_Pot Latency Test': fabricheck reads the tables of latency",
    ),
    "cut title": ("# OSU MPI Latency Te\n", r"line 1: .* the title is cut or damaged"),
    "singletons": (
        LATENCY * 4,
        r"expected one table, found 4 \(titles at lines 1, 29, 57, 85\): .*separate programs",
    ),
    "many singletons": (LATENCY * 9, r"found 9 \(titles at lines 1, 29, 57, 85, 113, \.\.\.\)"),
    "two column lines": (
        replaced(r"^64 .*\n", "# Size       Avg Latency(us)\n"),
        r"line 14: expected one column line, found a second",
    ),
    "empty sweep": (replaced(r"^\d+ .*\n(^\d+ .*\n)*", ""), r"the sweep is empty"),
    "no column line": (replaced(r"^# Size.*\n", ""), r"line 7: expected the line that names"),
    "nothing after the title": (
        LATENCY[:40] + "\n",
        r"a line that names the columns .* found none",
    ),
    "unknown column": (replaced("P90 Tail", "P90 Tale"), r"line 7: .* found 'P90 Tale Lat"),
    "average missing": (
        replaced(r"Avg Latency\(us\)", ""),
        r"line 7: expected columns for average latency, found Size, P50 Tail",
    ),
    "size column missing": (replaced("# Size", "# "), r"expected columns for Size, found Avg"),
    "column named twice": (replaced("P90", "P50"), r"column P50 Tail Lat\(us\) is named twice"),
    "column of another benchmark": (
        replaced(r"P90 Tail Lat\(us\)", "Messages/s"),
        r"do not belong to the benchmark latency",
    ),
    "size column in a barrier": (
        replaced("# Avg", "# Size Avg", BARRIER),
        r"do not belong to the benchmark barrier",
    ),
    "message rates missing": (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# Size  MB/s\n1 2.0\n",
        r"expected columns for average message_rate",
    ),
    "row cut": (replaced(r"^(64 .*) \S+$", r"\1"), r"line 14: expected 5 columns .* found 4 in"),
    "row too long": (replaced(r"^(64 .*)$", r"\1 1.0"), r"line 14: expected 5 columns .* found 6"),
    "log in mid-row": (
        LATENCY.replace(ROW_64, ROW_64[:20] + LOG + ROW_64[20:]),
        r"line 14: expected 5 columns .* mixed with other output",
    ),
    "log instead of the line start": (
        LATENCY.replace(ROW_64, LOG.rstrip() + ROW_64),
        r"line 15: expected size 64 after 32, found 128: rows between them are missing",
    ),
    "NaN": (replaced(r"^64( +)\S+", r"64\1nan"), r"line 14: .* as Avg Latency\(us\), found 'nan'"),
    "infinite": (replaced(r"^64( +)\S+", r"64\1inf"), r"line 14: .*finite.* found 'inf'"),
    "overflow": (replaced(r"^64( +)\S+", r"64\g<1>1e999"), r"line 14: .*finite.* found '1e999'"),
    "negative": (replaced(r"^64( +)\S+", r"64\g<1>-1.5"), r"not negative.* found '-1.5'"),
    "no number": (replaced(r"^64( +)\S+", r"64\g<1>1_0"), r"finite number.* found '1_0'"),
    "NaN size": (replaced("^64 ", "nan "), r"whole number.* as Size, found 'nan'"),
    "negative size": (replaced("^64 ", "-64 "), r"as Size, found '-64'"),
    "fractional size": (replaced("^64 ", "64.5 "), r"as Size, found '64.5'"),
    "huge size": (replaced("^64 ", "9" * 5000 + " "), r"as Size, found '999"),
    "repeated size": (LATENCY.replace(ROW_64, ROW_64 * 2), r"line 15: .*greater than 64, found 64"),
    "falling size": (replaced("^64 ", "8 "), r"greater than 32, found 8"),
    "missing size": (LATENCY.replace(ROW_64, ""), r"size 64 after 32, found 128"),
    "two barrier rows": (
        replaced(r"^( +27.*\n)", r"\1\1", BARRIER),
        r"expected one row, found a second",
    ),
    "row before the title": (ROW_64 + LATENCY, r"line 1: expected the title line before any row"),
    "row after the end": (LATENCY + ROW_64, r"greater than 1048576, found 64"),
    "validation failed": (replaced("Pass", "Fail", ALLREDUCE), r"line 8: data validation failed"),
    "validation damaged": (replaced("Pass", "Pas", ALLREDUCE), r"Pass or Fail .* found 'Pas'"),
    "validation line": (
        (OSU / "openmpi.allreduce_valid.txt").read_text(),
        r"line 8: data validation failed.* on message size 16",
    ),
    "iterations damaged": (replaced(" 200 ", " x ", ALLREDUCE), r"as Iterations, found 'x'"),
    "no line end": (OSU_TAIL.rstrip("\n"), r"line 21: expected a line end after the last row"),
}


def test_each_damage_is_named_in_a_sentence_of_its_own():
    sentences = {name: sentence(parse, *case) for name, case in CASES.items()}
    assert len({*sentences.values()}) == len(CASES), sentences


def test_missing_file_is_named(tmp_path):
    with refused("FC1103", r"absent\.txt: .*No such file or directory"):
        parse_file(tmp_path / "absent.txt")
    with refused("FC1103", "Is a directory"):
        parse_file(tmp_path)


def test_bytes_that_are_no_text_are_named():
    with refused("FC1104", r"job: line 2: expected UTF-8 text, found the byte 0xff"):
        decode(b"# OSU\n1 \xff", "job")


def read(data: bytes):
    try:
        return parse(decode(data, "cut"), "cut")
    except ParseError as error:
        assert "\n" not in str(error)
        return None


def test_osu_output_cut_inside_any_line_is_an_error():
    data = OSU_TAIL.encode()
    for end in range(len(data)):
        curve = read(data[:end])
        assert curve is None or data[:end].endswith(b"\n"), f"cut at byte {end}"


def test_random_corruption_is_an_error_or_a_whole_curve():
    samples = [path.read_bytes() for path in (*OSU.glob("*.txt"), *LAYOUT.glob("*.txt"))]
    rng = random.Random(1)
    refused = 0
    for _ in range(3000):
        data = bytearray(rng.choice(samples))
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        refused += read(bytes(data)) is None
    assert refused > 1500
