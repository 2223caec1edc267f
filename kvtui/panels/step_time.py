"""Time per step against context length: cached and not, both axes logarithmic, drawn by plotext."""

import math
import re
from collections.abc import Sequence

import plotext
from textual.content import Content

from kvtui.panels.panel import Panel, View
from kvtui.snapshot import BaselineMode, Snapshot
from kvtui.visual import CACHED, DIM, UNCACHED, Look

plotext.terminal.limit(False, False)  # a chart is as large as its panel, not as the terminal was once

# plotext paints with colour numbers; these stand for styles of the theme until the text is made.
COLOURS = {1: CACHED.style, 2: UNCACHED.style, 3: "$accent", 8: DIM}
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
ASCII_FRAME = str.maketrans("┌┐└┘├┤┬┴┼─│", "+++++++++-|")
Points = Sequence[tuple[float, float]]  # context length, milliseconds


class StepTimePanel(Panel):
    def title(self, view: View) -> str:
        return "Time per step"

    def subtitle(self, view: View) -> str:
        return f"ms against characters seen {view.look.dot} both axes logarithmic"

    def lines(self, view: View, width: int, height: int) -> list[Content]:
        snapshot, look = view.snapshot, view.look
        series = [
            (f"{look.mark(CACHED)} cached", 1, _cached(snapshot)),
            (f"{look.mark(UNCACHED)} 128 rows", 2, _uncached(snapshot, BaselineMode.BLOCKED)),
            (f"{'@' if look.ascii else '◌'} all at once", 3, _uncached(snapshot, BaselineMode.ALL)),
        ]
        recomputed = [(s.position, s.seconds) for s in snapshot.steps if s.recomputed]
        if recomputed:
            middle = sorted(seconds for _, seconds in recomputed)[len(recomputed) // 2]
            series.append(("recomputed", 2, [(snapshot.model.block_size, middle * 1e3)]))
        legend = Content("  ").join(
            [Content.styled(name, COLOURS[colour] if points else DIM) for name, colour, points in series]
        )
        if height < 5 or width < 20:
            return [legend]
        limit = snapshot.model.block_size
        return [legend, *chart([(c, p) for _, c, p in series], limit, width, height - 1, look)]


def _cached(snapshot: Snapshot) -> Points:
    return [(step.position, step.seconds * 1e3) for step in snapshot.steps if not step.recomputed]


def _uncached(snapshot: Snapshot, mode: BaselineMode) -> Points:
    limit = snapshot.model.block_size
    baselines = [(min(s.position, limit), s.baseline) for s in snapshot.steps if s.baseline]
    return [(position, b.seconds * 1e3) for position, b in baselines if b.mode is mode]


def chart(
    series: Sequence[tuple[int, Points]], limit: int, width: int, height: int, look: Look
) -> list[Content]:
    """A log-log chart of coloured series, the model's limit marked, as lines of styled text.

    Points that a logarithm cannot show (zero, infinite, NaN) are left out.
    """
    shown = [(colour, _log10(points)) for colour, points in series]
    figure = plotext.figure
    figure.clear.all()
    figure.plot_size(width, height)
    figure.canvas("default")
    figure.axes(pixel=plotext.pixel(foreground=8))
    x_low, x_high = math.log10(_lowest(shown, 0, 8)), math.log10(limit * 1.25)
    y_low, y_high = _decades(shown)
    for axis, low, high, ticks in (
        ("x", x_low, x_high, _x_ticks(10**x_low, limit)),
        ("y", y_low, y_high, [10.0**i for i in range(y_low, y_high + 1)]),
    ):
        ruler = figure.ruler(axis, "lower" if axis == "x" else "left")
        ruler.lim(low, high)
        ruler.ticks([math.log10(tick) for tick in ticks], [f"{tick:,.12g}" for tick in ticks])
        ruler.pixel(plotext.pixel(foreground=8))
    figure.line(math.log10(limit), orientation="vertical", pixel=plotext.pixel(foreground=8))
    marker = "*" if look.ascii else "braille"
    for colour, points in shown:
        if points:
            xs, ys = zip(*points, strict=True)
            signal = figure.signal(
                list(xs), list(ys), marker=plotext.marker(marker, pixel=plotext.pixel(foreground=colour))
            )
            figure.draw(signal)
    text = str(figure.build())
    return [_restyled(line) for line in (text.translate(ASCII_FRAME) if look.ascii else text).splitlines()]


def _log10(points: Points) -> Points:
    return [(math.log10(x), math.log10(y)) for x, y in points if 0 < x < math.inf and 0 < y < math.inf]


def _lowest(series: Sequence[tuple[int, Points]], axis: int, otherwise: float) -> float:
    values = [10 ** point[axis] for _, points in series for point in points]
    return min([otherwise, *values])


def _decades(series: Sequence[tuple[int, Points]]) -> tuple[int, int]:
    """Whole powers of ten around all points: at least two decades."""
    values = [y for _, points in series for _, y in points] or [0.0]
    low, high = math.floor(min(values)), math.ceil(max(values))
    return low, max(high, low + 2)


def _x_ticks(low: float, limit: int) -> list[float]:
    ticks = [float(2**i) for i in range(0, 20, 2) if low <= 2**i < limit / 1.7]
    return [*ticks, float(limit)]


def _restyled(line: str) -> Content:
    """A line of plotext's, its colour numbers turned into the theme's styles."""
    parts: list[tuple[str, str]] = []
    style = ""
    for i, piece in enumerate(ESCAPE.split(line)):
        if i % 2:
            codes = piece.split(";")
            if codes[:2] == ["38", "5"]:
                style = COLOURS.get(int(codes[2]), DIM)
            elif codes == ["0"]:
                style = ""
        elif piece:
            parts.append((piece, style))
    return Content.assemble(*parts)
