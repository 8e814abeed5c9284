"""The shipped bounds hold on machines ten times as fast and as slow: only what is absurd is red."""

from pathlib import Path

import pytest
import yaml

from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, Reference, resolve
from fabricheck.judge.verdict import judge_values
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Direction

SUITE = Path(__file__).parents[2]
UNITS = ("us", "ms", "s", "MB/s", "messages/s")
OTHERS = {
    "testbed": [
        ("MpiMatmul", "matmul_blocking_np2", "shm-1n"),
        ("MpiMatmul", "matmul_blocking_np2", "rc-2n"),
        ("MpiUnderLoad", "allreduce_under_load", "tcp-4n"),
        ("RdmaStream", "rdma_stream_t2", "rc-2n"),
        ("RdmaStream", "mpi_stream_t2", "tcp-2n"),
        ("RdmaBatch", "rdma_batch_read", "rc-2n"),
    ],
    "local": [("MpiMatmul", "matmul_blocking_np2", "shm-1n")],
}


def cases() -> list[tuple[str, str, CaseKey]]:
    found = []
    for system, others in OTHERS.items():
        path = SUITE / "references" / f"{system}.measured.yaml"
        best = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["best"]
        named = [(each["check"], each["benchmark"], each["placement"]) for each in best]
        for check, benchmark, placement in [*named, *others]:
            key = CaseKey(system, f"{system}:main", "openmpi", benchmark, placement)
            found.append((system, check, key))
    return found


def scaled(variable: Variable, reference: Reference, faster: float) -> float:
    """What a machine so many times as fast measures where the reference was measured."""
    if reference.unit not in UNITS:
        return reference.value
    lower = variable.metric.row.direction is Direction.LOWER
    return reference.value / faster if lower else reference.value * faster


@pytest.mark.parametrize("faster", [0.1, 20])
def test_no_case_is_red_or_yellow_on_a_faster_or_slower_machine(faster: float) -> None:
    for system, check, key in cases():
        references, tolerance = resolve(SUITE / "references" / f"{system}.yaml", check, key)
        assert references, key
        values = {
            name: (scaled(name, each, faster), each.unit) for name, each in references.items()
        }
        verdict = judge_values(values, references, tolerance)
        assert (verdict.level, verdict.findings) == (Level.GOOD, ()), key


def test_what_varies_less_than_on_another_machine_is_good() -> None:
    key = CaseKey("testbed", "testbed:main", "openmpi", "matmul_blocking_np2", "tcp-2n")
    references, tolerance = resolve(SUITE / "references" / "testbed.yaml", "MpiMatmul", key)
    values = {name: (each.value, each.unit) for name, each in references.items()}
    values[Variable.read("variation_max_N960")] = (0.0497, "1")
    assert judge_values(values, references, tolerance).level is Level.GOOD


def test_what_is_a_thousand_times_as_slow_is_critical() -> None:
    for system, check, key in cases():
        if check != "MpiPointToPoint":
            continue
        references, tolerance = resolve(SUITE / "references" / f"{system}.yaml", check, key)
        values = {name: (scaled(name, each, 1e-7), each.unit) for name, each in references.items()}
        assert judge_values(values, references, tolerance).level is Level.CRITICAL, key
