"""Changes of a reference file: entries of cases, and what an index lacks to keep cases apart."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from fabricheck.baseline.yaml_text import INDENT, MERGE, Draft, Node, parse, scalar
from fabricheck.errors import FabricheckError
from fabricheck.judge.model import CaseKey
from fabricheck.judge.reference_file import INDEX

Entry = Mapping[str, str]
"""Keys of an entry, each with its value in YAML on one line."""

NEW_INDEX = ("$partition", "$environ", "benchmark", "placement")
"""Index of a section that is not there yet."""

_XFAIL = "$xfail"

Key = str | int


@dataclass(slots=True)
class _New:
    """What is to be written below a key that is not there: a mapping of keys, or an entry."""

    merge: str = ""
    keys: dict[Key, "_New"] = field(default_factory=dict)
    entry: dict[str, str] = field(default_factory=dict)

    def lines(self, key: Key) -> list[str]:
        """The key and what is below it, as a block."""
        pad = " " * INDENT
        found = [f"{scalar(key, in_braces=False)}:"]
        if self.merge:
            found.append(f"{pad}{MERGE}: *{self.merge}")
        found += [f"{pad}{name}: {value}" for name, value in self.entry.items()]
        for name, new in self.keys.items():
            found += [pad + line for line in new.lines(name)]
        return found

    def flow(self, key: Key) -> str:
        """The same in braces."""
        parts = [f"{MERGE}: *{self.merge}"] if self.merge else []
        parts += [f"{name}: {value}" for name, value in self.entry.items()]
        parts += [new.flow(name) for name, new in self.keys.items()]
        return f"{scalar(key)}: {{{', '.join(parts)}}}"


def path_of(case: CaseKey, index: Sequence[str]) -> tuple[Key, ...]:
    """The keys of a case, one for each name of an index."""
    values: dict[str, Key] = {
        "$system": case.system,
        "$partition": case.partition,
        "$environ": case.environ,
        "benchmark": case.benchmark,
        "placement": case.placement,
        "transport": case.transport,
        "num_nodes": case.num_nodes,
    }
    return tuple(values[name] for name in index)


def lacking(index: Sequence[str], cases: Sequence[CaseKey]) -> tuple[str, ...]:
    """Names that an index lacks to keep the cases apart."""
    names = list(index)
    for name in reversed(NEW_INDEX):
        groups: dict[tuple[Key, ...], set[Key]] = {}
        for case in cases:
            groups.setdefault(path_of(case, names), set()).update(path_of(case, (name,)))
        if any(len(values) > 1 for values in groups.values()):
            names.append(name)
    return tuple(names[len(index) :])


class ReferenceText:
    """The text of a reference file, and changes to it.

    Raises:
        FabricheckError: for a change that would change entries of other cases, too.
    """

    def __init__(self, text: str, path: Path) -> None:
        self._path = path
        self._draft = Draft(text)
        root = parse(text)
        self._sections = root.pairs if root else []
        self._root = root
        self._grown: dict[tuple[int, Key], tuple[Node, Node | None, _New]] = {}
        self._added: dict[str, _New] = {}
        self._anchors = set(re.findall(r"&(\w+)", text))

    def index(self, section: str) -> tuple[str, ...] | None:
        """The index of a section, ``None`` if there is no such section."""
        found = self._section(section)
        if found is None:
            return None
        pair = found.own(INDEX)
        return tuple(item.text or "" for item in pair[1].items) if pair else ()

    def extend_index(self, section: str, name: str) -> None:
        """Let the index of a section end with one more name; entries so far fit all its values."""
        found = self._section(section)
        index = self.index(section)
        if found is None or index is None:
            return
        _, listed = next(pair for pair in found.pairs if pair[0].text == INDEX)
        self._draft.replace(listed.start, listed.end, f"[{', '.join([*index, name])}]")
        level = [found]
        for _ in index[:-1]:
            level = [v for each in level for k, v in each.pairs if k.text not in (INDEX, MERGE)]
        for parent in level:
            for key, value in parent.pairs:
                if key.text not in (INDEX, MERGE) and value.target is None:
                    self._wrap(key, value, in_braces=parent.flow)

    def _wrap(self, key: Node, value: Node, *, in_braces: bool) -> None:
        draft = self._draft
        if in_braces:
            draft.replace(value.start, value.start, "{.*: ")
            draft.replace(value.end, value.end, "}")
            return
        pad = " " * (draft.column(key) + INDENT)
        draft.replace(value.colon, value.colon, f"\n{pad}.*:")
        at = draft.text.find("\n", value.colon)
        while 0 <= at < value.end:
            if draft.text[at + 1 : at + 2] != "\n":
                draft.replace(at + 1, at + 1, " " * INDENT)
            at = draft.text.find("\n", at + 1)

    def write(self, section: str, path: Sequence[Key], entry: Entry) -> None:
        """Give a case the keys of an entry; others that it has stay.

        Known failures stay, and of what says the same already nothing is changed.

        Args:
            section: name of the section.
            path: keys of the case, one for each name of the section's index.
            entry: what to write.
        """
        node = self._section(section)
        if node is None:
            self._fill(self._added.setdefault(section, _New()), None, path, entry)
            return
        for depth, key in enumerate(path):
            pair = node.own(str(key))
            if pair is None or pair[1].target:
                known = (id(node), key)
                alias = pair[1] if pair else None
                new = self._grown.setdefault(known, (node, alias, _New()))[2]
                self._fill(new, node.lookup(str(key)), path[depth + 1 :], entry)
                return
            node = pair[1]
            if node.shared:
                line = self._draft.line(node)
                raise FabricheckError(
                    f"{self._path}: line {line}: expected an entry of its own for "
                    f"{' > '.join(map(str, path))}, found one that others share by the anchor "
                    f"&{node.anchor}: write it apart first"
                )
        self._update(node, entry)

    def remove(self, section: str, path: Sequence[Key], key: str) -> None:
        """Remove a key of an entry, if it has it itself."""
        node = self._section(section)
        for each in path:
            pair = node.own(str(each)) if node else None
            node = pair[1] if pair and not pair[1].target else None
        if node and node.own(key):
            self._draft.remove(node, key)

    def result(self) -> str:
        """The text with all changes."""
        for (_, key), (node, alias, new) in self._grown.items():
            if alias is None:
                self._draft.append(node, new.lines(key), new.flow(key))
            elif node.flow:
                self._draft.replace(alias.start, alias.end, new.flow(key).partition(": ")[2])
            else:
                pad = "\n" + " " * (self._draft.column(node.pairs[0][0]))
                self._draft.replace(alias.start, alias.end, pad + pad.join(new.lines(key)[1:]))
        text = self._draft.result()
        for section, new in self._added.items():
            new.entry[INDEX] = f"[{', '.join(NEW_INDEX)}]"
            text = text.rstrip("\n") + "\n" * (2 if text.strip() else 0)
            text += "\n".join(new.lines(section)) + "\n"
        return text

    def _section(self, name: str) -> Node | None:
        pair = self._root.own(name) if self._root else None
        return pair[1] if pair else None

    def _fill(self, new: _New, fallback: Node | None, keys: Sequence[Key], entry: Entry) -> None:
        """Write an entry below a key that is new.

        A new key hides the pattern that fitted so far. What the pattern has for other cases is
        merged in, so that they keep it.
        """
        for key in keys:
            if fallback and fallback.pairs:
                new.merge = self._anchor(fallback)
            fallback = fallback.lookup(str(key)) if fallback else None
            new = new.keys.setdefault(key, _New())
        new.entry.update(entry)

    def _anchor(self, node: Node) -> str:
        """The anchor of a mapping, which gets one if it has none."""
        if not node.anchor:
            number = 1
            while (name := f"others{number}") in self._anchors:
                number += 1
            node.anchor = name
            self._anchors.add(name)
            self._draft.replace(node.colon, node.colon, f" &{name}")
        return node.anchor

    def _update(self, node: Node, entry: Entry) -> None:
        for name, value in entry.items():
            pair = node.own(name)
            if pair is None:
                self._draft.append(node, [f"{name}: {value}"], f"{name}: {value}")
                continue
            meant = pair[1].meant
            text = self._draft.text[meant.start : meant.end]
            # Most are as they were, and need not be understood.
            if text == value:
                continue
            old = yaml.safe_load(text)
            known_failure = isinstance(old, list) and old[:1] == [_XFAIL]
            if not known_failure and old != yaml.safe_load(value):
                self._draft.replace(pair[1].start, pair[1].end, value)
