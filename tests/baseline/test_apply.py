"""Reference files after an acceptance: what was proposed, and nothing else with it."""

import multiprocessing
from pathlib import Path

import pytest
import yaml
from tests.baseline.test_reference_text import PATTERN, changed_lines

from fabricheck.baseline import apply
from fabricheck.baseline.proposal import Case, Proposed, State, Step
from fabricheck.baseline.reference_text import ReferenceText
from fabricheck.errors import FabricheckError
from fabricheck.judge.model import CaseKey, Reference
from fabricheck.judge.references import resolve
from fabricheck.provenance import SUITE
from fabricheck.trend.accepted import read_accepted

CHECK = "MpiPointToPoint"
LEVELS = """\
MpiPointToPoint.levels:
  $index: [$environ, benchmark, placement]
  .*:
    .*:
      .*: {warning: [null, 4], kind: bound, source: x, date: 2026-01-01, monotone: 0.3}
"""


def case(environ: str = "openmpi", placement: str = "rc-2n", system: str = "hpc") -> Case:
    return Case(CHECK, CaseKey(system, f"{system}:cpu", environ, "latency", placement))


def proposed(of: Case, value: float = 2.5, state: State = State.NEW) -> Proposed:
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


def accept(path: Path, *wanted: Proposed, others: list[Case], reindex: bool = False) -> str:
    change = apply.references(path, wanted, others, reindex=reindex)
    change.write()
    return change.diff()


