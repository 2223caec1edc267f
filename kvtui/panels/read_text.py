"""The stored characters, each as strong as the chosen head's attention to it."""

from collections.abc import Sequence

import numpy as np
from rich.cells import set_cell_size
from textual.content import Content

from kvtui.panels.panel import Line, View
from kvtui.panels.strips import StripLayout, StripPanel, lines_of
from kvtui.visual import DIM


class ReadTextPanel(StripPanel):
    """A line of characters, and below it a strip with the attention to each."""

    def title(self, view: View) -> str:
        inspection = view.inspection
        return f"What head {inspection.cursor.head} reads"

    def subtitle(self, view: View) -> str:
        return "the shade below each character is the attention to it"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        inspection, look = view.inspection, view.look
        attention = inspection.attention[inspection.cursor.head]
        glyphs = [look.glyph(character) for character in inspection.characters]
        cells, parts = lines_of(glyphs, width)
        lines: list[Line] = []
        for part in parts:
            layout = StripLayout(len(glyphs[part]), 1, cells)
            lines.append(self._characters(glyphs[part], part.start, inspection.entry, cells))
            levels = attention[part] / attention.max()
            lines.append(self.strip_of(levels, layout, look, "primary"))
        if height > len(lines):
            return [*lines, _strongest(glyphs, attention, look.dot)]
        return lines[-(height - height % 2) :]  # the newest lines, each with its strip

    def _characters(self, glyphs: Sequence[str], start: int, chosen: int, cells: int) -> Content:
        plain, marked = "$foreground", "reverse bold $foreground"
        styles = (marked if start + i == chosen else plain for i in range(len(glyphs)))
        padded = (set_cell_size(glyph, cells) for glyph in glyphs)
        return Content.assemble(*zip(padded, styles, strict=True))


def _strongest(glyphs: Sequence[str], attention: np.ndarray, dot: str) -> Content:
    order = np.argsort(-attention, kind="stable")[:5]
    parts = [f"{i} '{glyphs[i]}' {attention[i]:.2f}" for i in order]
    return Content.styled(f" {dot} ".join(parts), DIM)
