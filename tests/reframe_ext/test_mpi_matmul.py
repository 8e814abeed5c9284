"""The job of a matrix multiplication is believed only with right products and all their bytes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.programs.results import matmul
from tests.reframe_ext.test_evidence import UCX_LOG, WITNESS

from fabricheck.launch.evidence import RESULT_JSON, examine
from fabricheck.launch.expectation import Expectation
from fabricheck.measures.parser import parse
from fabricheck.programs.mpi_matmul.launch import least_exchanged
from fabricheck.transports.families import choice
from fabricheck.transports.table import find

ORDERS = (240, 480)
WHOLE = json.dumps(matmul(*ORDERS))
RANKS = 4
# B of both orders in ten repetitions each.
LEAST = 10 * sum(8 * order * order for order in ORDERS)
EXPECTED = Expectation(
    benchmark="matmul_nonblocking_np4",
    transport=find("tcp"),
    num_nodes=2,
    num_tasks=RANKS,
    sizes=ORDERS,
    bound=False,
    quiet=True,
    choice=choice("mpich", "tcp"),
    result=RESULT_JSON,
    exchanged=least_exchanged,
)


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    (tmp_path / "out").write_text("")
    (tmp_path / RESULT_JSON).write_text(WHOLE)
    (tmp_path / "err").write_text("")
    for rank in range(RANKS):
        host = f"n{1 + rank // 2}"
        (tmp_path / f"ucx.{host}.{rank}.log").write_text(UCX_LOG.replace("HOST", host))
        write_witness(tmp_path, rank, LEAST)
    return tmp_path


def write_witness(stage: Path, rank: int, moved: int) -> None:
    text = WITNESS.replace("HOST", f"n{1 + rank // 2}").replace("RANK", str(rank))
    (stage / f"witness.{rank}").write_text(text.replace("90000", str(100 + moved)))


def objections(stage: Path, expected: Expectation = EXPECTED) -> tuple[str, ...]:
    return examine(stage, stage / "out", stage / "err", expected).objections


def test_the_least_is_all_of_b_in_each_repetition() -> None:
    load = least_exchanged(parse(WHOLE, "out"))
    assert (load.payload, load.calls) == (LEAST, 20)


def test_a_good_job_is_believed(stage: Path) -> None:
    assert objections(stage) == ()


def test_too_few_bytes_between_the_nodes_are_not_believed(stage: Path) -> None:
    for rank in (2, 3):
        write_witness(stage, rank, LEAST // 4)
    (objection,) = objections(stage)
    assert objection.startswith(f"expected {LEAST} B or more on the interfaces of n2 for tcp")


def test_a_missing_order_is_named(stage: Path) -> None:
    (objection,) = objections(stage, replace(EXPECTED, sizes=(*ORDERS, 960)))
    assert "N960 is missing" in objection


def test_products_that_nobody_checked_are_not_believed(stage: Path) -> None:
    (stage / RESULT_JSON).write_text(WHOLE.replace('"valid": true', '"valid": null'))
    (objection,) = objections(stage)
    assert "expected validated data at every size" in objection


def test_a_wrong_product_is_named_with_the_rank_that_computed_it(stage: Path) -> None:
    (stage / "err").write_text(
        "mpi_matmul: wrong data at N 240: row 239 of C, which rank 3 computed, in repetition 0 "
        "(warm-up included)\n"
    )
    (objection,) = objections(stage)
    assert "wrong data at N 240: row 239 of C, which rank 3 computed" in objection


def test_another_number_of_ranks_is_another_benchmark(stage: Path) -> None:
    (stage / RESULT_JSON).write_text(WHOLE.replace('"ranks": 4', '"ranks": 2'))
    found = objections(stage)
    assert any("expected a world of 4 ranks, found 2" in each for each in found)
    assert any("expected benchmark matmul_nonblocking_np4" in each for each in found)
