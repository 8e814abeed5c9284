"""What is proposed, and what speaks against it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.baseline.nights import Factor, history, records
from tests.refusals import refused

from fabricheck.baseline import evidence
from fabricheck.baseline.proposal import Proposal, ReferenceState, read, write
from fabricheck.baseline.propose import Request, propose
from fabricheck.record.entries import CaseEntry, Sample


def proposed(root: Path, cases: Sequence[CaseEntry], **request: object) -> Proposal:
    for name in ("sites", "references"):
        (root / name).mkdir(parents=True, exist_ok=True)
    store = history(root, cases)
    name, found, known = evidence.read(store, None, None, [root / "sites"], [root / "references"])
    return propose(name, found, {}, known, Request(**request))


def reasons(proposal: Proposal) -> dict[str, tuple[str, ...]]:
    return {f"{r.case.key.benchmark} {r.case.key.environ}": r.reasons for r in proposal.refused}


def step(size: float, night: int = 30, **only: str) -> Factor:
    def factor(number: int, case: CaseEntry, sample: Sample) -> float:
        fits = all(
            getattr(sample if hasattr(sample, name) else case, name) == value
            for name, value in only.items()
        )
        return 1 + size if number >= night and fits else 1.0

    return factor


def test_quiet_nights_give_references_of_every_case(tmp_path: Path):
    found = proposed(tmp_path, records(40))
    assert (len(found.proposed), found.refused, found.steps) == (4, (), ())
    first = found.proposed[0]
    assert (first.state, first.samples, first.commit) == (ReferenceState.NEW, 40, "b59301a")
    assert (first.first, first.last) == ("2026-09-01", "2026-10-10")
    assert first.software == "MPICH Version: 4.0.2, UCX 1.13.1, mpi_probe 0.1.0"
    for each in found.proposed:
        for name, reference in each.variables.items():
            assert reference.value == pytest.approx(900 if "bandwidth" in name else 10, rel=0.02)


def test_only_the_latest_nights_count(tmp_path: Path):
    found = proposed(tmp_path, records(80), most=30)
    assert {(each.samples, each.first) for each in found.proposed} == {(30, "2026-10-21")}


def test_too_few_nights_are_refused(tmp_path: Path):
    found = proposed(tmp_path, records(19))
    assert found.proposed == ()
    assert reasons(found)["bw mpich"] == (
        "too few nights, 19 of bandwidth_avg_1KiB, expected 20: measure more",
    )
    assert len(proposed(tmp_path / "again", records(19), least=10).proposed) == 4


def test_a_change_inside_the_nights_is_refused_for_its_case_alone(tmp_path: Path):
    text = records(50, step(0.2, environ="openmpi", benchmark="latency", statistic="p50"))
    found = proposed(tmp_path, text)
    (words,) = reasons(found)["latency openmpi"]
    assert words.startswith("a change inside the window, regression of +20 % since 2026-10-01: ")
    assert words.endswith("accept the step, or propose --since 2026-10-01")
    assert len(found.proposed) == 3


def test_nights_since_a_change_are_enough_and_the_step_comes_with_them(tmp_path: Path):
    text = records(60, step(0.2, environ="openmpi"))
    since = evidence.datetime.fromisoformat("2026-10-01T00:00:00+00:00")
    found = proposed(tmp_path, text, since=since)
    assert {each.samples for each in found.proposed} == {30}
    assert [each.date for each in found.steps] == ["2026-10-01", "2026-10-01"]
    assert {"regression", "improvement"} == {each.words.split()[0] for each in found.steps}


def test_a_step_is_accepted_for_the_cases_that_get_references_alone(tmp_path: Path):
    text = records(60, step(0.2, benchmark="latency"))
    only_mpich = [
        case for case in text if case.environ != "openmpi" or "2026-10-0" not in case.time
    ]
    since = evidence.datetime.fromisoformat("2026-10-01T00:00:00+00:00")
    found = proposed(tmp_path, only_mpich, since=since, least=25)
    assert {each.case.key.environ for each in found.proposed} == {"mpich"}
    records_of_step = [record for each in found.steps for record in each.series]
    assert records_of_step
    assert all(record["environ"] == ["mpich"] for record in records_of_step)


def test_nights_before_an_accepted_step_do_not_count(tmp_path: Path):
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "hpc.accepted.yaml").write_text(
        "- {date: 2026-10-01, series: {}, by: Ada, signed: 2026-10-02, why: firmware}\n"
    )
    found = proposed(tmp_path, records(60, step(0.2)))
    assert {(each.samples, each.first) for each in found.proposed} == {(30, "2026-10-01")}
    assert found.steps == ()


def test_other_software_inside_the_nights_is_refused(tmp_path: Path):
    text = records(25) + records(45, ucx_version="1.20.1")[25 * 4 :]
    (words,) = reasons(proposed(tmp_path, text))["bw openmpi"]
    assert "the software changed inside the window, on 2026-09-26: " in words
    assert words.endswith("propose --since 2026-09-26")


def test_what_is_measured_no_longer_is_refused(tmp_path: Path):
    text = records(30) + [case for case in records(45)[30 * 4 :] if case.benchmark != "bw"]
    found = proposed(tmp_path, text)
    assert reasons(found)["bw mpich"] == ("bandwidth_avg_8B was last measured on 2026-09-30",)
    assert len(found.proposed) == 2


def test_values_of_zero_and_wild_ones_are_refused(tmp_path: Path):
    zero = proposed(tmp_path / "zero", records(30, step(-1.0, night=29)))
    assert any("values of 0" in words for each in zero.refused for words in each.reasons)
    wild = proposed(tmp_path / "wild", records(40, spread=1.5))
    assert reasons(wild)["latency openmpi"] == (
        "the noise asks for bounds of ten times the median and more: make it quieter",
    )


def test_series_of_other_suites_are_left_out(tmp_path: Path):
    found = proposed(tmp_path, records(30, check="osu_latency"))
    assert (found.proposed, found.refused) == ((), ())


def test_a_proposal_can_be_kept_and_parted(tmp_path: Path):
    found = proposed(tmp_path, records(30))
    write(tmp_path / "kept", found)
    again = read(tmp_path / "kept", "hpc")
    assert again == found
    part = again.part({"environ": ("mpich",)})
    assert {each.case.key.environ for each in part.proposed} == {"mpich"}
    assert {case.key.environ for case in part.others} == {"openmpi"}
    with refused("FC1906", r"expected fields of system, .* found size"):
        again.part({"size": (8,)})


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 9}', '{"format": 1, "system": "x"}'])
def test_a_file_that_is_no_proposal_is_named(tmp_path: Path, text: str):
    (tmp_path / "hpc.json").write_text(text)
    with refused("FC1910"):
        read(tmp_path, "hpc")
