"""Series of other suites as series of this one: by mapping files, and the units of their values."""

from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.measures.registry import find
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.record.mapping import SHIPPED, Renaming, read_mappings

PLACE = {"system": "their", "partition": "ib-gcc9-openmpi4-ucx", "environ": "omb"}
EESSI = "EESSI_OSU_pt2pt_CPU %benchmark_info=mpi.pt2pt.osu_{} %module_name=OSU/7.2 %scale={}"
CSCS = "osu_pt2pt_check %benchmark_info=mpi.pt2pt.standard.osu_{} %osu_binaries.build_type={}"


def renaming(*names: str) -> Renaming:
    found = read_mappings(names)
    assert found
    return found


def case(test: str, variable: str, unit: str, tags: str = "", ranks: int = 0) -> CaseEntry:
    return CaseEntry(
        **PLACE,
        check=test.split(maxsplit=1)[0],
        time="2026-11-01T00:00:00+00:00",
        benchmark=test,
        ranks=ranks,
        tags=tuple(tags.split()),
        samples=(Sample(metric=variable, value=2.0, unit=unit),),
    )


def series(case: CaseEntry) -> tuple[object, ...]:
    (sample,) = case.samples
    return (
        *(case.benchmark, case.placement, case.ranks, sample.metric, sample.statistic),
        *(sample.size, sample.value, sample.unit),
    )


MAPPED = {
    "excalibur, OSU": (
        *("excalibur-tests", case("Osu_bw", "max_bandwidth", "MB/s", "bw procs_per_node=1")),
        ("bw", "auto-2n", 2, "bandwidth", "max", None, 2.0, "MB/s"),
    ),
    "excalibur, several pairs": (
        "excalibur-tests",
        case("Osu_mbw_mr__4", "max_message_rate", "Messages/s", "mbw_mr procs_per_node=4"),
        ("mbw_mr", "auto-2n", 8, "message_rate", "max", None, 2.0, "messages/s"),
    ),
    "excalibur, IMB": (
        *("excalibur-tests", case("IMB_PingPong", "min_latency", "t[usec]")),
        ("imb_pingpong", "auto-2n", 2, "latency", "min", None, 2.0, "us"),
    ),
    "EESSI, two nodes": (
        *("eessi", case(EESSI.format("latency", "2_nodes"), "latency", "us", ranks=2)),
        ("latency", "auto-2n", 2, "latency", "avg", 8, 2.0, "us"),
    ),
    "EESSI, a part of one": (
        *("eessi", case(EESSI.format("bw", "1_8_node"), "bandwidth", "MB/s", ranks=2)),
        ("bw", "shm-1n", 2, "bandwidth", "avg", 4194304, 2.0, "MB/s"),
    ),
    "CSCS": (
        *("cscs", case(CSCS.format("bw", "cpu"), "bandwidth", "MB/s", ranks=2)),
        ("bw", "cxi-2n", 2, "bandwidth", "avg", 4194304, 2.0, "MB/s"),
    ),
    "CSCS, two sizes of a table": (
        *("cscs", case("OSULatency", "latency_256", "us", ranks=2)),
        ("latency", "cxi-2n", 2, "latency", "avg", 256, 2.0, "us"),
    ),
}


@pytest.mark.parametrize("kind", MAPPED)
def test_series_of_other_suites_get_the_names_of_ours(kind: str) -> None:
    name, given, expected = MAPPED[kind]
    found, count = renaming(name).applied(given)
    assert (series(found), count) == (expected, 1)


@pytest.mark.parametrize("name", ["eessi", "cscs"])
def test_what_is_measured_on_gpus_keeps_its_name(name: str) -> None:
    texts = {
        "eessi": EESSI.format("bw", "2_nodes").replace("pt2pt_CPU", "pt2pt_GPU"),
        "cscs": CSCS.format("bw", "cuda"),
    }
    given = case(texts[name], "bandwidth", "MB/s")
    assert renaming(name).applied(given) == (given, 0)


def test_other_tests_keep_their_names() -> None:
    given = case("Gromacs_61k_16", "ns_per_day", "ns/day")
    found, count = renaming("excalibur-tests").applied(given)
    assert (found.benchmark, found.samples, count) == (given.benchmark, given.samples, 0)


def mapping(tmp_path: Path, rules: str) -> Renaming:
    path = tmp_path / "names.yaml"
    path.write_text(f"rules:\n{rules}")
    return renaming(str(path))


BW = "  - {where: {test: Net}, set: {benchmark: BW, metric: bandwidth, statistic: avg, size: 8"


@pytest.mark.parametrize(
    ("unit", "value"), [("GB/s", 2000.0), ("MiB/s", 2.097152), ("MB/s", 2.0), ("km/h", None)]
)
def test_values_come_into_the_unit_of_their_metric(
    unit: str, value: float | None, tmp_path: Path
) -> None:
    rules = "  - {where: {test: Net}, set: {benchmark: BW}}\n" + BW.replace("benchmark: BW, ", "")
    found = mapping(tmp_path, f"{rules}}}}}\n")
    given = case("Net", "rate", unit)
    if value is None:
        with pytest.raises(FabricheckError, match=r"expected rate of Net .* found 'km/h'"):
            found.applied(given)
    else:
        (sample,) = found.applied(given)[0].samples
        assert (sample.value, sample.unit) == (pytest.approx(value), "MB/s")


def test_a_benchmark_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    found = mapping(tmp_path, "  - {where: {test: Net}, set: {benchmark: warp}}\n")
    with pytest.raises(FabricheckError, match="warp"):
        found.applied(case("Net", "rate", "MB/s"))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("  - {where: {test: Net}, set: {benchmark: '{name}'}}\n", "name a group"),
        ("  - {where: {tset: Net}, set: {benchmark: bw}}\n", "did you mean 'test'"),
        ("  - {where: {test: '('}, set: {benchmark: bw}}\n", "a regular expression"),
        ("  - {where: {test: Net}, set: {size: large}}\n", "a whole number"),
    ],
)
def test_a_mapping_that_is_wrong_is_told_by_line(rules: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FabricheckError, match=rf"names.yaml: line 2: .*{message}"):
        mapping(tmp_path, rules)


def test_shipped_mappings_name_benchmarks_of_ours() -> None:
    for path in SHIPPED.glob("*.yaml"):
        for rule in renaming(path.stem).rules:
            benchmark = str(rule.sets.get("benchmark", "bw"))
            assert "{" in benchmark or find(benchmark)
