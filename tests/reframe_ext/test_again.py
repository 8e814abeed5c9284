"""Which cases ReFrame runs a second time, and what those that wait for others find then."""

from pathlib import Path

import pytest
from tests.reframe_ext.recorded import reframe

from fabricheck.reframe_ext.again import DISTURBED_AGAIN

pytestmark = pytest.mark.integration

CONFIGURATION = """
site_configuration = {
    "systems": [{"name": "two", "hostnames": [".*"], "partitions": [{
        "name": "main", "scheduler": "local", "launcher": "local", "environs": ["a", "b"],
    }]}],
    "environments": [{"name": "a"}, {"name": "b"}],
}
"""
SUITE = """
import reframe as rfm
from reframe.core.builtins import run_after, sanity_function, variable
from reframe.core.exceptions import SanityError
from reframe.utility import udeps

from fabricheck.reframe_ext.again import RunsAgain, latest
from fabricheck.reframe_ext.reframe import attempt

FIRST = {
    ("Upper", "a"): "disturbed",
    ("Lower", "b"): "disturbed",
    ("Critical", "a"): "critical",
    ("Critical", "b"): "untrusted",
}


class Case(RunsAgain, rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"
    level = variable(str, value="")
    findings = variable(list, value=[])
    needs = ()

    @run_after("init")
    def wait(self):
        for name in self.needs:
            self.depends_on(name, udeps.by_case)

    @sanity_function
    def end(self):
        name, environ = type(self).__name__, self.current_environ.name
        found = [latest(each, self.current_partition, self.current_environ) for each in self.needs]
        with open(RAN, "a") as ran:
            print(environ, name, attempt(), *(each.level for each in found), file=ran)
        self.level = FIRST.get((name, environ), "good") if attempt() == 1 else "second"
        self.findings = [f"{name} was {self.level}"]
        if self.level in ("disturbed", "critical", "untrusted"):
            raise SanityError(self.level)
        return True


@rfm.simple_test
class Upper(Case): ...


@rfm.simple_test
class Lower(Case): ...


@rfm.simple_test
class Critical(Case): ...


@rfm.simple_test
class Ratio(Case):
    needs = ("Upper", "Lower")


@rfm.simple_test
class Hopeless(Case):
    needs = ("Upper", "Critical")


@rfm.simple_test
class Build(RunsAgain, rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["a"]
    executable = "true"

    @sanity_function
    def fail(self):
        with open(RAN, "a") as ran:
            print("a", "Build", attempt(), file=ran)
        raise SanityError("it is not built")


@rfm.simple_test
class Program(Case):
    valid_prog_environs = ["a"]
    needs = ("Build",)
"""
FIRST = {
    *(f"{environ} {name} 1" for environ in "ab" for name in ("Upper", "Lower", "Critical")),
    "a Build 1",
}


def run(place: Path, **env: str) -> tuple[set[str], str]:
    """What ran, each with its attempt and the levels of what it waited for; what ReFrame prints."""
    suite = f"RAN = {str(place / 'ran')!r}\n{SUITE}"
    options = ("--max-retries=1", "--run")
    done = reframe(place, suite, *options, configuration=CONFIGURATION, **env)
    assert done.returncode == 1
    return set((place / "ran").read_text().splitlines()), done.stdout


def test_disturbed_cases_run_again_and_what_was_skipped_for_them_alone(tmp_path: Path) -> None:
    ran, printed = run(tmp_path, **{DISTURBED_AGAIN: "1"})
    again = {
        "a Upper 2",
        "b Lower 2",
        # A ratio finds its sides whichever of them ran again.
        "a Ratio 2 second good",
        "b Ratio 2 good second",
    }
    assert ran == FIRST | again
    assert "its first run counts, which nothing disturbed: Critical was untrusted" in printed
    assert "FAILED" in printed, "what counts is not lost behind the second runs"


def test_retries_that_nobody_narrowed_are_reframes_own(tmp_path: Path) -> None:
    ran, _ = run(tmp_path)
    assert {"a Critical 2", "b Critical 2", "a Build 2"} <= ran
