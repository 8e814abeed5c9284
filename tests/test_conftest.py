"""The tiers: their order, what a skip is worth in them, and the guard of the lightest."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[1]
CONFTEST = (ROOT / "tests" / "conftest.py").read_text().replace(', "tests.testbeds"', "")
MARKERS = "[pytest]\naddopts = --strict-markers\nmarkers =\n" + "".join(
    f"    {tier}: x\n" for tier in ("unit", "integration", "e2e", "lab", "xdist_group")
)


@pytest.fixture
def suite(pytester):
    pytester.makeini(MARKERS)
    pytester.makeconftest(CONFTEST)
    return pytester


ONE_OF_EACH = """
    import pytest
    @pytest.mark.lab
    def test_rates(): pass
    @pytest.mark.e2e
    def test_cluster(): pass
    @pytest.mark.integration
    def test_stub(): pass
    def test_rule(): pass
    """


def passed(result):
    lines = [line for line in result.outlines if "PASSED" in line]
    return [line.split("::")[1].split()[0] for line in lines]


def test_quick_tests_run_first(suite):
    suite.makepyfile(ONE_OF_EACH)
    found = passed(suite.runpytest_subprocess("-v"))
    assert found == ["test_rule", "test_stub", "test_cluster", "test_rates"]


def test_groups_run_before_the_other_tests_of_their_tier(suite):
    grouped = """
    @pytest.mark.e2e
    @pytest.mark.xdist_group("guest")
    def test_guest(): pass
    """
    suite.makepyfile(ONE_OF_EACH + grouped)
    found = passed(suite.runpytest_subprocess("-v", "-p", "no:xdist"))
    assert found == ["test_rule", "test_stub", "test_guest", "test_cluster", "test_rates"]


@pytest.mark.parametrize(
    ("tier", "test"), [("unit", "test_rule"), ("e2e", "test_cluster"), ("lab", "test_rates")]
)
def test_a_tier_is_chosen_by_its_name(suite, tier, test):
    suite.makepyfile(ONE_OF_EACH)
    assert passed(suite.runpytest_subprocess("-v", f"--tier={tier}")) == [test]


def test_a_test_may_be_of_another_tier_than_its_module(suite):
    suite.makepyfile("import pytest\npytestmark = pytest.mark.e2e\n"
                     "@pytest.mark.lab\ndef test_rates(): pass\n")  # fmt: skip
    assert passed(suite.runpytest_subprocess("-v", "--tier=e2e")) == []
    assert passed(suite.runpytest_subprocess("-v", "--tier=lab")) == ["test_rates"]


def test_a_file_that_does_not_name_the_tier_is_not_imported(suite):
    suite.makepyfile(test_light="raise RuntimeError", test_real=ONE_OF_EACH)
    assert passed(suite.runpytest_subprocess("-v", "--tier=e2e")) == ["test_cluster"]


def test_a_file_of_a_heavier_tier_is_imported_for_unit_tests_that_it_names(suite):
    real = 'import pytest\npytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guest")]\n'
    light = "@pytest.mark.unit\ndef test_named(): pass\n"
    suite.makepyfile(test_real=real + "raise RuntimeError", test_both=real + light)
    assert passed(suite.runpytest_subprocess("-v", "--tier=unit")) == ["test_named"]


def test_a_tier_that_a_file_hides_is_refused(suite):
    """Or `--tier` would leave its tests out, and nobody would miss them."""
    hidden = "import pytest\npytestmark = getattr(pytest.mark, 'e' '2e')\ndef test_it(): pass\n"
    suite.makepyfile(test_hidden=hidden)
    result = suite.runpytest_subprocess("--tier=unit")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tier would leave these tests out"])


GROUPS = """
    import pytest
    @pytest.mark.parametrize("number", range(4))
    def test_of_a_file(worker_id, number): print(f"file {__name__[-1]} on {worker_id}")
    @pytest.mark.xdist_group("guest")
    @pytest.mark.parametrize("number", range(4))
    def test_of_a_group(worker_id, number): print(f"guest on {worker_id}")
    """


def test_a_file_and_a_group_keep_to_one_process(suite):
    """Or each process would start a testbed and a guest of its own."""
    suite.makepyfile(test_1=GROUPS, test_2=GROUPS)
    result = suite.runpytest_subprocess("-rP", "-n2", "--dist=loadgroup")
    found = Counter(line for line in result.outlines if " on gw" in line)
    assert sorted(found.values()) == [4, 4, 8], found


SKIPS = """
    import pytest
    @pytest.mark.e2e
    @pytest.mark.skipif(True, reason="no slurmd")
    def test_marked(): pass
    @pytest.mark.e2e
    def test_within(): pytest.skip("no slurmctld")
    @pytest.mark.skipif(True, reason="no spack")
    def test_optional(): pass
    """


def test_a_skip_for_want_of_a_tool_fails_where_everything_is_there(suite):
    suite.makepyfile(SKIPS)
    result = suite.runpytest_subprocess("--everything")
    assert result.parseoutcomes() == {"failed": 1, "errors": 1, "skipped": 1}
    result.stdout.fnmatch_lines_random(["*no slurmd*", "*no slurmctld*"])


def test_a_skip_is_a_skip_elsewhere(suite):
    suite.makepyfile(SKIPS)
    suite.runpytest_subprocess().assert_outcomes(skipped=3)


PROCESS, SLEEP, SOCKET = "start a process", "sleep", "open a network socket"
DONE = {
    "subprocess.run(['true'])": PROCESS,
    "os.waitpid(os.fork() or os._exit(0), 0)": PROCESS,
    "os.posix_spawn('/bin/true', ['true'], {})": PROCESS,
    "os.system('true')": PROCESS,
    "time.sleep(0)": SLEEP,
    "socket.create_server(('127.0.0.1', 0)).close()": SOCKET,
    "socket.socket().connect_ex(('127.0.0.1', 1))": SOCKET,
    "hidden(lambda: time.sleep(0))": SLEEP,
    "thread(lambda: subprocess.run(['true']))": PROCESS,
}
ALL_OF_IT = """
    import contextlib, os, pytest, socket, subprocess, threading, time

    def thread(function):
        started = threading.Thread(target=function)
        started.start()
        started.join()

    def hidden(function):
        with contextlib.suppress(BaseException):
            function()

    @pytest.fixture(params={bodies})
    def done(request):
        exec(request.param)

    def test_by_fixture(done): pass
    @pytest.mark.parametrize("body", {bodies})
    def test_by_itself(body): exec(body)
    @pytest.mark.integration
    def test_may(done): pass
    def test_a_pair_of_sockets_is_no_network(): socket.socketpair()
    """


def test_a_unit_test_that_uses_more_of_the_machine_is_told_so(suite):
    suite.makepyfile(ALL_OF_IT.format(bodies=list(DONE)))
    result = suite.runpytest_subprocess("-p", "no:threadexception")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == len(DONE) + 1
    assert outcomes["failed"] + outcomes["errors"] == 2 * len(DONE)
    told = Counter(line[1:].strip() for line in result.outlines if line.startswith("E  "))
    assert told == {
        f"Failed: a unit test must not {what}: see the tiers in tests/conftest.py": 2 * number
        for what, number in Counter(DONE.values()).items()
    }


def test_each_tier_is_in_the_pipeline_and_in_the_command():
    pipeline = (ROOT / "ci" / "gitlab-ci.yml").read_text()
    command = (ROOT / "ci" / "test").read_text()
    declared = re.findall(r'^    "(\w+): ', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    tiers = ["unit", "integration", "e2e", "lab"]
    assert declared == [*tiers, "alone", "ranks"]
    for tier in tiers:
        assert f"\n{tier}:\n" in pipeline
        assert tier in command


def test_the_pipeline_of_github_runs_what_ours_runs():
    pipeline = yaml.safe_load((ROOT / ".github" / "workflows" / "change.yml").read_text())
    (job,) = pipeline["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
