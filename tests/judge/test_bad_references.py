"""References that are wrong: file, line and key are named, and nothing is judged."""

import re

import pytest
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.judge.reference_file import written
from fabricheck.judge.references import CaseKey, resolve

FILE = """\
rules:
- for: {check: MpiPointToPoint, environ: openmpi|mpich, benchmark: latency}
  value: {latency_p50_1B: 20}
  bound: {latency_p50: [-0.95, 25.0]}
  target: {latency_p50_1B: 30}
- for: {check: MpiPointToPoint, benchmark: bw}
  value: {bandwidth_avg_1MiB: 900}
  bound: [-0.5, null]
- for: {check: TransportOrder, placement: tcp-2n}
  value: {ratio_p50_8B: 1}
  bound: [-0.5, null]
  unit: '1'
- warning: [null, null]
  shape: {monotone: 1.0}
  kind: bound
  source: "absurdity bound"
  date: 2026-11-21
"""
LATENCY, BANDWIDTH, ORDER = "latency", "bw", "order"
VALUE, BOUND = "latency_p50_1B: 20", "[-0.95, 25.0]"
AT_VALUE = "line 3: rules > 1 > value > latency_p50_1B: "
AT_BOUND = "line 4: rules > 1 > bound > latency_p50: "

CASES = {
    # values
    "text": (VALUE, "latency_p50_1B: x", AT_VALUE + "expected a number of 0 or more such as"),
    "exponent": (VALUE, "latency_p50_1B: 1e3", "such as 1.0e+3, or one for each size, found '1e3'"),
    "truth": (VALUE, "latency_p50_1B: yes", AT_VALUE + "expected a number of 0 or more"),
    "negative": (VALUE, "latency_p50_1B: -2", AT_VALUE + "expected a number of 0 or more"),
    "NaN": (VALUE, "latency_p50_1B: .nan", "line 3: expected a finite number, found '.nan'"),
    "unknown metric": (VALUE, "latncy_p50_1B: 20", "> latncy_p50_1B: unknown variable: expected"),
    "other unit of size": (VALUE, "latency_p50_1KB: 20", "unknown variable: expected"),
    "size twice": (
        VALUE,
        "latency_p50: {1024B: 1}",
        "unknown variable: expected the variable name latency_p50_1KiB, found",
    ),
    "other statistic": (VALUE, "latency_p90_1B: 20", "records latency_avg, latency_p50, latency_"),
    "other metric": (
        VALUE,
        "bandwidth: {1B: 9}",
        "unknown variable: the benchmark latency records",
    ),
    "no size": (VALUE, "latency_p50: 20", "the benchmark latency records one for each size"),
    "number as name": (VALUE, "1: 20", "value: expected a name without blanks, found 1"),
    "name with an end": (VALUE, '"x\\n": 20', "expected a name without blanks, found 'x\\n'"),
    # bounds
    "no pair": (BOUND, "[1]", AT_BOUND + "expected [lower, upper]"),
    "text as bound": (
        BOUND,
        "[low, 1]",
        "expected a lower bound of 0 or less, or null, found 'low'",
    ),
    "inverted": (BOUND, "[25.0, -0.95]", "expected a lower bound of 0 or less, or null, found 25"),
    "below -1": (BOUND, "[-20, 1]", AT_BOUND + "expected a lower bound of latency_p50_1B from -1"),
    "no upper": (BOUND, "[-0.95, null]", AT_BOUND + "expected an upper bound, found none: lower"),
    "nothing": (BOUND, "[null, null]", AT_BOUND + "expected a lower or an upper bound"),
    "no bound at all": ("latency_p50: [", "latency_p99: [", AT_VALUE + "expected a rule with the"),
    "bad pattern": (
        "latency_p50: [",
        "'latency_(': [",
        "line 4: rules > 1 > bound: expected [lower, u",
    ),
    # origin and warnings
    "no warning": (
        "- warning: [null, null]\n  shape",
        "- shape",
        "with the warning of latency_p50",
    ),
    "share": ("[null, null]", "1.5", "expected [lower, upper], a share of the critical bounds"),
    "wider": (
        "[null, null]",
        "[null, 30.0]",
        "line 13: rules > 4 > warning: the warning bounds [null, 30] are wider than the critical "
        "bounds [-0.95, 25] of latency_p50_1B (",
    ),
    "wider below": ("[null, null]", "[-0.99, null]", "are wider than the critical bounds"),
    "no kind": ("  kind: bound\n", "", "expected the keys kind beside source, found not all"),
    "no source": (
        '  source: "absurdity bound"\n',
        "",
        "expected the keys source, date beside kind",
    ),
    "empty source": ('"absurdity bound"', '" "', "line 16: rules > 4 > source: expected text that"),
    "other kind": ("kind: bound", "kind: guess", "expected one of bound, ratio, measured, vendor"),
    "no origin": (
        '  kind: bound\n  source: "absurdity bound"\n  date: 2026-11-21\n',
        "",
        AT_VALUE + "expected a rule with kind, source and date of latency tcp-2n with openmpi",
    ),
    "no day": ("2026-11-21", "2026-13-21", "line 17: expected a value that can be, found '2026-13"),
    "text as day": ("2026-11-21", "yesterday", "date: expected a day such as 2026-11-21, found 'y"),
    "noise": ("monotone: 1.0", "monotone: much", "monotone: expected a noise of 0 or more, found"),
    "negative noise": ("monotone: 1.0", "monotone: -1", "expected a noise of 0 or more, found -1"),
    "best": ("monotone: 1.0", "best: 0", "shape > best: expected a value above 0, found 0"),
    "target": ("latency_p50_1B: 30", "latency_p50_2B: 30", "> target > latency_p50_2B: expected a"),
    # names
    "unknown key": (
        "  bound: {lat",
        "  bounds: {lat",
        "unknown key 'bounds': did you mean 'bound'",
    ),
    "unknown field": ("environ: ", "environment: ", "unknown key 'environment': did you mean"),
    "unknown check": (
        "check: MpiPointToPoint",
        "check: MpiPt2pt",
        "line 2: rules > 1 > for > check",
    ),
    "unknown benchmark": (
        "benchmark: latency",
        "benchmark: lat",
        "unknown benchmark: MpiPointToPoin",
    ),
    "bad name": ("openmpi|mpich", "'('", "environ: expected a name or a regular expression, found"),
    # the file
    "key twice": (
        "  bound: {lat",
        "  value: {}\n  bound: {lat",
        "line 4: value: the key is given twi",
    ),
    "tab": ("  bound: {lat", "\tbound: {lat", "line 4: expected rules of references in YAML"),
    "no mapping": (FILE, "- 1\n", "line 1: expected a list 'rules', found [1]"),
    "empty": (FILE, "# nothing\n", "line 1: expected a list 'rules', found None"),
    "no rule": (FILE, "rules: []\n", "line 1: rules: expected a list of rules, found []"),
    "as it was": (
        FILE,
        "MpiPointToPoint: {$index: [benchmark]}\n",
        "unknown key 'MpiPointToPoint'",
    ),
    "tag": (BOUND, "!!python/object:os.system {}", "line 4: expected plain YAML, found the tag"),
    "control character": (BOUND, "\x00", "expected rules of references in YAML"),
}
OTHER_CASES = {
    "no lower": (
        BANDWIDTH,
        "[-0.5, null]",
        "[null, 1]",
        "found none: higher bandwidth_avg_1MiB is",
    ),
    "vacuous": (
        BANDWIDTH,
        "[-0.5, null]",
        "[-1, null]",
        "greater than -1, which accepts any value",
    ),
    "a name of no metric": (
        ORDER,
        "ratio_p50_8B",
        "shm_faster_8B",
        "line 10: rules > 3 > value > shm_faster_8B: unknown variable: expected a variable name",
    ),
    "no unit": (
        ORDER,
        "  unit: '1'\n",
        "",
        "line 10: rules > 3 > value > ratio_p50_8B: expected a",
    ),
}


