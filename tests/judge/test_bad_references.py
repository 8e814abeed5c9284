"""Reference files that are wrong: file, line and key path are named, and nothing is judged."""

import re

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.judge.references import CaseKey, resolve

LEAF = "[20, -0.95, 25.0, us]"
FILE = f"""\
MpiPointToPoint:
  $index: [$system, $environ, benchmark, placement]
  testbed:
    (openmpi|mpich):
      latency:
        tcp-2n:
          latency_p50_1B: {LEAF}
      bw:
        tcp-2n: {{bandwidth_avg_1MiB: [900, -0.5, null, MB/s]}}
MpiPointToPoint.levels:
  $index: [$system, benchmark, transport]
  testbed:
    .*:
      .*:
        warning: [null, 10.0]
        kind: bound
        source: "absurdity bound"
        date: 2026-11-21
        monotone: 1.0
MpiCollective:
  $index: [num_nodes, benchmark]
  2: {{barrier: {{latency_avg: [30, null, 30, us]}}}}
TransportOrder:
  $index: [placement]
  tcp-2n: {{shm_faster_8B: [1, 0, null, ratio]}}
"""
AT_LEAF = (
    "line 7: MpiPointToPoint > testbed > (openmpi|mpich) > latency > tcp-2n > latency_p50_1B: "
)
AT_LEVELS = "line 14: MpiPointToPoint.levels > testbed > .* > .*: "
IN_LEVELS = "MpiPointToPoint.levels > testbed > .* > .* > "
IN_BENCHMARK = "MpiPointToPoint > testbed > (openmpi|mpich) > "

