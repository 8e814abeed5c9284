from pathlib import Path

import pytest

CONFTEST = (Path(__file__).parent / "conftest.py").read_text()
MARKERS = "[pytest]\nmarkers =\n    testbed: x\n    browser: x\n"


@pytest.fixture
def suite(pytester):
    pytester.makeini(MARKERS)
    pytester.makeconftest(CONFTEST)
    return pytester


def test_quick_tests_run_before_browser_and_testbed(suite):
    suite.makepyfile(
        """
        import pytest
        @pytest.mark.testbed
        def test_cluster(): pass
        @pytest.mark.browser
        def test_page(): pass
        def test_unit(): pass
        """
    )
    lines = [line for line in suite.runpytest("-v").outlines if "PASSED" in line]
    assert [line.split("::")[1].split()[0] for line in lines] == [
        "test_unit",
        "test_page",
        "test_cluster",
    ]


SKIPS = """
    import pytest
    @pytest.mark.testbed
    @pytest.mark.skipif(True, reason="no slurmd")
    def test_marked(): pass
    @pytest.mark.testbed
    def test_within(): pytest.skip("no slurmctld")
    @pytest.mark.skipif(True, reason="no spack")
    def test_optional(): pass
    """


def test_a_skip_for_want_of_a_tool_fails_where_everything_is_there(suite):
    suite.makepyfile(SKIPS)
    result = suite.runpytest("--everything")
    assert result.parseoutcomes() == {"failed": 1, "errors": 1, "skipped": 1}
    result.stdout.fnmatch_lines_random(["*no slurmd*", "*no slurmctld*"])


def test_a_skip_is_a_skip_elsewhere(suite):
    suite.makepyfile(SKIPS)
    suite.runpytest().assert_outcomes(skipped=3)
