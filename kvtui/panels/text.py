"""The text: what was given, what was written, and what the model can still see."""

from itertools import pairwise

from rich.cells import cell_len
from textual.content import Content

from kvtui.panels.panel import Panel, View
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

    def lines(self, view: View, width: int, height: int) -> list[Content]:
        snapshot = view.snapshot
        text = snapshot.prompt + snapshot.generated
        base = max(0, len(text) - TAIL)
        rows = wrapped(text[base:], width)[-height:]
        return [self._line(view, text, base + start, base + end) for start, end in rows]

    def _line(self, view: View, text: str, start: int, end: int) -> Content:
        """One line, in stretches of one style: gone, prompt, generated, newest."""
        snapshot = view.snapshot
        newest = len(text) - 1
        stops = sorted(
            {
                start,
                end,
                *(
                    s
                    for s in (len(text) - snapshot.visible, len(snapshot.prompt), newest)
                    if start < s < end
                ),
            }
        )
        parts: list[tuple[str, str]] = []
        for a, b in pairwise(stops):
            if a == newest:
                parts.append((view.look.glyph(text[a]), "reverse bold $foreground"))
            elif a < len(text) - snapshot.visible:
                parts.append((_printable(text[a:b]), f"strike {DIM}"))
            elif a < len(snapshot.prompt):
                parts.append((_printable(text[a:b]), "italic $primary"))
            else:
                parts.append((_printable(text[a:b]), "$foreground"))
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
    """Newlines end their line here already; other control characters must not reach the terminal."""
    return "".join(c if c.isprintable() else "" if c == "\n" else "�" for c in text)
