"""The matrix of the page in parts: what each holds, and how wide it is."""

from typing import Any

from fabricheck.measures.registry import REGISTRY
from fabricheck.report.matrix import MOST_COLUMNS, BenchmarkRow, Column, Matrix, parts
from fabricheck.transports.placement import Placement


def matrix(*cases: tuple[str, str, str, str]) -> Matrix:
    """A matrix of cases: benchmark, environment, placement, partition."""
    present: Any = ("a case",)
    cells = {}
    for name, environ, placement, partition in cases:
        place = Placement.read(placement)
        column = Column(
            "S", partition, environ, place.num_nodes, place.transport.name, "", "", placement
        )
        cells[name, column] = present
    rows = [
        BenchmarkRow(name, "latency", "us")
        for name in REGISTRY
        if name in {each[0] for each in cases}
    ]
    return Matrix(tuple(rows), tuple(sorted({column for _, column in cells})), cells, ())


def test_a_part_has_one_layer_and_partition_without_empty_rows_and_columns() -> None:
    mpi = [
        (name, environ, placement, partition)
        for environ in ("mpich", "openmpi")
        for partition, placement in (("main", "shm-1n"), ("main", "tcp-2n"), ("rdma", "rc-2n"))
        for name in ("latency", "bw")
    ]
    below = [
        ("ucx_tag_lat", "builtin", "rc-2n", "rdma"),
        ("ib_send_lat", "builtin", "rc-2n", "rdma"),
    ]
    whole = matrix(*mpi, *below)
    found = parts(whole)
    assert [part.title for part in found] == [
        "MPI on main", "MPI on rdma", "UCX on rdma", "verbs on rdma",
    ]  # fmt: skip
    gaps = [
        (row, column)
        for part in found
        for row in part.rows
        for column in part.columns
        if not whole.cases(row, column)
    ]
    assert gaps == []
    shown = {(row.benchmark, column) for p in found for row in p.rows for column in p.columns}
    assert shown == whole.cells.keys()


def test_environments_stand_side_by_side() -> None:
    cases = [("latency", e, p, "main") for e in ("mpich", "openmpi") for p in ("tcp-2n", "rc-2n")]
    (part,) = parts(matrix(*cases))
    assert part.title == "MPI"
    assert part.heads == (("rc 2 nodes", 2), ("tcp 2 nodes", 2))
    assert [column.environ for column in part.columns] == ["mpich", "openmpi"] * 2


def test_no_part_is_wider_than_a_screen_and_no_case_is_lost() -> None:
    environs = [f"mpi{number}" for number in range(MOST_COLUMNS + 2)]
    cases = [("latency", e, p, "main") for e in environs for p in ("tcp-2n", "rc-2n", "ud-2n")]
    whole = matrix(*cases)
    found = parts(whole)
    assert max(len(part.columns) for part in found) <= MOST_COLUMNS
    assert sorted(column for part in found for column in part.columns) == list(whole.columns)


def test_no_row_or_column_is_mostly_empty_and_no_case_is_lost() -> None:
    places = {"ib_send_lat": ("rc", "uc", "ud"), "ib_write_lat": ("rc", "uc")}
    places |= dict.fromkeys(("ib_read_lat", "ib_read_bw", "ib_atomic_lat", "ib_atomic_bw"), ("rc",))
    cases = [(name, "builtin", f"{each}-2n", "rdma") for name in places for each in places[name]]
    whole = matrix(*cases)
    found = parts(whole)
    assert [part.title for part in found] == ["verbs, 1 of 2", "verbs, 2 of 2"]
    for part in found:
        full = [[bool(whole.cases(row, column)) for column in part.columns] for row in part.rows]
        assert all(2 * sum(line) >= len(line) for line in [*full, *zip(*full, strict=True)])
    shown = [
        (row.benchmark, column)
        for part in found
        for row in part.rows
        for column in part.columns
        if whole.cases(row, column)
    ]
    assert sorted(shown) == sorted(whole.cells)
