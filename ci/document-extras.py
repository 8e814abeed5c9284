#!/usr/bin/env python3
"""Write the tables of extras in docs/reference/sites.md from the classes that read them.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-extras.py
"""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras, Section
from fabricheck.transports.families import MPIS
from generated import write_or_check

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "sites.md"
_KEY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def meanings(section: Section) -> Iterator[tuple[str, str, str]]:
    """Name, meaning and default of each key; those of numbers are the code's."""
    words = dict(_KEY.findall(inspect.getdoc(type(section)) or ""))
    for name, value in asdict(section).items():
        meaning, _, default = " ".join(words[name].split()).partition(" Default: ")
        yield name, meaning.removesuffix("."), default or _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return f"`{{{', '.join(f'{key}: {_shown(each)}' for key, each in value.items())}}}`"
    return f"{value:g}" if isinstance(value, float) else ""


def main() -> int:
    """Write or check."""
    partition = ["| extra | meaning | default |", "|---|---|---|"]
    partition += [
        f"| `{name}` | {words} | {value} |" for name, words, value in meanings(PartitionExtras())
    ]
    environment = ["| extra | meaning |", "|---|---|"]
    families = ", ".join(f"`{name}`" for name in MPIS)
    environment += [
        f"| `{name}` | {words.replace('MPIS', families)} |"
        for name, words, _ in meanings(EnvironmentExtras())
    ]
    tables = ["\n".join(partition), "\n".join(environment)]
    return write_or_check(__doc__, DOCUMENT, "ci/document-extras.py", tables)


if __name__ == "__main__":
    sys.exit(main())
