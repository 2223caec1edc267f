"""One stored entry: its key and its value, number by number, in one head of one layer."""

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from kvtui.panels.panel import Line, View, fitting
from kvtui.panels.strips import LABEL, StripLayout, StripPanel, relative
from kvtui.visual import BRIGHT, DIM, NAIVE


class EntryPanel(StripPanel):
    def title(self, view: View) -> str:
        inspection = view.inspection
        glyph = view.look.glyph(inspection.characters[inspection.entry])
        newest = ", the newest" if inspection.entry == len(inspection.characters) - 1 else ""
        return f"Entry {inspection.entry} '{glyph}'{newest} {view.look.dot} head {inspection.cursor.head}"

    def subtitle(self, view: View) -> str:
        return "a cell for each number"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        inspection, look = view.inspection, view.look
        layout = StripLayout.fit(len(inspection.key), width - LABEL, look)
        tall = max(1, min(3, (height - 3) // 2))
        lines: list[Line] = []
        for name, vector, colour in (
            ("key", inspection.key, "success"),
            ("value", inspection.value, "secondary"),
        ):
            lines += self.strips(name, relative(vector), layout, look, colour, tall=tall)
        lines += [_numbers("K", inspection.key), _numbers("V", inspection.value)]
        baked = int(inspection.positions[inspection.entry])
        return [*lines, _place(inspection.entry, baked, width)]


def _numbers(letter: str, vector: np.ndarray) -> Content:
    """The scale of a strip, and the vector's length."""
    return Content.assemble(
        (f"{letter:{LABEL}}", DIM),
        (f"{vector.min():.2f} to {vector.max():.2f}", DIM),
        (f"  |{letter}| ", DIM),
        (f"{np.linalg.norm(vector):.2f}", BRIGHT),
    )


def _place(stands_at: int, computed_at: int, width: int) -> Content:
    """Where the entry stands, and where it was when its key and value were computed."""
    off = computed_at - stands_at
    style = f"bold {NAIVE.style}" if off else BRIGHT
    label = Content.styled(f"{'position':{LABEL}}", DIM)
    verdict = f"{off} too far on" if off else "as it should be"
    return fitting(
        width,
        Content.assemble(
            label, (f"stands at {stands_at}, computed at {computed_at}: ", DIM), (verdict, style)
        ),
        Content.assemble(label, (f"{stands_at}, computed at {computed_at}", style)),
    )
