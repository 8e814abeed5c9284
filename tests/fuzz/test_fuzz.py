"""The quick part of what ``ci/fuzz`` does by the hundred thousand, and what once failed."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.fuzz.__main__ import SHARES, run
from tests.fuzz.place import Broken, Ended, Place, wrong

pytestmark = pytest.mark.integration

CORPUS = Path(__file__).parent / "corpus"


def test_generated_inputs_keep_the_rule(capfd: pytest.CaptureFixture[str]):
    jobs = [(name, 0, 3 * share) for name, share in SHARES.items()]
    code = run(jobs, separate=False)
    assert code == 0, capfd.readouterr().out


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.iterdir()))
def test_what_once_failed_keeps_the_rule(tmp_path: Path, name: str):
    place = Place(tmp_path, separate=False)
    shutil.copytree(CORPUS / name, place.inside, dirs_exist_ok=True)
    for command in json.loads((place.inside / "commands.json").read_text()):
        place.run(*command)


@pytest.mark.parametrize(
    ("words", "ended", "said"),
    [
        ("parse x", Ended(0, "fine", ""), ""),
        ("parse x", Ended(2, "", "fabricheck: expected a file\n"), ""),
        ("parse", Ended(2, "", "Usage: fabricheck parse\nMissing argument\n"), ""),
        ("judge x", Ended(1, "critical", ""), ""),
        ("accept", Ended(3, "INCONCLUSIVE", ""), ""),
        ("parse x", Ended(1, "", ""), "ended with 1"),
        ("history refresh", Ended(1, "", ""), "ended with 1"),
        ("trend", Ended(3, "", ""), "ended with 3"),
        ("trend", Ended(-11, "", ""), "ended with -11"),
        ("trend", Ended(1, "", "Traceback (most recent call last):\n"), "a traceback"),
        ("trend", Ended(70, "", "fabricheck: this is a fault of fabricheck"), "a fault of ours"),
        ("trend", Ended(2, "", ""), "ended with 2 and not one"),
        ("trend", Ended(2, "", "fabricheck: one\nfabricheck: two\n"), "ended with 2 and not one"),
        ("trend", Ended(0, "", "fabricheck: expected a file\n"), "ended with 0 and"),
    ],
)
def test_the_rule(words: str, ended: Ended, said: str):
    found = wrong(words.split(), ended)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_what_lies_outside_is_watched(tmp_path: Path):
    place = Place(tmp_path, separate=True)
    place.run("--help")
    with pytest.raises(Broken, match="changed what lies outside"):
        place.run("history", "refresh", "--perflogs", ".", "--store", place.outside / "new")


def test_an_input_that_ends_the_process_is_named_and_the_rest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    script = tmp_path / "python"
    script.write_text(
        "#!/bin/bash\n"
        """if [[ $* == *'"judged", 0'* ]]; then\n"""
        """  echo "0 1" >"$4/at"; : >"$4/broken"; kill -SEGV $$\n"""
        "fi\n"
        f'exec {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    assert run([("judged", 0, 3)], separate=False) == 1
    assert "judged 1: the process ended with -11" in capfd.readouterr().out
