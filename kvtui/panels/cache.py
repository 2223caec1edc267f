"""What the KV cache holds: a strip of keys and one of values for every layer, a place per position."""

from functools import cache

import numpy as np
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.content import Content
from textual.strip import Strip

from kvtui.figures import binary_size, percent
from kvtui.panels.panel import Panel, View
from kvtui.snapshot import CacheContent
from kvtui.visual import BRIGHT, DIM, NAIVE, Look
from model.limit import baked_positions

LABEL = 10  # cells in front of a strip: "layer 0 K "
SCALE = 20  # cells behind it, for the range of the norms
FACTS = 22  # and behind that, where there is room, for the figures
KEYS, VALUES = "success", "secondary"  # colours of the theme
SHADES = 24


class CachePanel(Panel):
    _heats: dict[int, Strip | None] = {}  # by line

    def title(self, view: View) -> str:
        snapshot, dot = view.snapshot, view.look.dot
        per_token = snapshot.model.bytes_per_token
        stored, capacity = snapshot.cache.stored, snapshot.model.block_size
        title = f"KV cache {dot} {stored:,} of {capacity:,} positions {dot} "
        title += f"{binary_size(stored * per_token)} of {binary_size(capacity * per_token)}"
        return title + (f" {dot} naive slide" if view.naive_shown and snapshot.naive else "")

    def subtitle(self, view: View) -> str:
        look = view.look
        more = "denser" if look.ascii else "stronger" if look.shades else "higher"
        return f"{more}: larger norm, each strip on its own scale"

    def lines(self, view: View, width: int, height: int) -> list[Content]:
        snapshot, look = view.snapshot, view.look
        capacity = snapshot.model.block_size
        naive = snapshot.naive if view.naive_shown else None
        content = naive.cache if naive else snapshot.cache
        layout = StripLayout.fit(capacity, width - LABEL, look)
        below = [_row(layout, "position", [(tick, str(tick), DIM) for tick in _ticks(capacity)])]
        if naive:
            below.append(_baked(layout, naive.slides, capacity))
        facts = _facts(view)
        beside = width >= LABEL + layout.cells + SCALE + FACTS
        if not beside and height > 2 * snapshot.model.n_layer + len(below):
            below.append(Content(f" {look.dot} ").join(facts))
        strips, heats = self._strips(content, layout, look, width)
        if beside:
            margin = LABEL + layout.cells + SCALE
            strips = [
                Content.assemble(line, " " * (margin - line.cell_length), facts[i])
                if i < len(facts)
                else line
                for i, line in enumerate(strips)
            ]
        lines = _fitted(strips, height - len(below)) + below
        heat_of = {id(line): heat for line, heat in zip(strips, heats, strict=True)}
        self._heats = {y: heat_of[id(line)] for y, line in enumerate(lines) if id(line) in heat_of}
        return lines

    def render_line(self, y: int) -> Strip:
        """A line as it is, with the heat in the place that was left for it.

        Hundreds of cells, each with colours of its own, are made here at a fraction of what they would
        cost as styled text.
        """
        line = super().render_line(y)
        heat = self._heats.get(y)
        if not heat:
            return line
        return Strip.join([line.crop(0, LABEL), heat, line.crop(LABEL + heat.cell_length)])

    def _strips(
        self, content: CacheContent, layout: "StripLayout", look: Look, width: int
    ) -> tuple[list[Content], list[Strip | None]]:
        """A line for the keys of each layer and one for its values, with the range of their norms.

        Where there are shades, the lines have room for them, and the shades come beside the lines.
        """
        lines: list[Content] = []
        heats: list[Strip | None] = []
        for layer in range(content.keys.shape[0]):
            for letter, norms, colour in (
                ("K", content.keys[layer], KEYS),
                ("V", content.values[layer], VALUES),
            ):
                label = f"layer {layer}" if letter == "K" else ""
                scale = _scale(norms, letter, width - LABEL - layout.cells)
                if look.ascii or not look.shades:
                    drawn, heat = layout.heights(norms, look, colour), None
                else:
                    drawn = Content(" " * layout.cells)
                    heat = layout.heat(norms, self._shades(colour))
                lines.append(Content.assemble((f"{label:8}{letter} ", DIM), drawn, (scale, DIM)))
                heats.append(heat)
        return lines, heats

    def _shades(self, colour: str) -> "Shades":
        variables = self.app.theme_variables
        return Shades.between(variables["background"], variables[colour], variables["foreground"])


