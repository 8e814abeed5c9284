"""Outputs of IMB, nccl-tests and GPCNet, wherever they ran: every number, and every cut is seen."""

import re
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.errors import ParseError
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Job, Setting
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import LACKING, parse, parse_all
from fabricheck.programs.imb import launch
from fabricheck.programs.imb.entries import BENCHMARKS as IMB_BENCHMARKS

DATA = Path(__file__).parents[1] / "data"
IMB, FOREIGN = DATA / "imb-2021.11", DATA / "foreign"
NAMES = {"nccl-tests.broadcast-unnamed.txt": "nccl_bcast"}
FILES = sorted([*IMB.iterdir(), *FOREIGN.iterdir()])


def read(path, text=None):
    return parse_all(
        path.read_text() if text is None else text, path.name, NAMES.get(path.name, "")
    )


def numbers(words):
    return [float(word.strip("X")) for word in words if word.replace(".", "").strip("X").isdigit()]


def printed(path):
    """The numbers of each row, without its size and count, as a plain reader finds them."""
    for line in path.read_text().split("\n"):
        words = line.split() if line.startswith("|") or not path.name.startswith("gpc") else []
        if line.startswith("|") and line.count("|") > 2 and numbers(words[-5:]):
            yield numbers(re.sub(r"\(.*?\)|99%", "", line).split())
        elif words[8:] and words[0].isdigit():
            # Of nccl-tests the two times and bandwidths of the bus.
            yield numbers([words[i] for i in (-8, -6, -4, -2)])
        elif words and words[0].isdigit():
            yield numbers(words)


def found(rows):
    """The numbers of curves, as the program printed them."""
    first = rows[0][0][0]
    mega = {"gpcnet": 1.048576, "nccl-tests": 1000}.get(first.program, 1)
    mega = 1.048576 if first.version == "4.1" else mega
    for row in rows:
        values = [
            v / (mega if m is Metric.BANDWIDTH else 1)
            for _, p in row
            for (m, _), v in p.values.items()
        ]
        yield [round(value, 2) for value in values]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_number_comes_back(path):
    curves = read(path)
    assert all(curve.is_whole and LACKING not in curve.metadata for curve in curves)
    rows = [[(curve, point)] for curve in curves for point in curve.points]
    if curves[0].program == "nccl-tests":
        half = len(rows) // 2
        rows = [out + into for out, into in zip(rows[:half], rows[half:], strict=True)]
    mine, theirs = [*found(rows)], [*printed(path)]
    if curves[0].program == "imb":
        mine = [
            [x for x in (p.size, p.iterations) if x is not None] + values + [0.0] * bool(p.valid)
            for [(_, p)], values in zip(rows, mine, strict=True)
        ]
    assert mine == theirs != []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_cut_at_any_line_is_refused_or_said(path):
    lines, whole = path.read_text().splitlines(keepends=True), read(path)
    for end in range(len(lines)):
        for text in ("".join(lines[:end]), "".join(lines[: end + 1]).rstrip("\n")):
            try:
                curves = read(path, text)
            except ParseError:
                continue
            if [c.points for c in curves] == [c.points for c in whole] and curves == whole:
                continue
            assert LACKING in curves[-1].metadata, text[-300:]
            assert not curves[-1].is_whole


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_row_that_is_gone_is_missed(path):
    lines = path.read_text().splitlines(keepends=True)
    rows = [n for n, line in enumerate(lines) if re.match(r" *\d+ +\d+ .*\d|\|.*\d \|", line)]
    for gone in rows:
        try:
            curves = read(path, "".join([*lines[:gone], *lines[gone + 1 :]]))
        except ParseError:
            continue
        assert LACKING in curves[-1].metadata, lines[gone]


