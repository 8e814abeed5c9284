"""pair_probe: rounds that another process decides, with every MPI; what is wrong is told."""

import json
import shlex

import pytest

from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

# Why the command of --steer is no good, and the sentence.
BAD = {
    "echo 0 7": 'expected pairs of ranks below 2, each at most once, or "end", found "0 7"',
    "echo 0 1 0 1": 'found "0 1 0 1"',
    "echo zero one": 'found "zero one"',
    "true": 'it ended before it said "end"',
    "echo end; exit 3": "it failed",
}
USAGE = {
    (): "option --steer is missing",
    ("-s", "true", "-t", "0"): "option -t",
    ("-s", "true", "8"): '"8" is one word too many',
    ("-s", "true", "--inject"): "option --inject-error needs --validate",
}


def rounds(*lines: str) -> str:
    return "printf " + shlex.quote("\\n".join([*lines, "end"]) + "\\n")


def test_every_round_is_measured_both_ways(built, tmp_path):
    file = tmp_path / "result.json"
    words = ("-c", "-t", "0.1", "-s", rounds("0 1 2 3", "3 0"), "--json", str(file))
    done = built.of("pair_probe").run(4, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "# Complete: 2 rounds"
    result = program_result.read(file.read_text(), "result")
    ends = [(each["first"], each["second"]) for each in result.results]
    assert ends == [([0, 2], [1, 3]), ([3], [0])]
    for each in result.results:
        assert each["valid"] is True
        assert min(each["latencies"] + each["there"] + each["back"]) > 0


def test_wrong_data_is_found(openmpi):
    done = openmpi.of("pair_probe").run(2, "-c", "--inject", "-t", "0.1", "-s", rounds("0 1"))
    assert done.returncode == 1
    assert "wrong data at 1048576 bytes: rank 1 in round 1" in done.stderr


@pytest.mark.parametrize(("command", "told"), BAD.items())
def test_a_command_that_says_no_rounds_is_told(openmpi, command, told):
    done = openmpi.of("pair_probe").run(2, "-t", "0.1", "-s", command, "--json", "-")
    assert done.returncode == 1
    (failure,) = json.loads(done.stdout)["failures"]
    assert told in failure


@pytest.mark.parametrize(("words", "told"), USAGE.items())
def test_bad_options_are_refused(openmpi, words, told):
    done = openmpi.of("pair_probe").run_alone(*words)
    assert done.returncode == 2
    assert told in done.stderr
