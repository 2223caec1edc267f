"""What the newest character reads: its attention to every stored entry, in all heads of a layer."""

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from kvtui.panels.panel import Line, View
from kvtui.panels.strips import LABEL, StripLayout, StripPanel, row, ticks
from kvtui.visual import DIM, POLICY_LABELS

SCALE = 9  # cells behind a strip: "max 0.43"
TALLEST = 3


class AttentionPanel(StripPanel):
    def title(self, view: View) -> str:
        inspection = view.inspection
        cursor, dot = inspection.cursor, view.look.dot
        last = view.snapshot.model.n_layer - 1
        return f"Attention {dot} {_whose(view)} {dot} layer {cursor.layer} of 0 to {last}"

    def subtitle(self, view: View) -> str:
        inspection = view.inspection
        error = float(np.abs(inspection.attention.sum(axis=1) - 1).max())
        scale = f"{view.look.more}: more, up to {inspection.attention.max():.2f}"
        return f"of the newest character; {scale}; sums are 1 to {error:.0e}"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        inspection = view.inspection
        attention, look = inspection.attention, view.look
        heads, stored = attention.shape
        layout = StripLayout.fit(view.snapshot.model.block_size, width - LABEL - SCALE, look)
        shown = min(heads, height - 1)
        tall = max(1, min(TALLEST, (height - 1) // heads))
        largest = attention.max()
        lines: list[Line] = []
        first = min(max(0, inspection.cursor.head - shown // 2), heads - shown)
        for head in range(first, first + shown):
            chosen = head == inspection.cursor.head
            label = f"{'>' if chosen else ' '} head {head}"
            after = Content.styled(f" max {attention[head].max():.2f}", DIM)
            colour = "primary" if chosen else "secondary"
            levels = attention[head] / largest
            lines += self.strips(label, levels, layout, look, colour, inspection.entry, after, tall)
        at = [(tick, str(tick), DIM) for tick in ticks(layout.capacity) if tick < stored]
        return [*lines, row(layout, "entry", at)]


def _whose(view: View) -> str:
    """The policy whose cache is looked into; where that is not the one on the right, why not."""
    looked_at = view.inspection.cursor.policy
    asked = view.pair[1] if view.pair else looked_at
    label = POLICY_LABELS[looked_at]
    if asked in view.snapshot.ended:
        return f"{label}, as {asked} has ended"
    if asked != looked_at and not view.snapshot.past_limit:
        return f"{label}, as {asked} is until the limit"
    return label
