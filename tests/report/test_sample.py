"""The made run names only what a real one names."""

from pathlib import Path

from tests.report import sample

from fabricheck.measures.curve import Variable

SUITE = Path(__file__).parents[2]


def test_variables_and_classes_exist():
    cases = sample.with_everything()["cases"]
    for entry in cases:
        for variable, each in entry["samples"].items():
            assert Variable.read(variable) == (each["metric"], each["statistic"], each["size"])
    classes = {entry["check"] for entry in cases}
    sources = [*SUITE.glob("checks/*.py"), *SUITE.glob("src/fabricheck/reframe_ext/*.py")]
    text = "".join(path.read_text() for path in sources)
    assert {name for name in classes if f"class {name}(" not in text} == set()
