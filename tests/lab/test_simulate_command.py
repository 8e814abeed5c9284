import json
from pathlib import Path

import pytest
from tests.lab.made import simulate

from fabricheck.errors import FabricheckError
from fabricheck.record.read import entries, record_files


def test_a_simulated_history_is_a_record_that_follows_from_the_seed(tmp_path: Path):
    for name, seed in (("one", "3"), ("again", "3"), ("other", "4")):
        options = ("--nights", "20", "--series", "3", "--seed", seed, "--json")
        data = json.loads(simulate("history", tmp_path / name, *options).stdout)
        assert (data["series"], data["values"]) == (3, 60)
    one, again, other = (
        [entries(path) for path in record_files(tmp_path / name)]
        for name in ("one", "again", "other")
    )
    assert one == again
    assert one != other


def test_what_is_there_is_not_overwritten(tmp_path: Path):
    simulate("history", tmp_path, "--nights", "3", "--series", "1")
    with pytest.raises(FabricheckError, match="expected no record at"):
        simulate("history", tmp_path)


@pytest.mark.lab
def test_power_prints_tables(tmp_path: Path):
    found = simulate("power", "--world", "normal", "--count", "12")
    assert "| normal noise | 5 % |" in found.stdout
    assert "False alarms per 1000 series and nights:" in found.stdout
    assert "| one node |" in found.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("power", "--world", "moon"), "expected --world of normal, .*found moon"),
        (("power", "--with-otava", "python"), "expected --compare with --with-otava"),
        (("history", "there", "--size", "-2"), "expected a size greater than -1"),
        (("history", "there", "--noise", "nowhere"), "nowhere"),
    ],
)
def test_bad_options_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FabricheckError, match=words):
        simulate(*options)


@pytest.mark.lab
def test_the_measured_error_rates_can_be_printed():
    found = simulate("acceptance", "--count", "20", "--rounds", "2")
    assert found.exit_code == 0
    assert "Campaigns of 204 series, looked at after each pair" in found.stdout
    assert "| what is worse | accept / reject / inconclusive |" in found.stdout


@pytest.mark.lab
def test_few_nodes_have_a_table_of_their_own():
    found = simulate("locate", "--few", "--runs", "1").stdout
    assert "| 3 | none | quiet | 1 | - | 0.0 % | 0.0 % | 0.0 % |" in found
    assert "| 3 nodes | as the testbed | 1 |" in found


@pytest.mark.lab
def test_comparisons_find_what_differs_and_nothing_else():
    found = json.loads(simulate("compare", "--rounds", "1", "--json").stdout)
    rows = [row for row in found["sessions with both sides"] if row["sessions"] == 20]
    assert {row["A = A: the whole differs"].split()[0] for row in rows} == {"0.0"}
    assert {row["10 %: the whole differs"].split()[0] for row in rows} == {"100.0"}