def test_a_new_file_has_what_was_proposed_and_its_origin(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    accept(path, proposed(case()), others=[])
    references, tolerance = resolve(path, CHECK, case().key)
    assert references == {"latency_p50_8B": Reference(2.5, -0.5, 0.1, "us")}
    assert tolerance is not None
    assert (tolerance.kind, tolerance.samples, tolerance.commit) == ("measured", 40, "1234567")
    assert (tolerance.date, tolerance.warning, tolerance.software) == ("2026-10-10", 0.75, "MPI 1")
    assert "40 nights, 2026-09-01 to 2026-10-10" in tolerance.source
    assert resolve(path, CHECK, case("mpich").key) == ({}, None)


def test_reframe_reads_what_was_written(tmp_path: Path):
    import reframe.core.pipeline as rfm  # noqa: PLC0415

    # The reader of $ref behind RegressionTest.reference.
    class MpiPointToPoint(rfm.RegressionTestPlugin):
        pass

    path = tmp_path / "hpc.yaml"
    path.write_text(PATTERN + LEVELS)
    accept(path, proposed(case()), others=[case("mpich")])
    external = rfm._ReferenceDict({"$ref": str(path)}, test=None)
    external._ReferenceDict__test_entry_name = CHECK
    latency = external._read_ref_file(str(path))["hpc"]["openmpi"]["latency"]
    assert latency["rc-2n"] == {"latency_p50_8B": (2.5, -0.5, 0.1, "us")}
    assert latency["rc-4n"] == {"latency_p50_8B": (11, -0.5, 5, "us")}


def test_twice_changes_nothing(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text(PATTERN + LEVELS)
    others = [case("mpich"), case("mpich", "rc-4n"), case(placement="rc-4n")]
    assert accept(path, proposed(case()), others=others)
    time = path.stat().st_mtime_ns
    assert accept(path, proposed(case()), others=others) == ""
    assert path.stat().st_mtime_ns == time


def test_one_value_is_a_diff_of_one_line_and_its_origin(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text("# Mine.\n" + PATTERN + LEVELS)
    accept(path, proposed(case()), others=[case("mpich")])
    old = path.read_text()
    accept(path, proposed(case(), 2.6), others=[case("mpich")])
    assert changed_lines(old, path.read_text()) == ["latency_p50_8B: [2.6, -0.5, 0.1, us]"]


def test_what_the_levels_say_about_the_form_of_a_curve_stays(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text(PATTERN + LEVELS)
    accept(path, proposed(case()), others=[])
    tolerance = resolve(path, CHECK, case().key)[1]
    assert tolerance is not None
    assert tolerance.monotone == 0.3


def test_same_references_are_not_written(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    assert accept(path, proposed(case(), state=State.SAME), others=[]) == ""
    assert not path.exists()


def test_cases_that_would_share_an_entry_need_a_longer_index(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text(PATTERN.replace("$environ, ", "").replace("    (openmpi|mpich):  # both\n", "")
                    .replace("  hpc:\n", "  hpc: # all\n") + LEVELS.replace("$environ, ", "")
                    .replace("  .*:\n    .*:\n      .*:", "  .*:\n    .*:"))  # fmt: skip
    others = [case("mpich"), case("mpich", "rc-4n")]
    old = path.read_text()
    with pytest.raises(FabricheckError, match=r"expected \$environ in the MpiPointToPoint \$index"):
        accept(path, proposed(case()), others=others)
    assert path.read_text() == old
    before = [resolve(path, CHECK, each.key) for each in others]
    accept(path, proposed(case()), others=others, reindex=True)
    assert [resolve(path, CHECK, each.key) for each in others] == before
    assert resolve(path, CHECK, case().key)[0]["latency_p50_8B"].value == 2.5


@pytest.mark.parametrize("system", ["local", "testbed"])
def test_the_suites_own_files_can_be_added_to(tmp_path: Path, system: str):
    path = tmp_path / f"{system}.yaml"
    path.write_text((SUITE / "references" / path.name).read_text())
    place = "shm-1n" if system == "local" else "tcp-2n"
    others = [case("mpich", place, system), case("openmpi", "tcp-4n", system)]
    old, before = path.read_text(), [resolve(path, CHECK, each.key) for each in others]
    accept(path, proposed(case("openmpi", place, system)), others=others, reindex=True)
    assert [resolve(path, CHECK, each.key) for each in others] == before
    added = changed_lines(old, path.read_text())
    assert "latency_p50_8B: [2.5, -0.5, 0.1, us]" in added


def test_a_change_that_reaches_further_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The guard against a fault of the editor: it must see one."""
    path = tmp_path / "hpc.yaml"
    path.write_text(PATTERN + LEVELS)
    old = path.read_text()
    monkeypatch.setattr(ReferenceText, "result", lambda _: old.replace("[11, -0.5", "[12, -0.5"))
    with pytest.raises(FabricheckError, match="the file is too intricate, edit it by hand"):
        accept(path, proposed(case()), others=[case("mpich", "rc-4n")])
    assert path.read_text() == old


@pytest.mark.parametrize("text", ["MpiPointToPoint: [", "nothing: {}\n", "MpiPointToPoint: 3\n"])
def test_a_file_that_is_no_reference_file_is_named_and_stays(tmp_path: Path, text: str):
    path = tmp_path / "hpc.yaml"
    path.write_text(text)
    with pytest.raises(FabricheckError, match=r"hpc\.yaml"):
        accept(path, proposed(case()), others=[])
    assert path.read_text() == text


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path):
    with pytest.raises(FabricheckError, match="cannot write"):
        accept(tmp_path / "none" / "hpc.yaml", proposed(case()), others=[])


def test_two_at_once_do_not_mix(tmp_path: Path):
    with apply.locked(tmp_path):
        queue = multiprocessing.Queue()
        other = multiprocessing.Process(target=_lock, args=(tmp_path, queue))
        other.start()
        assert "another fabricheck" in queue.get(timeout=60)
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


STEP = Step("2026-10-01", "regression of +20 %", ({"transport": ["rc"], "size": [8, None]},))


def test_steps_are_added_to_the_list_and_read_by_the_trend(tmp_path: Path):
    path = tmp_path / "hpc.accepted.yaml"
    path.write_text("# Ours.\n- {date: 2026-09-01, series: {}, by: Bo, signed: 2026-09-02, why: x}")
    apply.steps(tmp_path, "hpc", [STEP], "Ada", "Firmware: 28.39").write()
    assert path.read_text().startswith("# Ours.\n- {date: 2026-09-01, series: {}, by: Bo")
    _, new = read_accepted(tmp_path)
    assert (str(new.date), new.by, new.why) == ("2026-10-01", "Ada", "Firmware: 28.39")
    assert new.series == {"transport": ("rc",), "size": (8, None)}
    again = apply.steps(tmp_path, "hpc", [STEP], "Cy", "twice")
    assert again.diff() == ""


def test_a_list_that_cannot_be_added_to_stays(tmp_path: Path):
    path = tmp_path / "hpc.accepted.yaml"
    path.write_text("[]\n")
    with pytest.raises(FabricheckError, match="expected a list with a line for each key"):
        apply.steps(tmp_path, "hpc", [STEP], "Ada", "why")
    assert yaml.safe_load(path.read_text()) == []
