"""Strips: a place on a line for each entry of a cache, its shade or its height a number."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.content import Content
from textual.strip import Strip

from kvtui.panels.panel import Line, Panel, joined
from kvtui.visual import BRIGHT, DIM, Look

LABEL = 10  # cells in front of a strip: "layer 0 K "
SHADES = 24
EMPTY, MARKED = SHADES, SHADES + 1  # shades of their own


class Shades:
    """The cells of a heat strip. A shade is a level from 0 on, or EMPTY, or MARKED."""

    def __init__(self, colours: list[Color]) -> None:
        self._colours = [colour.rich_color for colour in colours]
        self._cells: dict[tuple[int, int], Segment] = {}

    @classmethod
    @cache
    def between(cls, background: str, colour: str, foreground: str) -> "Shades":
        """The steps from a theme's background to one of its colours."""
        ground, full, text = map(Color.parse, (background, colour, foreground))
        levels = [ground.blend(full, 0.18 + 0.82 * i / (SHADES - 1)) for i in range(SHADES)]
        return cls([*levels, ground.blend(text, 0.13), text])

    def cell(self, left: int, right: int) -> Segment:
        """A cell whose halves have these shades. Each is made once."""
        if (cell := self._cells.get((left, right))) is None:
            style = RichStyle.from_color(self._colours[left], self._colours[right])
            cell = self._cells[left, right] = Segment(" " if left == right else "▌", style)
        return cell


class StripLayout:
    """How the places of a cache are laid out on a line: cells for each, or places for each cell."""

    def __init__(self, capacity: int, per_bin: int, cells_per_bin: float) -> None:
        self.capacity, self.per_bin, self.cells_per_bin = capacity, per_bin, cells_per_bin
        self.bins = -(-capacity // per_bin)
        self.cells = math.ceil(self.bins * cells_per_bin)

    @classmethod
    def fit(cls, capacity: int, width: int, look: Look) -> "StripLayout":
        """The finest layout that fits: whole cells, half cells (two colours in one), then bins."""
        width = max(1, width)
        if capacity <= width:
            return cls(capacity, 1, width // capacity)
        halves = 1 if look.ascii or not look.shades else 2
        per_bin = -(-capacity // (width * halves))
        return cls(capacity, per_bin, 1 / halves)

    def column(self, position: int) -> int:
        """The cell in which a position is drawn."""
        return int(position // self.per_bin * self.cells_per_bin)

    def heat(self, levels: np.ndarray, shades: Shades, marked: int | None = None) -> Strip:
        """Shades of levels (stored,) from 0 to 1, one place marked."""
        binned = self._binned(levels)
        numbers = np.where(np.isnan(binned), EMPTY, np.nan_to_num(binned) * (SHADES - 1)).astype(int)
        if marked is not None:
            numbers[marked // self.per_bin] = MARKED
        halves: list[int] = np.repeat(numbers, round(2 * self.cells_per_bin)).tolist()
        halves += [EMPTY] * (len(halves) % 2)
        cells = map(shades.cell, halves[::2], halves[1::2])
        return Strip(cells, self.cells).simplify()

    def heights(self, levels: np.ndarray, look: Look, style: str, marked: int | None = None) -> Content:
        """The same as a bar for each bin, in one colour."""
        at = None if marked is None else marked // self.per_bin
        parts: list[tuple[str, str]] = []
        steps = look.heights
        for i, level in enumerate(self._binned(levels)):
            glyph = look.empty if np.isnan(level) else steps[int(level * (len(steps) - 1))]
            colour = BRIGHT if i == at else DIM if np.isnan(level) else style
            parts.append((glyph * max(1, int(self.cells_per_bin)), colour))
        return joined(parts)

    def _binned(self, levels: np.ndarray) -> np.ndarray:
        """Mean level of each bin; NaN where a bin holds nothing."""
        padded = np.full(self.bins * self.per_bin, np.nan)
        padded[: len(levels)] = levels
        bins = padded.reshape(self.bins, self.per_bin)
        stored = ~np.isnan(bins)
        counts = stored.sum(axis=1)
        sums = np.where(stored, bins, 0.0).sum(axis=1)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


class StripPanel(Panel):
    """A panel that draws strips."""

    def strips(
        self,
        label: str,
        levels: np.ndarray,
        layout: StripLayout,
        look: Look,
        colour: str,
        marked: int | None = None,
        after: Content | None = None,
        tall: int = 1,
    ) -> list[Line]:
        """One strip of levels from 0 to 1, in a colour of the theme, as so many lines.

        Shades are made as colours at once: hundreds of styled cells would cost ten times as much as text.
        """
        strip = self.strip(self.strip_of(levels, layout, look, colour, marked))
        before, blank = (self.strip(Content.styled(f"{text:{LABEL}}", DIM)) for text in (label, ""))
        first = Strip.join([before, strip, *([self.strip(after)] if after else [])])
        return [first, *[Strip.join([blank, strip])] * (tall - 1)]

    def strip_of(
        self, levels: np.ndarray, layout: StripLayout, look: Look, colour: str, marked: int | None = None
    ) -> Line:
        """Levels as shades; as heights where a look has no shades."""
        if look.ascii or not look.shades:
            return layout.heights(levels, look, f"${colour}", marked)
        variables = self.app.theme_variables
        shades = Shades.between(variables["background"], variables[colour], variables["foreground"])
        return layout.heat(levels, shades, marked)


def lines_of(glyphs: Sequence[str], width: int) -> tuple[int, list[slice]]:
    """How many cells each of some characters takes, all alike, and the parts that fit a line each."""
    cells = max(1, *map(cell_len, glyphs))
    per_line = max(1, width // cells)
    return cells, [slice(start, start + per_line) for start in range(0, len(glyphs), per_line)]


def relative(numbers: np.ndarray) -> np.ndarray:
    """Numbers scaled so that the smallest is 0 and the largest 1."""
    if not len(numbers):
        return numbers
    low, high = numbers.min(), numbers.max()
    return (numbers - low) / (high - low) if high > low else np.full(numbers.shape, 0.5)


def ticks(capacity: int) -> list[int]:
    quarter = capacity // 4
    return [*range(0, capacity - quarter // 2, quarter), capacity - 1] if quarter else [0, capacity - 1]


def row(layout: StripLayout, label: str, at: list[tuple[int, str, str]]) -> Content:
    """A line of labels, each beginning at the cell of its position; one that would overlap is left out."""
    parts: list[tuple[str, str]] = [(f"{label:{LABEL}}", DIM)]
    end = 0
    for position, text, style in at:
        column = min(layout.column(position), max(0, layout.cells - len(text)))
        if column >= end + bool(end):
            parts += [(" " * (column - end), ""), (text, style)]
            end = column + len(text)
    return Content.assemble(*parts)
