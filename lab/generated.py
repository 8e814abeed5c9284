"""Tables that a command writes into a page of the documentation, between two marks."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.report.files import write_whole

END = "<!-- to here -->"


def begin(command: str) -> str:
    """The mark before a table."""
    return f"<!-- from here: {command} -->"


def insert(text: str, command: str, tables: Sequence[str], page: Path) -> str:
    """A page with other tables between its marks.

    Args:
        text: the page as it is.
        command: what writes the tables, as the mark names it.
        tables: one for each pair of marks, in their order.
        page: its path, for the message.

    Raises:
        FabricheckError: if the page has more or fewer places than there are tables.
    """
    before, *places = text.split(begin(command))
    after = [place.partition(END) for place in places]
    if len(places) != len(tables) or not all(end for _, end, _ in after):
        raise FabricheckError(
            f"expected {begin(command)!r}, each followed by {END!r}, {len(tables)} times in "
            f"{page}, found them not so: put them back"
        )
    written = (
        f"{begin(command)}\n\n{table.strip()}\n\n{END}{rest}"
        for table, (_, _, rest) in zip(tables, after, strict=True)
    )
    return before + "".join(written)


def write_or_check(description: str, page: Path, command: str, tables: Sequence[str]) -> int:
    """The main function of a command that writes tables from the code.

    Args:
        description: the text of ``--help``.
        page: path of the page.
        command: what the marks name.
        tables: as in `insert`.

    Returns:
        The exit code: 1 where ``--check`` finds the page out of date.
    """
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    text = page.read_text()
    try:
        written = insert(text, command, tables, page)
    except FabricheckError as error:
        sys.stderr.write(f"{command}: {error}\n")
        return error.exit_code
    if not options.check:
        write_whole(page, written)
    elif written != text:
        sys.stderr.write(f"{page} is out of date: run {command}\n")
        return 1
    return 0