class Shades:
    """Colours of a heat strip: for a norm between 0 and 1, for an empty place, for the newest entry."""

    def __init__(self, levels: list[Color], empty: Color, newest: Color) -> None:
        self.levels, self.empty, self.newest = levels, empty, newest

    @classmethod
    @cache
    def between(cls, background: str, colour: str, foreground: str) -> "Shades":
        """The steps from a theme's background to one of its colours."""
        ground, full, text = map(Color.parse, (background, colour, foreground))
        return cls(
            [ground.blend(full, 0.18 + 0.82 * i / (SHADES - 1)) for i in range(SHADES)],
            empty=ground.blend(text, 0.13),
            newest=text,
        )

    def colour(self, level: float, newest: bool) -> Color:
        if newest:
            return self.newest
        return self.empty if np.isnan(level) else self.levels[int(level * (len(self.levels) - 1))]


@cache
def _colours(foreground: Color, background: Color) -> RichStyle:
    return RichStyle.from_color(foreground.rich_color, background.rich_color)


class StripLayout:
    """How the places of a cache are laid out on a line: cells for each, or places for each cell."""

    def __init__(self, capacity: int, per_bin: int, cells_per_bin: float) -> None:
        self.capacity, self.per_bin, self.cells_per_bin = capacity, per_bin, cells_per_bin
        self.bins = -(-capacity // per_bin)
        self.cells = -int(-self.bins * cells_per_bin // 1)

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
        levels, newest = self._binned(_relative(norms)), (len(norms) - 1) // self.per_bin
        colours = [shades.colour(level, i == newest) for i, level in enumerate(levels)]
        if self.cells_per_bin >= 1:
            width = int(self.cells_per_bin)
            segments = [Segment(" " * width, _colours(c, c)) for c in colours]
        else:
            colours += [shades.empty] * (len(colours) % 2)
            segments = [
                Segment("▌", _colours(*pair)) for pair in zip(colours[::2], colours[1::2], strict=True)
            ]
        return Strip(segments, self.cells).simplify()

    def heights(self, norms: np.ndarray, look: Look, colour: str) -> Content:
        """The same as a bar for each bin, in one colour."""
        levels, newest = self._binned(_relative(norms)), (len(norms) - 1) // self.per_bin
        parts: list[tuple[str, str]] = []
        steps = look.heights
        for i, level in enumerate(levels):
            glyph = look.empty if np.isnan(level) else steps[int(level * (len(steps) - 1))]
            style = BRIGHT if i == newest else DIM if np.isnan(level) else f"${colour}"
            parts.append((glyph * max(1, int(self.cells_per_bin)), style))
        return Content.assemble(*parts)

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


def _fitted(strips: list[Content], room: int) -> list[Content]:
    """The strips with an empty line between layers, or without, or as many layers as there is room for."""
    layers = len(strips) // 2
    if room >= len(strips) + layers - 1:
        return [
            line for i in range(layers) for line in ([Content("")] * (i > 0) + strips[2 * i : 2 * i + 2])
        ]
    if room >= len(strips):
        return strips
    shown = max(0, (room - 1) // 2)
    note = Content.styled(f"{layers - shown} more layers, in a larger window", DIM)
    return strips[: 2 * shown] + [note][: max(0, room)]


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


def _baked(layout: StripLayout, slides: int, capacity: int) -> Content:
    """The positions that the entries were computed at, under those that they stand at now."""
    baked = baked_positions(slides, capacity)
    return _row(
        layout, "baked in", [(tick, str(baked[tick]), f"bold {NAIVE.style}") for tick in _ticks(capacity)]
    )


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
