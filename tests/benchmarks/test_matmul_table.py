"""The table of mpi_matmul: read whole, refused wherever it is damaged; labels of its orders."""

import re
from collections.abc import Callable

import pytest

from fabricheck.benchmarks.curve import split_variable, variable_name
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS as MATMUL_BENCHMARKS
from fabricheck.benchmarks.mpi_matmul.entries import MODES, RANKS, benchmark_name
from fabricheck.benchmarks.parser import ParseError, check_complete, parse
from fabricheck.errors import FabricheckError

PHASES = ["transfer_a", "broadcast_b", "compute", "transfer_c", "total"]
HEAD = """\
# mpi_matmul MPI Matrix Multiplication v0.1.0
# Mode: nonblocking
# Ranks: 4
# Hosts: n1 n2
# MPI: MPICH Version: 4.0.2
# BLAS: OpenBLAS 0.3.21 DYNAMIC_ARCH SINGLE_THREADED
# Clock: 28.1 ns
# N       Phase        Repetitions       Min(us)       Avg(us)       P50(us)       P95(us)       \
Max(us)     Variation           Bytes          GB/s       GFlop/s  Validation
"""


def row(order: int, number: int, variation: str = "0.25") -> str:
    times = " ".join(f"{order + number + step:.2f}" for step in (0, 3, 2, 4, 5))
    return f"{order}  {PHASES[number]}  10  {times}  {variation}  800  1.5  -  Pass\n"


def table(*orders: int) -> str:
    rows = "".join(row(order, number) for order in orders for number in range(len(PHASES)))
    return f"{HEAD}{rows}# Complete: {len(orders)} sizes\n"


WHOLE = table(240, 480)


def test_a_whole_table():
    curve = parse("srun: a line of another program\n" + WHOLE, "out")
    assert (curve.benchmark, curve.program, curve.version) == (
        "matmul_nonblocking_np4",
        "mpi_matmul",
        "0.1.0",
    )
    assert curve.metadata["MPI"] == "MPICH Version: 4.0.2"
    assert [point.size for point in curve.points] == [240, 480]
    assert [(point.iterations, point.valid) for point in curve.points] == [(10, True)] * 2
    values = curve.points[0].values
    assert values[Metric.TRANSFER_A, "min"] == 240
    assert values[Metric.BROADCAST_B, "avg"] == 244
    assert values[Metric.TOTAL, "p50"] == 246
    assert values[Metric.COMPUTE, "max"] == 247
    assert list(curve.variables()) == [
        f"{name}_N{order}"
        for order in (240, 480)
        for name in (
            *("total_p50", "transfer_a_p50", "broadcast_b_p50", "compute_p50", "transfer_c_p50"),
            "variation_max",
        )
    ]


def test_one_repetition_tells_no_variation():
    text = HEAD + "".join(row(240, n, "-") for n in range(5)) + "# Complete: 1 sizes\n"
    assert (Metric.VARIATION, "max") not in parse(text, "out").points[0].values


def test_the_variation_is_that_of_the_phase_that_varies_most_but_not_of_the_total():
    spreads = ["0.1", "0.4", "0.2", "0.3", "0.9"]
    rows = "".join(row(240, n, spread) for n, spread in enumerate(spreads))
    curve = parse(f"{HEAD}{rows}# Complete: 1 sizes\n", "out")
    assert curve.points[0].values[Metric.VARIATION, "max"] == 0.4


def without(pattern: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, "", text, count=1, flags=re.MULTILINE)


def instead(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


DAMAGE = {
    "no end": (without(r"^# Complete.*\n"), "expected the end mark"),
    "cut in a row": (lambda text: text[: text.index("480  compute") + 14], "row of 13 columns"),
    "a row less": (without(r"^240  compute.*\n"), "N 240: expected the phases transfer_a, "),
    "a row twice": (instead(row(240, 2), row(240, 2) * 2), "N 240: expected the phases"),
    "an order less": (without(r"(?:^480 .*\n){5}"), "expected '# Complete: 1 sizes' once"),
    "orders fall": (lambda _: table(480, 240), "orders rising"),
    "a word in a number": (instead("242.00", "24x.00"), "expected a number, found '24x.00'"),
    "not a number": (instead("242.00", "nan"), "expected a number, found 'nan'"),
    "a column less": (instead("  Validation", ""), "row of 12 columns"),
    "no version": (instead(" v0.1.0", ""), "expected a title with a version"),
    "two tables": (lambda text: text + text, "expected one table, found a second"),
    "no columns": (without(r"^# N .*\n"), "expected a row of"),
    "other columns": (instead("P50(us)", "P51(us)"), "expected the columns N Phase"),
    "a wrong product": (instead("Pass", "Fail"), "expected Pass as Validation, found 'Fail'"),
    "said to be wrong": (
        instead("# Complete: 2 sizes", "DATA VALIDATION ERROR: mpi_matmul exited with status 1"),
        "expected right products, found a wrong one",
    ),
    "ended early": (
        instead("# Complete: 2 sizes", "# Interrupted: SIGINT at N 480, after 2 of 10 repetitions"),
        "expected a whole run, found that it was ended: SIGINT at N 480",
    ),
    "an unknown mode": (instead("nonblocking", "sleeping"), "unknown benchmark: mode sleeping on"),
    "unusual ranks": (instead("# Ranks: 4", "# Ranks: 3"), "mode nonblocking on 3 ranks"),
    "no ranks": (without(r"^# Ranks.*\n"), "mode nonblocking on none ranks"),
    "nothing measured": (
        lambda _: HEAD + "# Complete: 0 sizes\n",
        "expected '# Complete: 0 sizes'",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_refused(damage):
    change, message = DAMAGE[damage]
    damaged = change(WHOLE)
    assert damaged != WHOLE
    with pytest.raises(ParseError, match=re.escape(message)):
        parse(damaged, "out")


def test_every_cut_is_refused():
    lines = WHOLE.splitlines(keepends=True)
    for end in range(1, len(lines)):
        with pytest.raises(ParseError):
            parse("".join(lines[:end]), "out")


def test_missing_orders_are_named():
    with pytest.raises(ParseError, match=r"N960 is missing"):
        check_complete(parse(WHOLE, "out"), (240, 480, 960))
    check_complete(parse(WHOLE, "out"), (240, 480))


def test_labels_of_orders():
    name = variable_name(Metric.COMPUTE, "p50", 2000)
    assert name == "compute_p50_N2000"
    assert split_variable(name) == (Metric.COMPUTE, "p50", 2000)
    for wrong in ("compute_p50_N0", "compute_p50_N02000", "compute_p50_2KiB", "latency_p50_N2000"):
        with pytest.raises(FabricheckError):
            split_variable(wrong)


def test_every_mode_and_number_of_ranks_is_a_benchmark():
    assert list(MATMUL_BENCHMARKS) == [
        benchmark_name(mode, ranks) for mode in MODES for ranks in RANKS
    ]
    for benchmark in MATMUL_BENCHMARKS.values():
        assert benchmark.options == ("--mode", benchmark.mode)
