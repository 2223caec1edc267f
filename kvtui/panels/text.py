"""The text: what was given, what was written, and what the model can still see."""

from collections.abc import Sequence
from itertools import pairwise

from rich.cells import cell_len
from textual.content import Content

from kvtui.figures import count
from kvtui.panels.panel import Line, Panel, View
from kvtui.snapshot import Snapshot
from kvtui.visual import DIM

TAIL = 4096  # characters: where there is no newline for as long, a text is wrapped from anywhere


class TextPanel(Panel):
    def title(self, view: View) -> str:
        return "Text"

    def subtitle(self, view: View) -> str:
        snapshot = view.snapshot
        seen = "all" if snapshot.visible == snapshot.length else f"the last {snapshot.visible:,}"
        return f"sees {seen} of {count(snapshot.length, 'character')}"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot = view.snapshot
        text = snapshot.text
        # The newest character is shown as what it is: also a newline, or a blank.
        start = max(0, len(text) - 2 * width * height)  # more than there is room for
        base = max(text.rfind("\n", 0, start) + 1, start - TAIL)
        shown = _printable(text[base:-1]) + view.look.glyph(text[-1])
        rows = wrapped(shown, width)[-height:]
        return [self._line(snapshot, shown, base, start, end) for start, end in rows]

    def _line(self, snapshot: Snapshot, text: str, base: int, start: int, end: int) -> Content:
        """One line of a text from `base` on, in stretches of one style: gone, prompt, generated, newest."""
        gone, prompt, newest = (
            n - base
            for n in (snapshot.length - snapshot.visible, len(snapshot.prompt), snapshot.length - 1)
        )
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
    # A character's width can depend on its neighbours: then the whole of a row is measured.
    cells = (lambda start, end: end - start) if text.isascii() else (lambda a, b: cell_len(text[a:b]))
    rows = []
    start = 0
    while start < len(text):
        end = start
        while end < len(text) and text[end] != "\n" and cells(start, end + 1) <= width:
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
