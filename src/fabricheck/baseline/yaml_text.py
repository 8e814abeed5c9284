"""YAML as text with a tree over it, so that a change touches only the characters that change.

A library that writes a whole document anew lays out lists and mappings in braces its own way: the
diff of one value would be that of the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ENDS: Any = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
MERGE = "<<"
INDENT = 2


@dataclass(slots=True, eq=False)
class Node:
    """A value in the text.

    Attributes:
        start: where its text begins, with its anchor.
        end: where its text ends.
        text: what a scalar says, ``None`` for others.
        pairs: key and value of a mapping's pairs, without what is merged.
        items: members of a list.
        flow: whether it is written in braces or brackets.
        anchor: its anchor, empty without.
        target: what an alias stands for, ``None`` for other values.
        shared: whether an alias stands for it.
        colon: place after the colon of its key, -1 for what is no value of a mapping.
    """

    start: int
    end: int
    text: str | None = None
    pairs: list[tuple["Node", "Node"]] = field(default_factory=list)
    items: list["Node"] = field(default_factory=list)
    flow: bool = False
    anchor: str = ""
    target: "Node | None" = None
    shared: bool = False
    colon: int = -1

    @property
    def meant(self) -> "Node":
        """The value itself, or what an alias stands for."""
        return self.target or self

    def own(self, key: str) -> tuple["Node", "Node"] | None:
        """The pair that the mapping itself has for a key."""
        return next((pair for pair in self.pairs if pair[0].text == key), None)

    def effective(self) -> dict[str, "Node"]:
        """The values by key, with what is merged, in YAML's order; keys of own pairs win."""
        found: dict[str, Node] = {}
        for key, value in self.pairs:
            if key.text == MERGE:
                for source in value.items or [value]:
                    found = {**source.meant.effective(), **found}
        for key, value in self.pairs:
            name = key.text
            if name is not None and name != MERGE:
                found[name] = value
        return found

    def lookup(self, key: str) -> "Node | None":
        """The value that ReFrame takes for a key: the exact one, or the first pattern that fits."""
        values = self.effective()
        if key in values:
            return values[key].meant
        for pattern, value in values.items():
            if not pattern.startswith("$") and re.match(f"^{pattern}$", key):
                return value.meant
        return None


def parse(text: str) -> Node | None:
    """The tree of a document, ``None`` for one without content.

    Raises:
        yaml.YAMLError: if it is not YAML.
    """
    events = [
        event
        for event in yaml.parse(text, Loader=_Loader)
        if not isinstance(
            event,
            yaml.StreamStartEvent
            | yaml.StreamEndEvent
            | yaml.DocumentStartEvent
            | yaml.DocumentEndEvent,
        )
    ]
    if not events:
        return None
    return _node(iter(events), text, {})


def _node(events: Iterator[Any], text: str, anchors: dict[str, Node]) -> Node:
    return _built(next(events), events, text, anchors)


def _built(event: Any, events: Iterator[Any], text: str, anchors: dict[str, Node]) -> Node:
    start, end = int(event.start_mark.index), int(event.end_mark.index)
    if isinstance(event, yaml.AliasEvent):
        target = anchors[str(event.anchor)]
        target.shared = True
        return Node(start, end, target=target)
    node = Node(start, end, anchor=event.anchor or "")
    if node.anchor:
        anchors[node.anchor] = node
    if isinstance(event, yaml.ScalarEvent):
        node.text = event.value
        return node
    node.flow = bool(event.flow_style)
    last = end
    while not isinstance(inner := next(events), _ENDS):
        member = _built(inner, events, text, anchors)
        if isinstance(event, yaml.MappingStartEvent):
            value = _node(events, text, anchors)
            value.colon = text.index(":", member.end) + 1
            node.pairs.append((member, value))
            member = value
        else:
            node.items.append(member)
        last = max(last, member.end)
    # The end of a block is only known where the next thing begins.
    node.end = int(inner.end_mark.index) if node.flow else last
    return node


class Draft:
    """Changes of a text, made all at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._changes: list[tuple[int, int, int, str]] = []

    def replace(self, start: int, end: int, new: str, *, column: int = 0) -> None:
        """Put something in the place of a part of the text.

        What is inserted at one place is put in the order of falling columns, as what is deeper
        belongs to what stands before.
        """
        self._changes.append((start, end, -column, new))

    def result(self) -> str:
        """The text with all changes."""
        parts, at = [], 0
        for start, end, _, new in sorted(self._changes, key=lambda change: change[:3]):
            parts += [self.text[at:start], new]
            at = end
        return "".join([*parts, self.text[at:]])

    def column(self, node: Node) -> int:
        """The column in which a node begins."""
        return node.start - (self.text.rfind("\n", 0, node.start) + 1)

    def line(self, node: Node) -> int:
        """The line in which a node begins, from 1."""
        return self.text.count("\n", 0, node.start) + 1

    def append(self, mapping: Node, lines: list[str], flow: str) -> None:
        """Add a pair at the end of a mapping.

        Args:
            mapping: where to; not empty.
            lines: the pair as a block, without indentation.
            flow: the same pair for a mapping in braces.
        """
        last = mapping.pairs[-1][1].end
        if mapping.flow:
            self.replace(last, last, f", {flow}")
            return
        column = self.column(mapping.pairs[0][0])
        pad = " " * column
        end = len(self.text[:last].rstrip())
        end = self.text.find("\n", end)
        end = len(self.text) if end < 0 else end
        self.replace(end, end, "".join(f"\n{pad}{line}" for line in lines), column=column)

    def remove(self, mapping: Node, key: str) -> None:
        """Remove a pair from a mapping, with its lines."""
        place, (name, value) = next(
            (place, pair) for place, pair in enumerate(mapping.pairs) if pair[0].text == key
        )
        if mapping.flow:
            if place:
                self.replace(mapping.pairs[place - 1][1].end, value.end, "")
            else:
                after = mapping.pairs[1][0].start if len(mapping.pairs) > 1 else value.end
                self.replace(name.start, after, "")
            return
        start = self.text.rfind("\n", 0, name.start)
        end = self.text.find("\n", value.end)
        self.replace(max(start, 0), len(self.text) if end < 0 else end, "")


def scalar(value: object, *, in_braces: bool = True) -> str:
    """A text, number or date in YAML on one line, quoted where it must be."""
    dumped: str = yaml.safe_dump(
        [value] if in_braces else value,
        default_flow_style=True,
        width=float("inf"),
        allow_unicode=True,
    )
    return dumped.strip()[1:-1] if in_braces else dumped.removesuffix("...\n").strip()
