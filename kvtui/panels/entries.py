"""Each entry of a slid cache: its character, where it stands, and the position that it was computed at."""

from collections.abc import Sequence

import numpy as np
from rich.cells import set_cell_size
from textual.content import Content

from kvtui.panels.panel import Line, View
from kvtui.panels.strips import LABEL, StripLayout, StripPanel, lines_of, row
from kvtui.visual import DIM, NAIVE
from model.limit import NaiveSlide


class EntriesPanel(StripPanel):
    def title(self, view: View) -> str:
        last = view.snapshot.model.block_size - 1
        at_last = int((_positions(view) == last).sum())
        piled = f"{at_last:,} of {len(_positions(view)):,} computed at {last:,}"
        return f"What the naive cache holds {view.look.dot} {piled}"

    def subtitle(self, view: View) -> str:
        return f"off by: {view.look.more} is further from its rightful position"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        positions, look = _positions(view), view.look
        glyphs = [look.glyph(character) for character in view.snapshot.text[-len(positions) :]]
        cells, parts = lines_of(glyphs, width - LABEL)
        blocks = [self._block(glyphs[part], positions[part], part.start, cells, view) for part in parts]
        if height < sum(map(len, blocks)):  # the characters, and where they were computed
            blocks = [[text, baked] for text, _, baked, *_ in blocks]
        return [line for block in blocks for line in block][-height:]

    def _block(
        self, glyphs: Sequence[str], positions: np.ndarray, start: int, cells: int, view: View
    ) -> list[Line]:
        """Characters, and below them where they stand, where they were computed, and how far that is."""
        look, last = view.look, view.snapshot.model.block_size - 1
        layout = StripLayout(len(glyphs), 1, cells)
        off = positions - np.arange(start, start + len(glyphs))
        text = Content.styled(f"{'text':{LABEL}}", DIM) + "".join(set_cell_size(g, cells) for g in glyphs)
        every = range(0, len(glyphs), max(1, 8 // cells))
        stands = [(i, str(start + i), DIM) for i in every]
        baked = [(i, str(positions[i]), f"bold {NAIVE.style}" if off[i] else DIM) for i in every]
        return [
            text,
            row(layout, "stands at", stands),
            row(layout, "baked in", baked),
            *self.strips("off by", off / max(1, last), layout, look, "error"),
        ]


def _positions(view: View) -> np.ndarray:
    """Those that the entries of the naive cache were computed at, the rightful ones up to the limit."""
    return view.cache(NaiveSlide.name).positions
