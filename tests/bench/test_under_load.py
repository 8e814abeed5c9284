"""mpi_under_load: idle and loaded with every MPI, errors found, bad input refused."""

import json

import pytest

from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

USAGE = {
    ("-m", "6"): "option -m: 6 bytes are no whole number of floats",
    ("-m", "8,8"): "option -m: the sizes must rise, each once",
    ("-i", "0"): 'option -i: "0" is not a whole number from 1',
    ("-x", "0"): 'option -x: "0" is not a whole number from 1',
    ("8",): '"8" is one word too many',
    ("--inject",): "option --inject-error needs --validate",
}


def test_idle_and_loaded_take_turns(built, tmp_path):
    file = tmp_path / "result.json"
    program = built.of("mpi_under_load")
    done = program.run(4, "-c", "-m", "8,65536", "-i", "30", "-x", "2", "--json", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "# Complete: 2 sizes"
    result = program_result.read(file.read_text(), "result")
    assert [(each["size"], each["iterations"], each["valid"]) for each in result.results] == [
        (8, 30, True), (65536, 30, True),
    ]  # fmt: skip
    for each in result.results:
        for name in ("p50", "p99"):
            ratio = each["loaded"][name] / each["idle"][name]
            assert each[f"ratio_{name}"] == pytest.approx(ratio, rel=1e-6)
        # Without a load the rest would mean nothing.
        assert each["load"] > 0


def test_wrong_data_is_found(openmpi):
    program = openmpi.of("mpi_under_load")
    done = program.run(4, "-c", "--inject-error", "-m", "8", "-i", "2", "-x", "1")
    assert done.returncode == 1
    assert "wrong data at 8 bytes: rank 1 of those that measure" in done.stderr


@pytest.mark.parametrize(("words", "told"), USAGE.items())
def test_bad_options_are_refused(openmpi, words, told):
    done = openmpi.of("mpi_under_load").run_alone(*words)
    assert done.returncode == 2
    assert told in done.stderr


def test_ranks_come_in_pairs_and_the_time_may_be_bounded(openmpi):
    program = openmpi.of("mpi_under_load")
    refused = program.run(3)
    assert refused.returncode == 2
    assert "expected two ranks on each of two or more nodes, found 3 in all" in refused.stderr
    done = program.run(4, "-m", "8", "-i", "1000000", "-x", "1", "--time-budget", "0.01",
                       "--json", "-")  # fmt: skip
    assert done.returncode == 0
    (result,) = json.loads(done.stdout)["results"]
    assert result["iterations"] < 1000000
