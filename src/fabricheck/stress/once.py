"""One iteration, judged, as a table and a file of results."""

from datetime import UTC, datetime
from pathlib import Path

from fabricheck.benchmarks.metrics import Metric
from fabricheck.record.entries import Case
from fabricheck.report.files import write_whole
from fabricheck.stress.control import Tell, Wish, close, start, wait_for_end
from fabricheck.stress.state import Place
from fabricheck.units import format_size, with_unit

_ROWS = 5
# Seconds; it may wait for its turn as long as it lasts.
_LONGEST = 86400.0


def once(wish: Wish, tell: Tell) -> tuple[bool, Path, str]:
    """Run one iteration, and wait for it.

    Returns:
        Whether every block is good or a warning, the file with the results, and its text.

    Raises:
        FabricheckError: as of ``start``.
    """
    place = start(wish, tell)
    wait_for_end(place, _LONGEST)
    close(place)
    state = place.state()
    assert state is not None, "start has written it"
    blocks = place.read(state.session)
    text = results(place, blocks)
    path = place.path / f"once-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.txt"
    write_whole(path, text)
    planned = len(place.read_plan()["blocks"])
    passed = len(blocks) == planned and all(each.result == "pass" for each in blocks)
    return passed, path, text


def results(place: Place, blocks: list[Case]) -> str:
    """The last sizes of each block, in units that fit, with level and findings."""
    lines = [f"stress {place.name}, one iteration, {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"]
    if not blocks:
        lines.append(f"expected blocks, found none: look at {place.log}")
    for block in blocks:
        lines += ["", f"{block.benchmark}, {block.num_nodes} nodes: {block.level}"]
        lines.append(f"{'size':>10} {'avg':>12} {'p50':>12} {'p99':>12}")
        values = {
            (each.size, each.statistic): with_unit(each.value, each.unit)
            for each in block.samples
            if each.metric == Metric.LATENCY and each.value is not None
        }
        sizes = sorted({size for size, _ in values if size})[-_ROWS:]
        for size in sizes:
            told = [values.get((size, name), "-") for name in ("avg", "p50", "p99")]
            lines.append(f"{format_size(size):>10} " + " ".join(f"{each:>12}" for each in told))
        lines += [f"  {each}" for each in block.findings]
    return "\n".join([*lines, ""])
