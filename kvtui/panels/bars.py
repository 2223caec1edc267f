"""Bars over several lines."""

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from kvtui.panels.panel import joined
from kvtui.visual import Look


def bars(levels: np.ndarray, styles: Sequence[str], rows: int, look: Look) -> list[Content]:
    """A bar for each level (n,) from 0 to 1, in a style each, as so many lines; never quite nothing."""
    ramp, lines = look.heights, []
    for row in reversed(range(rows)):
        filled = np.ceil((levels * rows - row) * len(ramp)).astype(int).clip(0, len(ramp))
        glyphs = (ramp[max(0, eighths - 1)] if eighths or row == 0 else " " for eighths in filled)
        lines.append(joined(zip(glyphs, styles, strict=True)))
    return lines
