import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.baseline.nights import history, records
from tests.baseline.test_propose import step
from tests.cli.conftest import run
from tests.refusals import refused
from typer.testing import Result

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.reference import CaseKey
from fabricheck.judge.reference_file import read_measured
from fabricheck.judge.references import resolve
from fabricheck.judge.verdict import judge_values
from fabricheck.measures.curve import Variable
from fabricheck.record.entries import CaseEntry

CASE = CaseKey("hpc", "hpc:cpu", "openmpi", "latency", "rc-2n")


class Place:
    """A history with its references."""

    def __init__(self, root: Path, cases: Sequence[CaseEntry]) -> None:
        self.root = root
        self.references, self.sites = root / "references", root / "sites"
        self.references.mkdir()
        self.sites.mkdir()
        self.file = self.references / "hpc.measured.yaml"
        self.rules = self.references / "hpc.yaml"
        self.accepted = self.references / "hpc.accepted.yaml"
        self.record(cases)

    def record(self, cases: Sequence[CaseEntry]) -> None:
        self.store = history(self.root, cases)

    def run(self, command: str, *options: str) -> Result:
        places: tuple[str | Path, ...] = ("--references", self.references)
        if command not in {"expire", "best"}:
            places = (*places, "--proposals", self.root / "proposals")
        if command in {"propose", "accept", "best"}:
            places = (*places, "--sites", self.sites)
        if command != "diff":
            places = (*places, "--store", self.store)
        return run("baseline", command, *options, *places)

    def trend(self) -> dict[str, object]:
        found = run("trend", "--json", "--store", self.store, "--sites", self.sites,
                    "--references", self.references)  # fmt: skip
        data: dict[str, object] = json.loads(found.stdout)
        return data

    def level(self, value: float) -> Level:
        references, tolerance = resolve(self.rules, "MpiPointToPoint", CASE)
        values = {name: (each.value, each.unit) for name, each in references.items()}
        values[Variable.read("latency_p50_8B")] = (value, "us")
        return judge_values(values, references, tolerance).level


def test_from_the_record_to_a_verdict(tmp_path: Path):
    place = Place(tmp_path, records(40))
    shown = place.run("propose").stdout
    assert shown.startswith("hpc: references of 4 new, 0 refused\n")
    assert "MpiPointToPoint latency rc-2n with openmpi on hpc:cpu: 6 variables, 40 nights" in shown
    diff = place.run("diff").stdout
    assert not place.file.exists()
    assert "+    latency_p50_8B: [" in diff
    assert place.run("accept").exit_code == 0
    assert place.level(10.1) is Level.GOOD
    assert place.level(11.5) is Level.CRITICAL
    assert place.level(4.0) is Level.CRITICAL


def test_accepting_twice_and_proposing_again_change_nothing(tmp_path: Path):
    place = Place(tmp_path, records(40))
    place.run("propose")
    place.run("accept")
    text = place.file.read_text()
    assert json.loads(place.run("accept", "--json").stdout) == {
        "format": 1,
        "written": [],
        "steps": [],
    }
    place.record(records(41))
    assert "references of 4 same" in place.run("propose").stdout
    assert "already contains all of it" in place.run("diff").stdout
    place.run("accept")
    assert place.file.read_text() == text
    place.run("propose", "--fresh")
    place.run("accept")
    assert "2026-10-11" in place.file.read_text()


def test_a_part_can_be_accepted(tmp_path: Path):
    place = Place(tmp_path, records(40))
    place.run("propose")
    place.run("accept", "environ=openmpi", "benchmark=latency")
    assert "mpich" not in place.file.read_text()
    assert "bw" not in place.file.read_text()
    with refused("FC2510", "expected proposed references with environ=impi"):
        place.run("accept", "environ=impi")


def test_a_step_is_accepted_with_its_references_and_not_raised_again(tmp_path: Path):
    place = Place(tmp_path, records(60, step(0.2, environ="openmpi", benchmark="latency")))
    assert [event["state"] for event in place.trend()["events"]] == ["open"]  # type: ignore[attr-defined]
    shown = place.run("propose", "benchmark=latency", "--since", "2026-10-01").stdout
    assert "step of 2026-10-01 is accepted with them: regression of +20 % " in shown
    with refused("FC2511"):
        place.run("accept")
    assert not place.file.exists()
    place.run("accept", "--by", "Ada", "--why", "Firmware 28.39")
    assert "by: Ada" in place.accepted.read_text()
    assert [event["state"] for event in place.trend()["events"]] == ["accepted"]  # type: ignore[attr-defined]
    text = place.accepted.read_text()
    place.run("accept", "--by", "Ada", "--why", "Firmware 28.39")
    assert place.accepted.read_text() == text
    assert place.level(12.0) is Level.GOOD


def test_a_step_is_accepted_for_the_wanted_part_alone(tmp_path: Path):
    place = Place(tmp_path, records(60, step(0.2, benchmark="latency")))
    place.run("propose", "--since", "2026-10-01")
    place.run("accept", "environ=mpich", "--by", "Ada", "--why", "Firmware 28.39")
    assert "openmpi" not in place.accepted.read_text()
    states = {event["state"] for event in place.trend()["events"]}  # type: ignore[attr-defined]
    assert states == {"accepted", "open"}