def refusal(tmp_path, text, benchmark=LATENCY):
    path = tmp_path / "testbed.yaml"
    path.write_text(text)
    check = "TransportOrder" if benchmark == ORDER else "MpiPointToPoint"
    key = CaseKey("testbed", "testbed:compute", "openmpi", benchmark, "tcp-2n")
    with pytest.raises(FabricheckError) as caught:
        resolve(path, check, key)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_named(name, tmp_path):
    old, new, message = CASES[name]
    assert FILE.count(old) >= 1
    assert message in refusal(tmp_path, FILE.replace(old, new, 1))


@pytest.mark.parametrize("name", OTHER_CASES)
def test_what_is_wrong_for_other_benchmarks_is_named(name, tmp_path):
    benchmark, old, new, message = OTHER_CASES[name]
    assert message in refusal(tmp_path, FILE.replace(old, new, 1), benchmark)


@pytest.mark.parametrize("benchmark", [LATENCY, BANDWIDTH])
def test_the_unchanged_file_is_right(tmp_path, benchmark):
    path = tmp_path / "testbed.yaml"
    path.write_text(FILE)
    key = CaseKey("testbed", "testbed:compute", "openmpi", benchmark, "tcp-2n")
    assert resolve(path, "MpiPointToPoint", key)[0]


@pytest.mark.parametrize(
    "text",
    ["", "best: 1\n", "measured: [{case: {}}]\n", "rules: []\n", "best: [{check: x}]\n"],
)
def test_measured_values_that_are_wrong_are_named(tmp_path, text):
    path = tmp_path / "testbed.yaml"
    path.write_text(FILE)
    path.with_name("testbed.measured.yaml").write_text(text)
    key = CaseKey("testbed", "testbed:compute", "openmpi", "latency", "tcp-2n")
    with pytest.raises(FabricheckError, match=re.escape("testbed.measured.yaml: ")):
        resolve(path, "MpiPointToPoint", key)


def test_nothing_written_is_an_empty_list_of_neither():
    assert "best:" not in written({"best": [], "measured": []}).split("\n", 2)[2]


def test_files_that_cannot_be_read(tmp_path):
    key = CaseKey("testbed", "testbed:compute", "openmpi", "latency", "tcp-2n")
    with refused("FC0107", r"absent\.yaml: .*No such file or directory"):
        resolve(tmp_path / "absent.yaml", "MpiPointToPoint", key)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xfa")
    with refused("FC0108", r"binary\.yaml: expected rules of references in UTF"):
        resolve(tmp_path / "binary.yaml", "MpiPointToPoint", key)
