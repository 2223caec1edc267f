"""A chart of times against context lengths, both axes logarithmic, drawn by plotext."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kvtui import visual
from kvtui.visual import Look

CACHED, BLOCKED, ALL, FRAME = 1, 2, 3, 8  # the colour numbers of series, and of axes and labels
IDEAS = {CACHED: visual.CACHED, BLOCKED: visual.UNCACHED, ALL: visual.ALL_AT_ONCE}
ASCII_FRAME = str.maketrans("┌┐└┘├┤┬┴┼─│", "+++++++++-|")
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")

Points = Sequence[tuple[float, float]]  # context length, milliseconds


@dataclass(frozen=True)
class Series:
    colour: int
    points: Points
    curve: bool = False  # its points joined by lines


def chart(
    series: Sequence[Series], limit: int, width: int, height: int, look: Look | None = None
) -> list[str]:
    """A log-log chart, the model's limit marked, as lines of text with colour codes.

    Points that a logarithm cannot show (zero, infinite, NaN) are left out.
    """
    import plotext  # here, because it takes longer to import than all else together

    look = look or Look()
    plotext.terminal.limit(False, False)  # a chart is as large as it is asked for, not as the terminal
    shown = [Series(s.colour, _log10(s.points), s.curve) for s in series]
    shown = [s for s in shown if s.points]
    grey = plotext.pixel(foreground=FRAME)
    figure = plotext.figure
    figure.clear.all()
    figure.plot_size(width, height)
    figure.canvas("default")
    figure.axes(pixel=grey)
    for axis, side, (low, high), ticks in (
        ("x", "lower", *_x_axis(shown, limit)),
        ("y", "left", *_y_axis(shown, height)),
    ):
        ruler = figure.ruler(axis, side)
        ruler.lim(low, high)
        ruler.ticks([math.log10(tick) for tick in ticks], [f"{tick:,.12g}" for tick in ticks])
        ruler.pixel(grey)
    figure.line(math.log10(limit), orientation="vertical", pixel=grey)
    for s in shown:
        pixel = plotext.pixel(foreground=s.colour)
        xs, ys = map(list, zip(*s.points, strict=True))
        mark = plotext.marker(look.mark(IDEAS[s.colour]), pixel=pixel)
        fine = plotext.marker("." if look.ascii else "braille", pixel=pixel)
        signal = figure.signal(xs, ys, marker=fine if look.colours or s.curve else mark)
        figure.draw(signal.lines(True) if s.curve and len(xs) > 1 else signal)
        figure.draw(figure.signal(xs[-1:], ys[-1:], marker=mark))  # the last one says what it is
    text = str(figure.build())
    return (text.translate(ASCII_FRAME) if look.ascii else text).splitlines()


def without_colours(line: str) -> str:
    return ESCAPE.sub("", line)


def _log10(points: Points) -> Points:
    return [(math.log10(x), math.log10(y)) for x, y in points if 0 < x < math.inf and 0 < y < math.inf]


Axis = tuple[tuple[float, float], list[float]]  # its ends, as logarithms; and its ticks


def _x_axis(series: Sequence[Series], limit: int) -> Axis:
    """From the first point, or 8, to a little past the limit and the last point; ticks at powers of 4."""
    positions = [x for s in series for x, _ in s.points]
    low = min([math.log10(8), math.log10(limit), *positions])
    high = max([math.log10(limit), *positions]) + 0.1
    ticks = [float(4**i) for i in range(12) if low <= math.log10(4**i) <= high]
    apart = [tick for tick in ticks if abs(math.log10(tick / limit)) > 0.25]
    return (low, high), sorted([*apart, float(limit)])


def _y_axis(series: Sequence[Series], height: int) -> Axis:
    """Whole powers of ten around all points, at least two decades; ticks that have a row of their own."""
    values = [y for s in series for _, y in s.points] or [0.0]
    low, high = math.floor(min(values)), math.ceil(max(values))
    high = max(high, low + 2)
    every = math.ceil((high - low) / max(1, height - 4))
    return (low, high), [10.0**i for i in range(low, high + 1, every)]