def of(name):
    return (IMB if "." not in name.removesuffix(".txt") and "-" not in name else FOREIGN) / name


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "words"),
    [
        ("imb-4.1.txt", "MPI-1 part", "MPI-2 part", "FC1271", "Sendrecv in the MPI-2 part"),
        ("imb-4.1.txt", "4000.00         0.00", "4000.00         1.00", "FC1110", "1.00 defects"),
        (
            "imb-4.1.txt",
            "Sendrecv\n\n",
            "Sendrecv\n# Exchange\n\n",
            "FC1271",
            "no table of Exchange",
        ),
        ("imb-4.1.txt", "      defects", "     neglects", "FC1110", "known columns"),
        ("mpi1.txt", "            4           20 ", "            4           2O ", "FC1110", "2O"),
        ("nccl-tests.all_reduce.txt", "values : 0 OK", "values : 3 FAILED", "FC1272", "3 FAILED"),
        ("nccl-tests.all_reduce.txt", "all_reduce_perf", "broadcast_perf", "FC1110", "another"),
        ("nccl-tests.all_reduce.txt", "all_reduce_perf", "gather_perf", "FC1272", "nccl_gather"),
        ("gpcnet.network_test.txt", "RR Put BW", "RR Pat BW", "FC1110", "RR Pat BW"),
        ("gpcnet.network_test.txt", "usec |", "msec |", "FC1110", "msec"),
        ("gpcnet.network_test.txt", "Network Tests v", "Other Tests v", "FC1124", "found 0"),
    ],
)
def test_what_is_wrong_is_refused(name, old, new, code, words):
    text = of(name).read_text()
    assert old in text
    with refused(code, words):
        parse_all(text.replace(old, new), name)


def test_the_table_that_judges_is_that_of_most_ranks_in_one_group():
    curve = parse((FOREIGN / "imb-4.1.txt").read_text(), "here")
    assert curve.metadata == {"ranks": "4"}
    assert curve.points[1].values[Metric.BANDWIDTH, "avg"] == pytest.approx(4000 * 1.048576)
    assert all(point.valid for point in curve.points)
    text = (IMB / "rma.txt").read_text()
    assert parse(text, "here", "imb_unidir_put").metadata["Mode"] == "NON-AGGREGATE"
    with refused("FC1123", "imb_unidir_put, imb_fetch_and_op"):
        parse(text, "here")


def test_what_did_not_fit_or_was_chosen_is_said():
    text = (FOREIGN / "imb-4.1.txt").read_text()
    row = next(line for line in text.split("\n") if "249.50" in line)
    left = text.replace(row, "       524288   out-of-mem.; needed X=    0.250 GB")
    assert "out-of-mem" in parse(left, "here").metadata[LACKING]
    own = text.replace("-msglog 18:19", "-msglen lengths")
    assert parse(own, "here").metadata[LACKING] == "sizes were user defined"


@pytest.mark.parametrize(
    ("name", "placement", "words", "lengths"),
    [
        ("imb_pingpong", "tcp-2n", "IMB-MPI1 PingPong -iter 1000 -msglen lengths -npmin 2", 23),
        ("imb_uniband", "shm-1n", "IMB-MPI1 Uniband -iter 1000 -msglen lengths -npmin 2", 23),
        ("imb_barrier", "tcp-4n", "IMB-MPI1 Barrier -iter 1000 -npmin 4", 0),
        ("imb_p2p_pingpong", "tcp-2n", "IMB-P2P PingPong -iter 1000 -msglen lengths", 23),
        ("imb_iallreduce", "tcp-4n", "IMB-NBC Iallreduce -iter 1000 -msglen lengths -npmin 4", 21),
    ],
)
def test_imb_is_asked_for_the_sizes_of_the_sweep_and_all_ranks(
    monkeypatch, name, placement, words, lengths
):
    monkeypatch.setattr(launch.mpi, "start", lambda *given: Job(words=given[2]))
    measured = launch.measurement(Case(name, placement))
    job = measured.job(Setting(mpi="openmpi"))
    assert " ".join(job.words) == words
    assert len(job.files["lengths"].split()) == lengths
    assert all("+imb" in environ for environ in measured.environs)


def test_imb_is_measured_where_a_run_says_so():
    found = launch.cases("imb")
    assert {each.benchmark for each in found} == {n for n, e in IMB_BENCHMARKS.items() if e.runs}
    pairs = {each.placement.num_nodes for each in found if each.benchmark == "imb_pingpong"}
    assert max(pairs) <= 2 < max(each.placement.num_nodes for each in found)