def test_a_step_can_be_accepted_before_there_are_references(tmp_path: Path):
    place = Place(tmp_path, records(45, step(0.2, environ="openmpi")))
    options = ("--step", "2026-10-01", "--by", "Ada", "--why", "Firmware")
    with refused("FC1911", "found steps of 2026-10-01"):
        place.run("accept", "--step", "2026-10-09", "--by", "Ada", "--why", "Firmware")
    found = json.loads(place.run("accept", *options, "benchmark=latency", "--json").stdout)
    assert found == {"format": 1, "written": [str(place.accepted)], "steps": ["2026-10-01"]}
    assert "benchmark: [latency]" in place.accepted.read_text()
    assert "benchmark: [bw]" not in place.accepted.read_text()
    assert not place.file.exists()


def test_a_regression_is_not_made_a_reference(tmp_path: Path):
    """Broken on purpose: a step inside the nights must not get into a reference."""
    place = Place(tmp_path, records(60, step(0.2, night=40)))
    assert "0 new" not in place.run("propose").stdout
    assert "a change inside the window" in place.run("propose").stdout
    with refused("FC2510", "expected proposed references, found none"):
        place.run("accept")


def test_old_references_expire_and_marks_go_with_new_ones(tmp_path: Path):
    place = Place(tmp_path, records(40))
    place.run("propose")
    place.run("accept")
    assert place.run("expire", "--days", "100000").exit_code == 0
    listed = place.run("expire", "--days", "1", "--mark")
    assert listed.exit_code == 1
    assert "measured on 2026-10-10, over 1 days ago" in listed.stdout
    assert place.level(10.0) is Level.WARNING
    marked = place.file.read_text()
    assert place.run("expire", "--days", "1", "--mark").exit_code == 1
    assert place.file.read_text() == marked
    assert "references of 4 changed" in place.run("propose").stdout
    place.run("accept")
    assert "expired" not in place.file.read_text()
    assert place.level(10.0) is Level.GOOD


def test_references_measured_with_other_software_expire(tmp_path: Path):
    place = Place(tmp_path, records(40))
    place.run("propose")
    place.run("accept")
    place.record(records(40) + records(41, ucx_version="1.20.1")[-4:])
    data = json.loads(place.run("expire", "--days", "100000", "--json").stdout)
    assert data["measured"] == 4
    wanted = {"environ": "openmpi", "benchmark": "latency"}
    (latency,) = (row for row in data["expired"] if wanted.items() <= row["case"].items())
    assert latency["reason"] == (
        "measured with Open MPI v4.1.4, UCX 1.13.1, mpi_probe 0.1.0, now it is "
        "Open MPI v4.1.4, UCX 1.20.1, mpi_probe 0.1.0"
    )


def test_the_best_values_are_written_for_rules_that_have_bounds_alone(tmp_path: Path):
    place = Place(tmp_path, records(5))
    place.rules.write_text(
        "rules:\n- for: {check: MpiPointToPoint, metric: latency}\n  bound: [-0.9, 1000]\n"
        "  warning: 0.5\n  kind: bound\n  source: runs\n  date: 2026-11-21\n"
    )
    assert "written" in place.run("best").stdout
    assert "as it was" in place.run("best").stdout
    text = place.file.read_text()
    assert "benchmark: latency, placement: rc-2n, value: {latency: {" in text
    assert "benchmark: bw" not in text
    assert place.level(12.0) is Level.GOOD
    assert place.level(0.5) is Level.CRITICAL
    place.run("propose", "--least", "5")
    place.run("accept")
    assert "best:\n- " in place.file.read_text()
    assert place.level(0.5) is Level.CRITICAL


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("propose", "--warning", "0.0001"), "expected --warning of at least --critical"),
        (("propose", "--least", "70"), "expected --least of at most --nights, found 70 and 60"),
        (("propose", "--system", "moon"), "expected moon in the history"),
        (("propose", "size=8"), "expected fields of system, partition"),
        (("propose", "environ=impi"), "expected cases with environ=impi of hpc"),
        (("propose", "--since", "soon"), "expected a date such as"),
        (("diff",), "expected a system in the proposals"),
        (("accept", "--step", "soon"), "expected an unaccepted step of soon"),
    ],
)
def test_bad_input_is_named_and_writes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], words: str
):
    place = Place(tmp_path, records(20))
    with pytest.raises(FabricheckError, match=words) as error:
        place.run(*arguments)
    assert error.value.exit_code == 2
    assert list(place.references.iterdir()) == []


def test_the_best_of_a_program_that_prints_averages_alone_is_its_lowest(tmp_path: Path):
    cases = [
        replace(
            each,
            check="Imb",
            benchmark="imb_iallreduce",
            samples=tuple(
                replace(sample, metric=metric, statistic="avg", unit="us", value=value)
                for sample in each.samples
                if (sample.metric, sample.statistic) == ("latency", "p50")
                for metric in ("latency", "communication")
            ),
        )
        for each, value in zip(records(1), (3.0, 2.0, 4.0, 5.0), strict=False)
        if each.benchmark == "latency"
    ]
    place = Place(tmp_path, cases)
    place.rules.write_text(
        "rules:\n- for: {check: Imb}\n  bound: [null, 1000]\n  warning: [null, 100]\n"
        "  kind: bound\n  source: runs\n  date: 2026-11-25\n"
    )
    place.run("best")
    (entry,) = read_measured(place.rules)["best"]
    lowest = min(each.samples[0].value for each in cases)
    assert {name: set(sizes.values()) for name, sizes in entry["value"].items()} == {
        "latency": {lowest},
        "communication": {lowest},
    }
