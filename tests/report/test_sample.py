"""The made run report names only what a real one names."""

from pathlib import Path

from tests.report import sample

from fabricheck.benchmarks.curve import split_variable

SUITE = Path(__file__).parents[2]


def test_variables_and_classes_exist():
    (run,) = sample.with_everything()["runs"]
    for entry in run["testcases"]:
        for variable in entry["perfvalues"]:
            split_variable(variable.split(":")[-1])
    classes = {entry["display_name"].split()[0] for entry in run["testcases"]}
    sources = [*SUITE.glob("checks/*.py"), *SUITE.glob("src/fabricheck/reframe_ext/*.py")]
    text = "".join(path.read_text() for path in sources)
    assert {name for name in classes if f"class {name}(" not in text} == set()