CASES = {
    # leaves
    "no list": (LEAF, "20", AT_LEAF + "expected [value, lower, upper, unit], found 20"),
    "too short": (LEAF, "[20, 1, us]", AT_LEAF + "expected [value, lower, upper, unit], found [20"),
    "a mapping": (LEAF, "{value: 20}", AT_LEAF + "expected [value, lower, upper, unit], found {"),
    "text as value": (LEAF, "[x, -0.95, 25.0, us]", AT_LEAF + "expected a number as value"),
    "truth as value": (LEAF, "[yes, -0.95, 25.0, us]", AT_LEAF + "expected a number as value"),
    "exponent": (
        LEAF,
        "[1e3, -0.95, 25.0, us]",
        AT_LEAF
        + "expected a number as value, found '1e3': write it as 1.0e+3, YAML takes 1e3 as text",
    ),
    "NaN": (LEAF, "[.nan, -0.95, 25.0, us]", "line 7: expected a finite number, found '.nan'"),
    "infinite": (LEAF, "[20, -0.95, .inf, us]", "line 7: expected a finite number, found '.inf'"),
    "text as bound": (LEAF, "[20, low, 1, us]", AT_LEAF + "expected a number as lower bound"),
    "negative value": (LEAF, "[-2, -0.95, 1, us]", AT_LEAF + "expected a value of 0 or more"),
    "inverted": (
        LEAF,
        "[20, 25.0, -0.95, us]",
        AT_LEAF + "the bounds are inverted: lower 25 is greater than -0.95",
    ),
    "lower above value": (
        LEAF,
        "[20, 0.5, 1, us]",
        AT_LEAF + "expected a lower bound of 0 or less",
    ),
    "upper below value": (
        LEAF,
        "[20, -2, -0.5, us]",
        AT_LEAF + "expected an upper bound of 0 or m",
    ),
    "below -1": (LEAF, "[20, -20, 1, us]", AT_LEAF + "expected a lower bound from -1 to 0"),
    "no upper for latency": (
        LEAF,
        "[20, -0.95, null, us]",
        AT_LEAF + "expected an upper bound, found none: lower latency is better",
    ),
    "no lower for bandwidth": (
        "[900, -0.5, null",
        "[900, null, 1",
        "line 9: "
        + IN_BENCHMARK
        + "bw > tcp-2n > bandwidth_avg_1MiB: expected a lower bound, found none: higher bandw",
    ),
    "vacuous lower": ("[900, -0.5", "[900, -1", "expected a lower bound greater than -1"),
    "other unit": (LEAF, "[20, -0.95, 25.0, ms]", AT_LEAF + "expected the unit us, found ms"),
    "no unit": (LEAF, "[20, -0.95, 25.0, null]", AT_LEAF + "expected a unit as text, found None"),
    "xfail without reason": (LEAF, f"[$xfail, {LEAF}]", AT_LEAF + "expected [$xfail, reason, [val"),
    "no bound at all": (
        "[1, 0, null, ratio]",
        "[1, null, null, ratio]",
        "line 25: TransportOrder > tcp-2n > shm_faster_8B: expected a lower or an upper bound",
    ),
    # names
    "unknown metric": ("latency_p50_1B", "latncy_p50_1B", "> latncy_p50_1B: unknown variable"),
    "size in other unit": ("latency_p50_1B", "latency_p50_1KB", "unknown variable: expected a"),
    "other statistic": (
        "latency_p50_1B",
        "latency_p90_1B",
        "unknown variable: the benchmark latency records latency_avg, latency_p50, latency_p99",
    ),
    "other metric": (
        f"latency_p50_1B: {LEAF}",
        "bandwidth_avg_1B: [9, -0.5, null, MB/s]",
        "unknown variable: the benchmark latency records latency_avg",
    ),
    "no size": (
        "latency_p50_1B",
        "latency_p50",
        "unknown variable: the benchmark latency records one for each size",
    ),
    "unknown benchmark": (
        "      bw:",
        "      bww:",
        "line 8: "
        + IN_BENCHMARK
        + "bww: unknown benchmark: MpiPointToPoint has latency, bw, bibw, mbw_mr",
    ),
    "benchmark of the other family": ("      bw:", "      barrier:", "barrier: unknown benchmark"),
    "unknown check": (
        "MpiCollective:",
        "MpiColective:",
        "line 20: MpiColective: unknown check: expected one of MpiPointToPoint, MpiPointTo",
    ),
    # keys and index
    "no index": (
        "  $index: [$system, $environ, benchmark, placement]\n",
        "",
        "line 1: MpiPointToPoint: expected $index",
    ),
    "unknown index name": (
        "[$system, $environ, benchmark",
        "[$system, $processor.arch, benchmark",
        "line 2: MpiPointToPoint > $index: unknown name '$processor.arch': kno",
    ),
    "index is no list": (
        "[$system, benchmark, transport]",
        "$system",
        "line 11: MpiPointToPoint.levels > $index: expected a list of names, found '$system'",
    ),
    "too shallow": (
        "        tcp-2n:\n          latency_p50_1B: ",
        "        tcp-2n: ",
        "> tcp-2n: expected a mapping, found a list",
    ),
    "nothing there": (
        f"\n          latency_p50_1B: {LEAF}",
        "",
        "line 6: " + IN_BENCHMARK + "latency > tcp-2n: expected a mapping, found nothing",
    ),
    "no variable": (f"\n          latency_p50_1B: {LEAF}", " {}", "expected at least one variable"),
    "key twice": (
        "      bw:\n",
        "      latency:\n",
        "line 8: latency: the key is given twice, first at line 5",
    ),
    "number as key": (
        "  testbed:\n    (op",
        "  7:\n    (op",
        "line 3: MpiPointToPoint > 7: expected text for $system, found a number: quote it",
    ),
    "truth as key": (
        "  testbed:\n    (op",
        "  no:\n    (op",
        "line 3: no: expected text or a whole number as key: quote it",
    ),
    "text for nodes": ("  2: {", '  "2": {', "expected a whole number of nodes"),
    "broken expression": (
        "(openmpi|mpich)",
        "(openmpi|mpich",
        "expected a name or a regular expres",
    ),
    "open alternative": (
        "(openmpi|mpich)",
        "openmpi|mpich",
        "put the alternatives in parentheses, (openmpi|mpich)",
    ),
    # levels
    "unknown level key": (
        "        kind:",
        "        sort:",
        "line 16: "
        + IN_LEVELS
        + "sort: unknown key: known are warning, kind, source, date, monotone, best",
    ),
    "source missing": (
        '        source: "absurdity bound"\n',
        "",
        AT_LEVELS + "expected source, found only warning, kind, date, monotone",
    ),
    "date missing": ("        date: 2026-11-21\n", "", AT_LEVELS + "expected date"),
    "kind missing": ("        kind: bound\n", "", AT_LEVELS + "expected kind"),
    "warning missing": ("        warning: [null, 10.0]\n", "", "expected warning, found only kind"),
    "other kind": (
        "kind: bound",
        "kind: guess",
        "line 16: "
        + IN_LEVELS
        + "kind: expected one of bound, ratio, measured, vendor, paper, found 'guess'",
    ),
    "empty source": ('"absurdity bound"', '""', "line 17: " + IN_LEVELS + "source: expected the"),
    "no date": (
        "2026-11-21",
        "2026-13-21",
        "line 18: expected a value that can be, found '2026-13-21' as timestamp: correct it",
    ),
    "text as date": ("2026-11-21", "yesterday", "line 18: " + IN_LEVELS + "date: expected a date"),
    "no noise": (
        "monotone: 1.0",
        "monotone: much",
        IN_LEVELS + "monotone: expected a number as noi",
    ),
    "no best": ("monotone: 1.0", "best: much", IN_LEVELS + "best: expected a number as value that"),
    "best of nothing": ("monotone: 1.0", "best: 0", "expected a value above 0 that the best size"),
    "negative noise": ("monotone: 1.0", "monotone: -1", "expected a noise of 0 or more"),
    "one warning bound": (
        "[null, 10.0]",
        "[10.0]",
        "line 15: " + IN_LEVELS + "warning: expected [lower, upper] or a share of the critical "
        "bounds, found [10.0]",
    ),
    "no share": (
        "[null, 10.0]",
        "1.5",
        "warning: expected a share of the critical bounds from 0 to 1, found 1.5",
    ),
    "true share": ("[null, 10.0]", "true", "warning: expected a number as share of the critical"),
    "half a sample": ("monotone: 1.0", "samples: 2.5", "expected a number of nights, found 2.5"),
    "commit as number": ("monotone: 1.0", "commit: 1234567", "expected text as commit, found 123"),
    "inverted warning": ("[null, 10.0]", "[10.0, -0.5]", "warning: the bounds are inverted"),
    "warning wider": (
        "[null, 10.0]",
        "[null, 30.0]",
        AT_LEVELS
        + "the warning bounds [null, 30] are wider than the critical bounds [-0.95, 25] of ",
    ),
    "warning wider below": ("[null, 10.0]", "[-0.99, null]", "are wider than the critical bounds"),
    "no levels": (
        "MpiPointToPoint.levels:\n  $index: [$system, benchmark, transport]\n  testbed:",
        "MpiPointToPoint.levels:\n  $index: [$system, benchmark, transport]\n  other:",
        "line 6: "
        + IN_BENCHMARK
        + "latency > tcp-2n: expected an entry of MpiPointToPoint.levels for latency tcp-2n with",
    ),
    # the file
    "tab": (
        "  testbed:\n    (op",
        "\ttestbed:\n    (op",
        "line 3: expected references in YAML, found: found character",
    ),
    "unclosed": (LEAF, "[20, -0.95", "line 8: expected references in YAML, found: did not"),
    "no mapping": (FILE, "- 1\n", "line 1: expected a mapping, found a list"),
    "only text": (FILE, "hello\n", "line 1: expected a mapping, found 'hello'"),
    "empty": (FILE, "# nothing\n", "expected references, found an empty file"),
    "tag": (LEAF, "!!python/object:os.system {}", "line 7: expected plain YAML, found the tag"),
    "control character": (
        LEAF,
        "\x00",
        "expected references in YAML, found: unacceptable character",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_named(name, tmp_path):
    old, new, message = CASES[name]
    assert FILE.count(old) >= 1
    path = tmp_path / "testbed.yaml"
    path.write_text(FILE.replace(old, new, 1))
    key = CaseKey("testbed", "testbed:compute", "openmpi", "latency", "tcp-2n")
    with pytest.raises(FabricheckError, match=re.escape(message)) as caught:
        resolve(path, "MpiPointToPoint", key)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_the_unchanged_file_is_right(tmp_path):
    path = tmp_path / "testbed.yaml"
    path.write_text(FILE)
    key = CaseKey("testbed", "testbed:compute", "openmpi", "latency", "tcp-2n")
    assert resolve(path, "MpiPointToPoint", key)[0]


def test_files_that_cannot_be_read(tmp_path):
    key = CaseKey("testbed", "testbed:compute", "openmpi", "latency", "tcp-2n")
    with pytest.raises(FabricheckError, match=r"absent\.yaml: .*No such file or directory"):
        resolve(tmp_path / "absent.yaml", "MpiPointToPoint", key)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(FabricheckError, match=r"binary\.yaml: expected references in UTF-8"):
        resolve(tmp_path / "binary.yaml", "MpiPointToPoint", key)
