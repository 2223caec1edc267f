"""What the KV cache holds: a strip of keys and one of values for every layer, a place per position."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.content import Content
from textual.strip import Strip

from kvtui.figures import binary_size, count, percent
from kvtui.panels.panel import Line, Panel, View, joined
from kvtui.snapshot import CacheContent
from kvtui.visual import BRIGHT, DIM, POLICY_IDEAS, Look

LABEL = 10  # cells in front of a strip: "layer 0 K "
SCALE = 20  # cells behind it, for the range of the norms
KEYS, VALUES = "success", "secondary"  # colours of the theme
SHADES, TALLEST = 24, 4
EMPTY, NEWEST = SHADES, SHADES + 1


class CachePanel(Panel):
    def patience(self, view: View) -> float:
        """Strips are what is dearest to send to a terminal. Past the limit, every cell of them changes."""
        return (0.5 if view.snapshot.past_limit else 0.25) if view.running else 0

    def show(self, view: View) -> None:
        super().show(view)
        if self._waiting:
            self._repaint()  # the figures in the title do not wait

    def title(self, view: View) -> str:
        snapshot, dot = view.snapshot, view.look.dot
        per_token = snapshot.model.bytes_per_token
        stored, capacity = snapshot.cache.stored, snapshot.model.block_size
        title = f"KV cache {dot} {stored:,} of {capacity:,} positions {dot} "
        title += f"{binary_size(stored * per_token)} of {binary_size(capacity * per_token)}"
        return title + (f" {dot} {view.shown_beside[-1].name}" if view.shown_beside else "")

    def subtitle(self, view: View) -> str:
        look = view.look
        more = "denser" if look.ascii else "stronger" if look.shades else "higher"
        return f"{more}: larger norm, each strip on its own scale"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        capacity = snapshot.model.block_size
        content = view.shown_beside[-1].cache if view.shown_beside else snapshot.cache
        layout = StripLayout.fit(capacity, width - LABEL, look)
        with_scale = StripLayout.fit(capacity, width - LABEL - SCALE, look)
        if with_scale.per_bin == layout.per_bin:  # every position still has a place of its own
            layout = with_scale
        below = [_row(layout, "position", [(tick, str(tick), DIM) for tick in _ticks(capacity)])]
        if view.shown_beside:
            idea = POLICY_IDEAS[view.shown_beside[-1].name]
            below.append(_baked(layout, content.positions, idea.style))
        facts = _facts(view)
        facts_width = max(fact.cell_length for fact in facts)
        rows = 2 * snapshot.model.n_layer
        beside = width >= LABEL + layout.cells + SCALE + facts_width and rows >= len(facts)
        if not beside and height > rows + len(below):
            below.append(Content(f" {look.dot} ").join(facts))
        layers, room = snapshot.model.n_layer, height - len(below)
        tall = max(1, min(TALLEST, (room - layers + 1) // (2 * layers)))  # lines for each strip
        strips = self._strips(content, layout, look, width, facts if beside else [], tall)
        return [*_fitted(strips, layers, room), *below]

    def _strips(
        self,
        content: CacheContent,
        layout: "StripLayout",
        look: Look,
        width: int,
        facts: list[Content],
        tall: int,
    ) -> list[Line]:
        """Lines for the keys of each layer and for its values: the range of their norms, and facts.

        Shades are made as colours at once: hundreds of styled cells would cost ten times as much as text.
        """
        lines: list[Line] = []
        for layer in range(content.keys.shape[0]):
            for letter, norms, colour in (
                ("K", content.keys[layer], KEYS),
                ("V", content.values[layer], VALUES),
            ):
                label = f"layer {layer}" if letter == "K" else ""
                before = Content.styled(f"{label:8}{letter} ", DIM)
                after = Content.styled(_scale(norms, letter, width - LABEL - layout.cells), DIM)
                if len(lines) // tall < len(facts):
                    fact = facts[len(lines) // tall]
                    after = Content.assemble(after, " " * (SCALE - after.cell_length), fact)
                if look.ascii or not look.shades:
                    heights = layout.heights(norms, look, colour)
                    lines.append(before + heights + after)
                    lines += [Content(" " * LABEL) + heights] * (tall - 1)
                else:
                    heat = layout.heat(norms, self._shades(colour))
                    lines.append(Strip.join([self.strip(before), heat, self.strip(after)]))
                    blank = self.strip(Content(" " * LABEL))
                    lines += [Strip.join([blank, heat])] * (tall - 1)
        return lines

    def _shades(self, colour: str) -> "Shades":
        variables = self.app.theme_variables
        return Shades.between(variables["background"], variables[colour], variables["foreground"])


class Shades:
    """The cells of a heat strip. A shade is a level from 0 on, or EMPTY, or NEWEST."""

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

    def heat(self, norms: np.ndarray, shades: Shades) -> Strip:
        """Shades of the norms (stored,) of one layer's keys or values."""
        binned = self._binned(_relative(norms))
        numbers = np.where(np.isnan(binned), EMPTY, np.nan_to_num(binned) * (SHADES - 1)).astype(int)
        numbers[(len(norms) - 1) // self.per_bin] = NEWEST
        halves: list[int] = np.repeat(numbers, round(2 * self.cells_per_bin)).tolist()
        halves += [EMPTY] * (len(halves) % 2)
        cells = map(shades.cell, halves[::2], halves[1::2])
        return Strip(cells, self.cells).simplify()

    def heights(self, norms: np.ndarray, look: Look, colour: str) -> Content:
        """The same as a bar for each bin, in one colour."""
        levels, newest = self._binned(_relative(norms)), (len(norms) - 1) // self.per_bin
        parts: list[tuple[str, str]] = []
        steps = look.heights
        for i, level in enumerate(levels):
            glyph = look.empty if np.isnan(level) else steps[int(level * (len(steps) - 1))]
            style = BRIGHT if i == newest else DIM if np.isnan(level) else f"${colour}"
            parts.append((glyph * max(1, int(self.cells_per_bin)), style))
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


def _relative(norms: np.ndarray) -> np.ndarray:
    """Norms scaled so that the smallest of the strip is 0 and the largest 1."""
    if not len(norms):
        return norms
    low, high = norms.min(), norms.max()
    return (norms - low) / (high - low) if high > low else np.full(norms.shape, 0.5)


def _scale(norms: np.ndarray, letter: str, room: int) -> str:
    if not len(norms):
        return ""
    text = f"  |{letter}| {norms.min():.1f} to {norms.max():.1f}"
    return text if len(text) <= room else ""


def _fitted(strips: list[Line], layers: int, room: int) -> list[Line]:
    """The strips with an empty line between layers, or without, or as many layers as there is room for."""
    each = len(strips) // layers
    if room >= len(strips) + layers - 1:
        spaced = [line for i in range(0, len(strips), each) for line in [Content(), *strips[i : i + each]]]
        return spaced[1:]
    if room >= len(strips):
        return strips
    shown = max(0, (room - 1) // 2)
    note = Content.styled(f"{count(layers - shown, 'more layer')}, in a larger window", DIM)
    return [*strips[: 2 * shown], note][: max(0, room)]


def _ticks(capacity: int) -> list[int]:
    quarter = capacity // 4
    return [*range(0, capacity - quarter // 2, quarter), capacity - 1] if quarter else [0, capacity - 1]


def _row(layout: StripLayout, label: str, at: list[tuple[int, str, str]]) -> Content:
    """A line of labels, each beginning at the cell of its position; one that would overlap is left out."""
    parts: list[tuple[str, str]] = [(f"{label:{LABEL}}", DIM)]
    end = 0
    for position, text, style in at:
        column = min(layout.column(position), max(0, layout.cells - len(text)))
        if column >= end + bool(end):
            parts += [(" " * (column - end), ""), (text, style)]
            end = column + len(text)
    return Content.assemble(*parts)


def _baked(layout: StripLayout, positions: np.ndarray, style: str) -> Content:
    """The positions that the entries were computed at, under those that they stand at now."""
    ticks = [tick for tick in _ticks(layout.capacity) if tick < len(positions)]
    return _row(layout, "baked in", [(tick, str(positions[tick]), f"bold {style}") for tick in ticks])


def _facts(view: View) -> list[Content]:
    """What the cache takes: absolute figures first."""
    model = view.snapshot.model
    used = view.snapshot.cache.stored * model.bytes_per_token
    facts = [
        (f"{model.bytes_per_token:,} bytes", " per token"),
        (f"{used:,} bytes", " now"),
        (percent(used / model.nbytes), " of the model"),
    ]
    return [Content.assemble((figure, BRIGHT), (what, DIM)) for figure, what in facts]
