import runpy
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck import programs
from fabricheck.errors import FabricheckError
from fabricheck.measures import registry
from fabricheck.measures.registry import REGISTRY, find, names, sweep
from fabricheck.programs.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.programs.perftest.entries import BENCHMARKS as VERBS_BENCHMARKS
from fabricheck.programs.ucx_perftest.entries import BENCHMARKS as UCX_BENCHMARKS

PAIR_BENCHMARKS = {**VERBS_BENCHMARKS, **UCX_BENCHMARKS}


def test_titles_are_unique():
    titles = [benchmark.title for benchmark in REGISTRY.values()]
    assert len(titles) == len(set(titles)) == len(REGISTRY)


@pytest.mark.parametrize("name", [name for name, b in MPI_BENCHMARKS.items() if "reduce" in name])
def test_reductions_never_run_with_the_default_datatype(name):
    assert MPI_BENCHMARKS[name].datatype == "mpi_float"


def test_only_barriers_and_starts_have_no_sizes():
    """And what has one size, which a site may choose."""
    lab = {*names("allreduce-lab"), *names("nccl-training")}
    without = {b.name for b in REGISTRY.values() if b.min_size is None} - lab
    imb = {"imb_barrier", "imb_ibarrier", "imb_ibarrier_pure"}
    assert without - imb == {"barrier", "ibarrier", "barrier_persistent", "init", "hello"}


def test_an_unknown_benchmark_is_told_what_is_spelled_alike():
    with refused("FC1119", r"unknown benchmark 'latncy': alike are latency, "):
        find("latncy")


def test_sweep_doubles_and_starts_at_zero_if_asked():
    assert sweep(4, 40) == (4, 8, 16, 32)
    assert sweep(0, 4) == (0, 1, 2, 4)
    assert sweep(8, 8) == (8,)


@pytest.mark.parametrize(("smallest", "largest"), [(8, 4), (-1, 4)])
def test_sweep_refuses_inverted_or_negative_sizes(smallest, largest):
    with refused("FC1120"):
        sweep(smallest, largest)


def test_pairs_vary_one_thing_at_a_time_from_a_plain_test():
    plain = {
        b.program: b for b in PAIR_BENCHMARKS.values() if b.family == "verbs" and not b.options
    }
    assert {
        f"ib_{o}_{k}" for o in ("send", "write", "read", "atomic") for k in ("bw", "lat")
    } == set(plain)
    for benchmark in PAIR_BENCHMARKS.values():
        if benchmark.family == "verbs" and benchmark.options:
            assert benchmark.transports == ("rc",)
            assert sum(option.startswith("-") for option in benchmark.options) == 1
            assert benchmark.metrics == plain[benchmark.program].metrics


def test_verbs_run_only_over_what_can_carry_them():
    transports = {b.name: b.transports for b in PAIR_BENCHMARKS.values() if not b.options}
    assert transports["ib_send_bw"] == ("rc", "uc", "ud")
    assert transports["ib_write_lat"] == ("rc", "uc")
    assert transports["ib_read_lat"] == transports["ib_atomic_bw"] == ("rc",)


@pytest.mark.parametrize("family", ["verbs", "ucx"])
def test_each_run_holds_the_smaller_ones(family):
    runs = [b.runs for b in PAIR_BENCHMARKS.values() if b.family == family]
    assert set(runs) <= {
        frozenset({"full", "acceptance"}),
        frozenset({"full", "acceptance", "nightly"}),
        frozenset({"full", "acceptance", "nightly", "smoke"}),
    }
    smoke, nightly = (sum(tag in run for run in runs) for tag in ("smoke", "nightly"))
    assert 0 < smoke < nightly <= len(runs)


def test_atomics_have_one_size_and_inline_data_small_ones():
    sizes = {name: (b.min_size, b.max_size) for name, b in PAIR_BENCHMARKS.items()}
    assert sizes["ib_atomic_lat"] == sizes["ib_atomic_bw_qp4"] == (8, 8)
    assert sizes["ib_send_lat_inline"] == (2, 64)


WALK = Path(__file__).parents[1] / "data" / "benchmarks" / "walk" / "entries.py"


def with_folders(monkeypatch, place: Path, **entries: str) -> None:
    """Make the registry again, with a directory of these folders."""
    for name, text in entries.items():
        (place / name).mkdir(parents=True)
        (place / name / "entries.py").write_text(text)
    monkeypatch.setattr(programs, "__path__", [*programs.__path__, f"{place}/"])
    runpy.run_path(registry.__file__)


def named(benchmark: str, family: str, check: str) -> str:
    text = WALK.read_text().replace('"walk"', f'"{benchmark}"').replace("MemoryWalk", check)
    return text.replace('"memory"', f'"{family}"')


def test_a_folder_elsewhere_is_taken(monkeypatch, tmp_path):
    with_folders(monkeypatch, tmp_path / "here", taken_one=named("one", "of_one", "One"))


@pytest.mark.parametrize("made", [None, "file", "directory"])
def test_a_variable_that_names_no_folders_is_refused(monkeypatch, tmp_path, made):
    place = tmp_path / "here"
    if made == "file":
        place.touch()
    elif made:
        place.mkdir()
    with refused("FC1115", f"in {place}, which FABRICHECK_BENCHMARKS names"):
        with_folders(monkeypatch, place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def (", "found SyntaxError: invalid syntax"),
        ("raise SystemExit(0)", "found SystemExit: 0: correct it"),
        ("import no_such_module", "found ModuleNotFoundError: No module named 'no_such_module'"),
        ("FAMILIES = ()", "BENCHMARKS, a Mapping: add or correct it"),
        (WALK.read_text().replace('name="walk"', 'name="wlk"'), "benchmark walk .* found wlk of"),
        (WALK.read_text().replace('family="memory"', 'family="verbs"'), "found walk of verbs"),
    ],
    ids=["syntax", "exit", "import", "no-benchmarks", "name", "family"],
)
def test_entries_that_are_wrong_are_told_with_their_file(
    monkeypatch, tmp_path, request, text, message
):
    folder = f"wrong_{request.node.callspec.id}".replace("-", "_")
    with pytest.raises(FabricheckError, match=rf"{folder}/entries\.py: expected .*{message}"):
        with_folders(monkeypatch, tmp_path, **{folder: text})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("latency", "f", "F"), "expected a benchmark .* found latency, which folder osu has"),
        (("b", "verbs", "F"), "expected a family .* found verbs, which folder perftest has"),
        (
            ("b", "f", "MpiOneSided"),
            "expected a check class .* found MpiOneSided, which folder osu",
        ),
    ],
)
def test_a_name_that_another_folder_has_is_refused(monkeypatch, tmp_path, names, message):
    with refused("FC1117", message):
        with_folders(monkeypatch, tmp_path, **{f"taken_{'_'.join(names).lower()}": named(*names)})


def test_a_folder_of_the_name_of_another_is_refused(monkeypatch, tmp_path):
    with refused("FC1115", "a name of its own, found osu: "):
        with_folders(monkeypatch, tmp_path, osu=named("b", "f", "F"))
