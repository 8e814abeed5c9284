"""What a job of an OSU program left behind: less than one of mpi_probe, and proved all the same."""

from pathlib import Path

import pytest
from tests.reframe_ext.test_evidence import UCX_LOG, WITNESS
from tests.refusals import refused

from fabricheck.launch.evidence import examine
from fabricheck.launch.expectation import Expectation
from fabricheck.launch.measurement import Evidence
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import find as find_benchmark
from fabricheck.measures.registry import sweep
from fabricheck.programs.osu.launch import exchanges, with_launch
from fabricheck.transports.families import choice
from fabricheck.transports.table import find

PRINTED = Path(__file__).parents[1] / "data" / "osu-7.4" / "families"


@pytest.fixture
def job(tmp_path: Path):
    def examined(benchmark: str, moved: int, output: str = "", iterations: int = 10) -> Evidence:
        entry = find_benchmark(benchmark)
        text = output or (PRINTED / f"{benchmark}.txt").read_text()
        (tmp_path / "out").write_text(text.replace("nprocs: 3", "nprocs: 2"))
        (tmp_path / "err").write_text("")
        for rank, host in enumerate(("n1", "n2")):
            (tmp_path / f"ucx.{host}.7.log").write_text(UCX_LOG.replace("HOST", host))
            witness = WITNESS.replace("HOST", host).replace("RANK", str(rank))
            (tmp_path / f"witness.{rank}").write_text(witness.replace("90000", str(100 + moved)))
        sizes = () if entry.min_size is None else sweep(entry.min_size, min(512, entry.max_size))
        return examine(
            tmp_path,
            tmp_path / "out",
            tmp_path / "err",
            Expectation(
                benchmark=benchmark,
                transport=find("tcp"),
                num_nodes=2,
                num_tasks=2,
                sizes=sizes,
                bound=True,
                quiet=True,
                choice=choice("openmpi", "tcp"),
                exchanges=exchanges(entry, sizes, iterations),
            ),
        )

    return examined


# Ten messages of 1 to 512 bytes.
PAYLOAD = 10 * sum(sweep(1, 512))


def test_the_number_of_iterations_that_was_asked_for_is_what_the_counters_must_show(job):
    assert job("latency", PAYLOAD).objections == ()
    objections = job("latency", PAYLOAD // 4).objections
    assert len(objections) == 2, "one of each node"
    assert all(f"expected {PAYLOAD} B or more" in objection for objection in objections)
    assert job("latency", PAYLOAD, iterations=30).objections


def test_a_window_counts_with_all_its_messages(job):
    assert job("bw", 64 * PAYLOAD).objections == ()
    assert job("bw", PAYLOAD).objections


@pytest.mark.parametrize("benchmark", ["put_bw", "bw_fan_in"])
def test_what_cannot_check_its_data_is_not_asked_to(job, benchmark):
    assert job(benchmark, 64 * PAYLOAD).objections == ()


def test_what_can_check_its_data_must_have(job):
    unchecked = (PRINTED / "latency.txt").read_text().replace("Validation", "")
    (objection,) = job("latency", PAYLOAD, unchecked.replace("Pass", "")).objections
    assert "expected validated data at every size" in objection


def test_a_start_sends_nothing_so_no_counter_is_asked(job):
    found = job("init", 0)
    assert found.objections == ()
    assert found.proof == "no message was sent that a transport could carry"


def test_a_start_in_the_wrong_world_is_not_believed(job):
    alone = (PRINTED / "init.txt").read_text().replace("nprocs: 3", "nprocs: 1")
    (objection,) = job("init", 0, alone).objections
    assert "expected a world of 2 ranks, found 1" in objection


def test_a_launch_is_the_time_between_two_looks_at_the_clock(job, tmp_path):
    hello = (PRINTED / "hello.txt").read_text().replace("with 3", "with 2")
    curve = job("hello", 0, hello).curve
    (tmp_path / "launch.begin").write_text("1000000000\n")
    (tmp_path / "launch.end").write_text("1250000000\n")
    assert with_launch(curve, tmp_path).points[0].values == {(Metric.LAUNCH, "avg"): 250.0}
    (tmp_path / "launch.end").unlink()
    with refused("FC1204", r"expected the time in ns in launch\.end"):
        with_launch(curve, tmp_path)
