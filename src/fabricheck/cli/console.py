"""Standard output for text with styles, and its tables."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.table import Table

from fabricheck.cli.output import visible

WIDTH: Final = 100
"""Columns of an output that is not a terminal."""


class _WithoutControl:
    """A renderable whose text holds no control character: colours are ours alone."""

    def __init__(self, shown: ConsoleRenderable) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._shown, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_WithoutControl(each) for each in renderables]


def open_console(width: int = WIDTH) -> Console:
    """Standard output, where brackets are text and no markup.

    Args:
        width: columns of an output that is no terminal.
    """
    found = Console(highlight=False, markup=False)
    if not found.is_terminal:
        found = Console(highlight=False, markup=False, width=width)
    found.push_render_hook(_Hook())
    return found


def open_table(left: Sequence[str], right: Sequence[str] = ()) -> Table:
    """A table without lines: columns of text, then columns of figures."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in (*left, *right):
        table.add_column(head, justify="right" if head in right else "left")
    return table
