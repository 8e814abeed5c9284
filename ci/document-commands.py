#!/usr/bin/env python3
"""Write docs/reference/commands.md from what the commands say of themselves.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-commands.py
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import typer.main

from fabricheck.cli.application import build
from generated import write_or_check

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"
WIDTH = 100


Row = tuple[str, str]
"""An option as it is typed, and its meaning."""


def section(command: Any, context: Any, common: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """A command, and those below it."""
    if command.name == "testbed":
        about, names = command.help.rstrip("."), ", ".join(command.list_commands(context))
        yield from ("", "### testbed", "")
        yield wrapped(f"{about}: {names} ([testbed.md](testbed.md)).", "")
        return
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from section(*below(command, context, name), common)
        return
    yield from ("", f"### {context.command_path.partition(' ')[2]}", "", *words(command.help or ""))
    yield from listed(rows(command, context), common)


def grouped(app: Any, context: Any, common: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """The commands, each group as ``--help`` has it below its heading."""
    groups: dict[str, list[str]] = {}
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        panel = getattr(command, "rich_help_panel", None)
        groups.setdefault(panel if isinstance(panel, str) else "Commands", []).append(name)
    for panel, names in groups.items():
        yield f"## {panel}"
        for name in names:
            yield "\n".join(section(*below(app, context, name), common)).strip()


def every_row(command: Any, context: Any) -> Iterator[Row]:
    """The options of a command, and of those below it."""
    if command.name == "testbed":
        return
    if not hasattr(command, "list_commands"):
        yield from rows(command, context)
        return
    for name in command.list_commands(context):
        yield from every_row(*below(command, context, name))


def below(group: Any, context: Any, name: str) -> tuple[Any, Any]:
    """A command of a group, with its context."""
    own = group.get_command(context, name)
    return own, type(context)(own, parent=context, info_name=name)


def words(text: str) -> Iterator[str]:
    """What a command does, and what its verdicts are; --help has the examples."""
    about, *more = text.replace("\b\n", "").partition("Examples:")[0].strip().split("\n\n")
    codes = " ".join(" ".join(each.split()) for each in more if each.startswith("Exit code"))
    meanings = re.findall(r"\b(\d): (.+?)(?= (?:Exit code )?\d: |$)", codes)
    verdicts = [f"{code}: {when}" for code, when in meanings if code in "13"]
    yield about
    if verdicts:
        yield from ("", wrapped(f"Exit code {' '.join(verdicts)}", ""))


def listed(given: Sequence[Row], common: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Arguments and options; those that several commands have alike by name alone."""
    alike = [row for row in given if row in common.get(key_of(row), ())]
    own = [row for row in given if row not in alike]
    alike = [row for row in alike if row[0] != "--json"]  # Nearly all commands have it.
    if own or alike:
        yield ""
    yield from map(item, own)
    if alike:
        yield wrapped(f"- {', '.join(f'`{key_of(row)}`' for row in alike)}")


def key_of(row: Row) -> str:
    """The name of an option, without its value."""
    return row[0].split()[0]


def item(row: Row) -> str:
    """An option as a line of a list."""
    return wrapped(f"- `{row[0]}`: {row[1]}")


def wrapped(line: str, indent: str = "  ") -> str:
    """Text as wide as it may be; of a list, unless said otherwise."""
    return fill(
        line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def rows(command: Any, context: Any) -> list[Row]:
    """Name and meaning of each argument and option."""
    found = []
    for parameter in command.get_params(context):
        if parameter.param_type_name == "option":
            if parameter.hidden or "--help" in parameter.opts:
                continue
            name, text = ", ".join(parameter.opts), parameter.help or ""
            metavar = "" if parameter.is_flag else f" {value_of(parameter)}"
        else:
            name, metavar = value_of(parameter), ""
            text = getattr(parameter, "help", None) or ""
        if text:
            meaning = f"{brief(cell(text))}{default(parameter)}."
            found.append((cell(name + metavar), meaning))
    return found


def value_of(parameter: Any) -> str:
    """What stands for the value of a parameter."""
    return str(parameter.metavar or parameter.name.upper())


def default(parameter: Any) -> str:
    """The default of a parameter, if it has one to tell; nothing that this machine says."""
    shown = getattr(parameter, "show_default", None)
    value = shown if isinstance(shown, str) else parameter.default
    if shown is False or value in (None, False, True, "", [], ()) or callable(value):
        return ""
    return f" (`{Path(value).name if isinstance(value, Path) else value}`)"


def brief(text: str) -> str:
    """The first sentence, without what follows a semicolon: --help has the rest."""
    return re.split(r"; |(?<=\w)\. (?=[A-Z])", text)[0].rstrip(".")


def cell(text: str) -> str:
    """Text on one line."""
    return " ".join(text.split())


def main() -> int:
    """Write or check."""
    app: Any = typer.main.get_command(build([]))
    context = app.make_context("fabricheck", ["run"])
    counted = Counter(every_row(app, context))
    common: dict[str, list[Row]] = {}
    for row, count in counted.most_common():
        if count > 1:
            common.setdefault(key_of(row), []).append(row)
    sections = list(grouped(app, context, common))
    options = [
        item((rows[0][0], " Or: ".join(text for _, text in rows))) for rows in common.values()
    ]
    tables = ["\n".join(options), "\n\n".join(sections)]
    return write_or_check(__doc__, DOCUMENT, "ci/document-commands.py", tables)


if __name__ == "__main__":
    sys.exit(main())
