"""Which node, and port, was measured when: by which layer, over which transport, how it ended."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.measures.registry import CHECKS, FAMILIES
from fabricheck.transports.table import TRANSPORTS, Scope

_FAMILY_OF: Final = {check: FAMILIES[name] for check, name in CHECKS.items() if name}
TURNS_OF: Final = [check for check, family in _FAMILY_OF.items() if family.has_references]
"""The checks that measure the nodes whose turn it is. What compares all idle nodes with each other
judges none by itself."""

_LAYERS: Final = {check: family.layer or family.name for check, family in _FAMILY_OF.items()}
_LEVELS: Final = ["good", "warning", "no-reference", "critical"]
"""Of the cases that measured something, the worst last."""
_PLACE: Final = ("node", "port", "layer", "transport", "in_turn")
_BETWEEN: Final = [name for name, each in TRANSPORTS.items() if each.scope is Scope.INTER_NODE]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What is known of a system's nodes; times are days such as 2026-11-24.

    Attributes:
        system: name of the system.
        at_least_every: nights after which the site wants each node again; ``None`` where it doesn't
            say.
        nights: for each node the nights since it was measured, or since it became known; the most
            first.
        last: when each was measured between nodes in its turn; ``None`` for one that never was.
        never: the nodes that never were.
        overdue: those that were not for as many nights as the site allows, or more.
        busy: those that could not run a job in the last night.
        listed: whether nights say which nodes there are.
        seen: of each node, port, layer and transport the last day, the nights since, and the worst
            level of that day; the longest ago first. What is not ``in_turn`` ran on all idle nodes.
    """

    system: str
    at_least_every: int | None
    nights: Mapping[str, int]
    last: Mapping[str, str | None]
    never: Sequence[str]
    overdue: Sequence[str]
    busy: Sequence[str]
    listed: bool
    seen: Sequence[Mapping[str, Any]]


def coverage(history: History, system: str, every: int | None = None) -> Coverage:
    """What the history knows of a system's nodes.

    Args:
        history: the history.
        system: name of the system.
        every: nights after which the site wants each node again.
    """
    cases = history.cases(Selection({"system": (system,)})).with_columns(
        pl.col("time").dt.strftime("%Y-%m-%d").alias("day")
    )
    days = sorted(cases["day"].unique())
    stated, busy = _stated(history, system)
    known = {node: day for each in stated.values() for node, day in each.items()}
    gone = pl.col("partition").is_in([*stated]) & ~pl.col("node").is_in([*known])
    seen = _seen(cases, gone).to_dicts()
    for each in seen:
        each["nights"] = sum(day > each["day"] for day in days)
    own = [each for each in seen if each["in_turn"]]
    # Memory that ranks of a node share says nothing of its cards, where more is measured.
    between = [each for each in own if each["transport"] in _BETWEEN] or own
    last: dict[str, str | None] = dict.fromkeys([*known, *(each["node"] for each in seen)])
    last |= {each["node"]: each["day"] for each in between}
    since = {
        node: sum(day > last_day if last_day else day >= known.get(node, day) for day in days)
        for node, last_day in last.items()
    }
    order = sorted(last, key=lambda node: (-since[node], len(node), node))
    return Coverage(
        system,
        every,
        {node: since[node] for node in order},
        last,
        [node for node in order if not last[node]],
        [node for node in order if every is not None and since[node] >= every],
        [node for node in order if node in busy],
        bool(known),
        seen,
    )


def _stated(history: History, system: str) -> tuple[dict[str, dict[str, str]], set[str]]:
    """The nodes of each partition by the last session that lists them, and since when each is
    known; those that could not run a job then.
    """
    stated: dict[str, dict[str, str]] = {}
    busy: dict[str, Iterable[str]] = {}
    for session in history.sessions():
        told = session.info.get("rota", {}) if session.system == system else {}
        for partition, nodes in told.items():
            if names := nodes.get("nodes"):
                before = stated.get(partition, {})
                stated[partition] = {name: before.get(name, session.time[:10]) for name in names}
                busy[partition] = nodes.get("busy", ())
    return stated, {node for each in busy.values() for node in each}


def _seen(cases: pl.DataFrame, gone: pl.Expr) -> pl.DataFrame:
    """What was measured last of each node, port, layer and transport, the longest ago first."""
    port = pl.col("port") if "port" in cases.columns else pl.lit("")
    return (
        cases.filter(
            pl.col("check").is_in([*_LAYERS]),
            pl.col("level").is_in(_LEVELS),
            *(pl.col(name) != "" for name in ("transport", "node_list")),
        )
        .with_columns(
            pl.col("node_list").str.split(",").alias("node"),
            port.alias("port"),
            pl.col("check").replace_strict(_LAYERS, return_dtype=pl.String).alias("layer"),
            pl.col("check").is_in(TURNS_OF).alias("in_turn"),
            pl.col("level").cast(pl.Enum(_LEVELS)),
        )
        .explode("node", empty_as_null=True)
        .filter(~gone)
        .filter(pl.col("day") == pl.col("day").max().over(_PLACE))
        .group_by(_PLACE)
        .agg(pl.col("day").max(), pl.col("level").max().cast(pl.String))
        .sort("day", *_PLACE)
    )
