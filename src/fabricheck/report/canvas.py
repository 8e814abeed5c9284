"""What all charts of the page share: colours, an empty figure, and how it looks."""

from typing import Any

from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.plotting import figure
from bokeh.resources import Resources

HEIGHT = 320

# Colours with a contrast of at least 3:1 on the page's light and dark grounds.
SERIES_COLORS = ("#2f7fc1", "#d4622a", "#17967f", "#9166cc", "#c2477f", "#85801a")
MARKERS = ("circle", "square", "inverted_triangle", "hex", "diamond", "star")
NEUTRAL = "#7a7f87"
GOOD, WARNING, CRITICAL, UNKNOWN = "#2e9e5b", "#c98a00", "#d43d3d", "#a050c0"


def library() -> str:
    """Bokeh's own script, whole: what a page needs to draw charts with no network."""
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def canvas(**options: Any) -> Any:
    """An empty figure as wide as its place on the page, without tools of its own."""
    return figure(
        height=HEIGHT,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=NEUTRAL,
        **options,
    )


def finish(plot: Any, target: str) -> dict[str, Any]:
    """The figure as a document that Bokeh draws into the element ``target``."""
    for axis in (*plot.xaxis, *plot.yaxis):
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = NEUTRAL
        axis.axis_label_text_color = axis.major_label_text_color = NEUTRAL
        axis.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color = NEUTRAL
    plot.grid.grid_line_alpha = 0.2
    for renderer in plot.renderers:
        # Nothing can be selected or muted: the glyphs for it would only make the page larger.
        renderer.nonselection_glyph = renderer.muted_glyph = None
    return dict(json_item(plot, ID(target)))
