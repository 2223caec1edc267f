"""The text: what was given, what was written, and what the model can still see."""

from collections.abc import Sequence
from itertools import pairwise

from rich.cells import cell_len
from textual.content import Content

from kvtui.panels.panel import Line, Panel, View
from kvtui.snapshot import Snapshot
from kvtui.visual import DIM

# Enough for any screen; a longer text is cut at its beginning before it is wrapped.
TAIL = 20_000


class TextPanel(Panel):
    def title(self, view: View) -> str:
        return "Text"

    def subtitle(self, view: View) -> str:
        snapshot = view.snapshot
        seen = "all" if snapshot.visible == snapshot.length else f"the last {snapshot.visible}"
        return f"{snapshot.length:,} characters {view.look.dot} sees {seen}"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot = view.snapshot
        text = snapshot.prompt + snapshot.generated
        # The newest character is shown as what it is: also a newline, or a blank.
        text = _printable(text[:-1]) + view.look.glyph(text[-1])
        base = max(0, len(text) - TAIL)
        rows = wrapped(text[base:], width)[-height:]
        return [self._line(snapshot, text, base + start, base + end) for start, end in rows]

    def _line(self, snapshot: Snapshot, text: str, start: int, end: int) -> Content:
        """One line, in stretches of one style: gone, prompt, generated, newest."""
        gone, prompt, newest = snapshot.length - snapshot.visible, len(snapshot.prompt), snapshot.length - 1
        stops = sorted({start, end, *(stop for stop in (gone, prompt, newest) if start < stop < end)})
        parts: list[tuple[str, str]] = []
        for a, b in pairwise(stops):
            if a >= newest:
                style = "reverse bold $foreground"
            elif a < gone:
                style = f"strike {DIM}"
            elif a < prompt:
                style = "italic $primary"
            else:
                style = "$foreground"
            parts.append((text[a:b].rstrip("\n"), style))
        return Content.assemble(*parts)


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """Where each line of a text begins and ends, broken at newlines and, if need be, after a space."""
    rows = []
    start = 0
    while start < len(text):
        end, cells = start, 0
        while end < len(text) and text[end] != "\n" and cells + cell_len(text[end]) <= width:
            cells += cell_len(text[end])
            end += 1
        if end < len(text) and text[end] == "\n":
            end += 1
        elif end < len(text) and (space := text.rfind(" ", start, end)) > start:
            end = space + 1
        end = max(end, start + 1)
        rows.append((start, end))
        start = end
    return rows


def _printable(text: str) -> str:
    """Control characters must not reach the terminal; newlines end a line."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
