from dataclasses import replace
from pathlib import Path

from tests.stress.made import block, place

from fabricheck.stress.control import results

MIB = 1 << 20


def test_results_have_the_last_five_sizes_in_units_that_fit(tmp_path: Path) -> None:
    sizes = [block("1.1", value=10.0 * 4**each, size=MIB >> (6 - each)) for each in range(7)]
    whole = replace(sizes[0], samples=tuple(s for case in sizes for s in case.samples))
    critical = replace(block("1.2", "bcast", level="critical"), findings=("too slow",))
    text = results(place(tmp_path / "s"), [whole, critical])
    rows = [line.split() for line in text.splitlines()]
    assert [row[0] for row in rows if row and row[0].endswith("iB")] == [
        *("64KiB", "128KiB", "256KiB", "512KiB", "1MiB"), "4MiB",
    ]  # fmt: skip
    assert ["1MiB", "41.0", "ms", "41.0", "ms", "41.0", "ms"] in rows
    assert "bcast, 8 nodes: critical" in text
    assert "  too slow" in text
    assert "found none: look at" in results(place(tmp_path / "t"), [])
