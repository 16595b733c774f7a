"""Plots as SVG: small, with text as text, and the same bytes for the same figures."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from bench.replay.document import Plot

if TYPE_CHECKING:  # importing matplotlib takes most of a second, so it is imported when a plot is drawn
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
INCHES = (7.2, 3.4)
BARS = 0.8
"""Share of a name's room that all its bars take together."""
FEW = 12
"""Up to so many points are marked, and up to so many names are not slanted."""
REFERENCE = "0.45"
"""The grey of what was not measured."""


def svg(plot: Plot) -> bytes:
    """The plot as a file."""
    import matplotlib.figure  # noqa: PLC0415 (as above)

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": plot.name}):
        figure = matplotlib.figure.Figure(figsize=INCHES, layout="constrained")
        axes = figure.add_subplot()
        (_bars if plot.kind == "bars" else _lines)(axes, plot)
        axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
        if "x" in plot.logarithmic:
            axes.set_xscale("log")
            _plain_figures(axes.xaxis)
        if "y" in plot.logarithmic:
            axes.set_yscale("log")
            _plain_figures(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        if len(plot.series) > 1 and plot.kind == "bars":
            figure.legend(loc="outside lower center", ncols=len(plot.series))  # the names need the whole width
        elif len(plot.series) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _plain_figures(axis: Axis) -> None:
    """Have a logarithmic axis show figures such as 1,000, not powers of ten."""
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415 (as above)

    axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))


def _lines(axes: Axes, plot: Plot) -> None:
    for series in plot.series:
        points: list[tuple[Any, float]] = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        look: dict[str, Any] = {"linestyle": "--", "color": REFERENCE} if series.dashed else {}
        look |= {"marker": "o", "markersize": 3} if len(points) <= FEW else {}
        axes.plot([x for x, _ in points], [y for _, y in points], label=series.name, **look)


def _bars(axes: Axes, plot: Plot) -> None:
    """Draw names in the order of the first series, each with the bars of all series side by side."""
    names = [str(name) for name in plot.series[0].x]
    width = BARS / len(plot.series)
    for place, series in enumerate(plot.series):
        left = [number + width * (place + 0.5) - BARS / 2 for number in range(len(names))]
        colour = REFERENCE if series.dashed else None
        axes.bar(left, [value or 0.0 for value in series.y], width, label=series.name, color=colour)
    crowded: dict[str, Any] = {"rotation": 45, "fontsize": 7} if len(names) > FEW else {}
    axes.set_xticks(range(len(names)), names, **crowded)
    axes.margins(x=0.01)
    axes.grid(visible=False, axis="x")
