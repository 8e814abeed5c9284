"""Plans and references as text for a terminal."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fabricheck.planning.night import NightPlan, Weighed, rest_words
from fabricheck.planning.plan import Plan
from fabricheck.planning.references import Check, ReferenceRow
from fabricheck.record.costs import CostEstimate
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.tables import in_columns

_SHOWN = 4
_REASONS = 10


def plan_lines(plan: Plan, cost: CostEstimate) -> Iterator[str]:
    """The matrix as a table, its cost, then what is left out, the most frequent reason first."""
    yield f"{plan.system}: {len(plan.cases)} cases run, {len(plan.left_out)} are left out"
    yield ""
    yield from in_columns(
        ("partition", "environment", "check", "placements", "cases"), _matrix_rows(plan.cases)
    )
    for sentence in plan.absent:
        yield f"nothing with {sentence}"
    yield from plan.remarks
    yield cost_line(cost)
    if plan.left_out:
        yield ""
        yield "left out:"
        rows = _groups(((each.case.partition, each.reason), each.case) for each in plan.left_out)
        # What no site file can change comes first: it is seldom most frequent.
        rows.sort(key=lambda row: ("scheduler" not in row[1], -int(row[2])))
        yield from in_columns(("partition", "reason", "cases", "such as"), rows[:_REASONS])
        if rest := rows[_REASONS:]:
            yield (
                f"and {len(rest)} more reasons for {sum(int(row[2]) for row in rest)} cases: "
                "--json lists every case"
            )


def cost_line(cost: CostEstimate) -> str:
    """What a run costs, as far as that is known."""
    if not cost.known:
        return "cost: unknown, as none of the cases was measured here yet"
    never = f"; {cost.unknown} cases were never measured and are not in it" if cost.unknown else ""
    return (
        f"cost: {cost.node_seconds:.0f} node-seconds, {cost.wall_seconds / 60:.1f} min one case "
        f"after the other, without waiting for nodes, from {cost.known} cases that were measured "
        f"before{never}"
    )


def night_lines(night: NightPlan) -> Iterator[str]:
    """What a night within its budget runs, then each case that rests, the next due first."""
    every = (*night.chosen, *night.resting)
    yield (
        f"{night.system}: {len(night.chosen)} of {len(every)} cases run tonight, for "
        f"{_cost(night.chosen)} of {_cost(every)}"
    )
    reached, known = night.paths
    yield f"they reach {reached} of {known} combinations of partition, MPI and transport"
    yield from night.remarks
    yield ""
    for why, number in Counter(each.why for each in night.chosen).most_common():
        yield f"{why}: {number} cases"
    yield from in_columns(
        ("partition", "environment", "check", "placements", "cases"),
        _matrix_rows([each.case for each in night.chosen]),
    )
    if night.resting:
        yield ""
        yield "not tonight:"
        yield from in_columns(
            ("case", "environment", "partition", "when", "why"),
            (
                (each.case.name, each.case.environ, each.case.partition, rest_words(each), each.why)
                for each in night.resting
            ),
        )


def _cost(cases: Sequence[Weighed]) -> str:
    held = sum(each.cost.seconds * each.cost.nodes for each in cases)
    seconds = sum(each.cost.seconds for each in cases)
    return f"{held / 3600:.2f} node-hours and {seconds / 60:.0f} min"


def shortened(names: Iterable[str]) -> str:
    """The first few of several names, and how many more there are."""
    every = list(dict.fromkeys(name for name in names if name))
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def _matrix_rows(cases: Sequence[CheckCase]) -> Iterator[tuple[str, ...]]:
    groups: dict[tuple[str, str, str], list[CheckCase]] = {}
    for case in cases:
        groups.setdefault((case.partition, case.environ, case.check), []).append(case)
    for key, members in sorted(groups.items()):
        placements = Counter(case.placement for case in members)
        yield (*key, " ".join(sorted(filter(None, placements))) or "-", str(len(members)))


def _groups(keyed: Iterable[tuple[tuple[str, str], CheckCase]]) -> list[tuple[str, ...]]:
    """A row for each key: how many cases have it, and some of them."""
    groups: dict[tuple[str, str], list[str]] = {}
    for key, case in keyed:
        groups.setdefault(key, []).append(f"{case.benchmark} {case.placement}".strip())
    return [(*key, str(len(names)), shortened(names)) for key, names in groups.items()]


def reference_lines(rows: Sequence[ReferenceRow]) -> Iterator[str]:
    """A table of references, and below it the sources with a letter of their own."""
    sources = list(dict.fromkeys((row.kind, row.source, row.date) for row in rows))
    limits = ("value", "target", "good", "critical", "unit")
    yield from in_columns(
        ("check", "case", "variable", *limits, "from", "note"),
        (
            (
                row.check,
                " ".join(str(key) for key in row.keys.values()),
                row.variable,
                f"{row.value:g}",
                "" if row.target is None else f"{row.target:g}",
                _limits(row.good),
                _limits(row.critical),
                row.unit,
                str(sources.index((row.kind, row.source, row.date)) + 1),
                row.note,
            )
            for row in rows
        ),
    )
    yield ""
    for number, (kind, source, date) in enumerate(sources, 1):
        yield f"{number}: {kind}, {source}, {date}"


def check_lines(found: Check) -> Iterator[str]:
    """What doesn't meet, many cases of a kind in one line."""
    complete = found.cases - len(found.without_reference) - len(found.partly)
    yield f"{found.system}: {complete} of {found.cases} cases have a reference for every value"
    if found.without_reference:
        yield f"no reference in {found.path}:"
        keyed = (((case.check, case.environ), case) for case in found.without_reference)
        yield from in_columns(("check", "environment", "cases", "such as"), _groups(keyed))
    for case, lacking in found.partly:
        yield (
            f"{case.check} {case.benchmark} {case.placement} with {case.environ}: no reference for "
            f"{len(lacking)} of {len(case.variables)} values, such as {shortened(lacking)}"
        )
    yield from found.without_case


def _limits(limits: tuple[float | None, float | None]) -> str:
    lower, upper = (None if limit is None else f"{limit:.6g}" for limit in limits)
    return f"{lower or ''}..{upper or ''}"
