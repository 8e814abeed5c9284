"""Reference files after an acceptance: what was proposed, and nothing else with it."""

import multiprocessing
from pathlib import Path

import pytest
import yaml
from tests.programs.results import named
from tests.refusals import refused

from fabricheck.baseline import apply
from fabricheck.baseline.proposal import Proposed, ReferenceCase, ReferenceState, UnacceptedStep
from fabricheck.errors import FabricheckError
from fabricheck.judge.reference import CaseKey, Reference
from fabricheck.judge.references import resolve
from fabricheck.provenance import SUITE
from fabricheck.trend.accepted import read_accepted

CHECK = "MpiPointToPoint"
RULES = """\
rules:
- for: {check: MpiPointToPoint, benchmark: latency}
  value: {latency_p50_8B: 11}
  bound: [-0.5, 5]
  warning: [null, 4]
  shape: {monotone: 0.3}
  kind: bound
  source: x
  date: 2026-01-01
"""


def case(environ: str = "openmpi", placement: str = "rc-2n", system: str = "hpc") -> ReferenceCase:
    return ReferenceCase(CHECK, CaseKey(system, f"{system}:cpu", environ, "latency", placement))


def proposed(
    of: ReferenceCase, value: float = 2.5, state: ReferenceState = ReferenceState.NEW
) -> Proposed:
    reference = Reference(value, -0.5, 0.1, "us")
    return Proposed(
        case=of,
        state=state,
        variables={"latency_p50_8B": reference},
        before={},
        warning=0.75,
        samples=40,
        first="2026-09-01",
        last="2026-10-10",
        commit="1234567",
        software="MPI 1",
        steps=(),
    )


def accept(path: Path, *wanted: Proposed) -> str:
    change = apply.references(path, wanted)
    change.write()
    return change.diff()


def measured(path: Path) -> Path:
    return path.with_name("hpc.measured.yaml")


def test_a_new_file_has_what_was_proposed_and_its_origin(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    accept(path, proposed(case()))
    references, tolerance = resolve(path, CHECK, case().key)
    assert named(references) == {
        "latency_p50_8B": Reference(2.5, -0.5, 0.1, "us", warning=(-0.375, 0.1 * 0.75))
    }
    assert tolerance is not None
    assert (tolerance.kind, tolerance.samples, tolerance.commit) == ("measured", 40, "1234567")
    assert (tolerance.date, tolerance.software) == ("2026-10-10", "MPI 1")
    assert "40 nights, 2026-09-01 to 2026-10-10" in tolerance.source
    assert resolve(path, CHECK, case("mpich").key) == ({}, None)


def test_rules_keep_what_they_say_and_other_cases_what_they_had(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text(RULES)
    before = resolve(path, CHECK, case("mpich").key)
    accept(path, proposed(case()))
    assert path.read_text() == RULES
    assert resolve(path, CHECK, case("mpich").key) == before
    references, tolerance = resolve(path, CHECK, case().key)
    assert named(references)["latency_p50_8B"].value == 2.5
    assert tolerance is not None
    assert tolerance.monotone == 0.3


def test_twice_changes_nothing_and_one_value_is_a_diff_of_one_line(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    assert accept(path, proposed(case()), proposed(case("mpich")))
    time = measured(path).stat().st_mtime_ns
    assert accept(path, proposed(case())) == ""
    assert measured(path).stat().st_mtime_ns == time
    diff = accept(path, proposed(case(), 2.6)).splitlines()
    changed = [line for line in diff if line.startswith(("+", "-"))][2:]
    assert changed == [
        "-    latency_p50_8B: [2.5, -0.5, 0.1]",
        "+    latency_p50_8B: [2.6, -0.5, 0.1]",
    ]


def test_same_references_are_not_written(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    assert accept(path, proposed(case(), state=ReferenceState.SAME)) == ""
    assert not measured(path).exists()


@pytest.mark.parametrize("system", ["local", "testbed"])
def test_the_suites_own_files_can_be_added_to(tmp_path: Path, system: str):
    path = tmp_path / f"{system}.yaml"
    for each in (SUITE / "references").glob(f"{system}.*"):
        (tmp_path / each.name).write_text(each.read_text())
    place = "shm-1n" if system == "local" else "tcp-2n"
    others = [case("mpich", place, system), case("openmpi", "tcp-4n", system)]
    before = [resolve(path, CHECK, each.key) for each in others]
    added = accept(path, proposed(case("openmpi", place, system)))
    assert [resolve(path, CHECK, each.key) for each in others] == before
    assert not [line for line in added.splitlines()[2:] if line.startswith("-")]


@pytest.mark.parametrize("text", ["best: [", "nothing: {}\n", "measured: 3\n"])
def test_a_file_that_is_none_of_ours_is_named_and_stays(tmp_path: Path, text: str):
    path = tmp_path / "hpc.yaml"
    measured(path).write_text(text)
    with pytest.raises(FabricheckError, match=r"hpc\.measured\.yaml"):
        accept(path, proposed(case()))
    assert measured(path).read_text() == text


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path):
    with refused("FC2101"):
        accept(tmp_path / "none" / "hpc.yaml", proposed(case()))


@pytest.mark.integration
def test_two_at_once_do_not_mix(tmp_path: Path):
    with apply.locked(tmp_path):
        queue = multiprocessing.Queue()
        other = multiprocessing.Process(target=_lock, args=(tmp_path, queue))
        other.start()
        assert "no other fabricheck" in queue.get(timeout=60)
        other.join()
    with apply.locked(tmp_path):
        pass
    with (
        pytest.raises(FabricheckError, match="expected a directory of references"),
        apply.locked(tmp_path / "none"),
    ):
        pass


def _lock(directory: Path, queue: "multiprocessing.Queue[str]") -> None:
    try:
        with apply.locked(directory):
            queue.put("alone")
    except FabricheckError as error:
        queue.put(str(error))


STEP = UnacceptedStep(
    "2026-10-01", "regression of +20 %", ({"transport": ["rc"], "size": [8, None]},)
)


def test_steps_are_added_to_the_list_and_read_by_the_trend(tmp_path: Path):
    path = tmp_path / "hpc.accepted.yaml"
    path.write_text("# Ours.\n- {date: 2026-09-01, series: {}, by: Bo, signed: 2026-09-02, why: x}")
    apply.steps(tmp_path, "hpc", [STEP], "Ada", "Firmware: 28.39").write()
    assert path.read_text().startswith("# Ours.\n- {date: 2026-09-01, series: {}, by: Bo")
    _, new = read_accepted([tmp_path])
    assert (str(new.date), new.by, new.why) == ("2026-10-01", "Ada", "Firmware: 28.39")
    assert new.series == {"transport": ("rc",), "size": (8, None)}
    again = apply.steps(tmp_path, "hpc", [STEP], "Cy", "twice")
    assert again.diff() == ""


def test_a_list_that_cannot_be_added_to_stays(tmp_path: Path):
    path = tmp_path / "hpc.accepted.yaml"
    path.write_text("[]\n")
    with refused("FC1902"):
        apply.steps(tmp_path, "hpc", [STEP], "Ada", "why")
    assert yaml.safe_load(path.read_text()) == []
