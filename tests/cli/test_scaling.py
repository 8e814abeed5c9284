"""``fabricheck scaling`` as a user meets it."""

import json

import pytest
from tests.report import sample


@pytest.fixture
def record(tmp_path):
    return sample.write(sample.report("allreduce", "alltoall", "latency"), tmp_path / "perflogs")


def test_the_largest_size_is_shown_with_its_efficiency(fabricheck, record):
    code, out, err = fabricheck("scaling", "--perflogs", record)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    heads = "collective size nodes ranks time on the wire effective efficiency"
    assert lines[0].split() == heads.split()
    assert len(lines) == 1 + 2 * 2 * 2 + 1
    first = next(line for line in lines if line.startswith("alltoall openmpi tcp"))
    assert " 1MiB " in first
    assert " 1048576 B " in first
    assert first.rstrip().endswith("100 %")


def test_sizes_and_collectives_can_be_chosen(fabricheck, record):
    code, out, _ = fabricheck(
        "scaling", "--perflogs", record, "--benchmark", "allreduce", "--size", "1KiB", "--json"
    )
    document = json.loads(out)
    assert (code, document["format"]) == (0, 1)
    assert {curve["benchmark"] for curve in document["curves"]} == {"allreduce"}
    steps = [step for curve in document["curves"] for step in curve["steps"]]
    assert {step["size"] for step in steps} == {1024}
    assert all(step["wire"] > 0 and step["bandwidth"] > 0 for step in steps)


@pytest.mark.parametrize("asked", [("--benchmark", "bcast"), ("--size", "3MiB")])
def test_nothing_to_show_is_said(fabricheck, record, asked):
    code, out, err = fabricheck("scaling", "--perflogs", record, *asked)
    assert (code, out) == (2, "")
    assert "found none that were asked for" in err
