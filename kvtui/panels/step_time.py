"""Time per step against context length: cached and not, both axes logarithmic, drawn by plotext."""

import asyncio
from collections.abc import Sequence
from importlib import import_module

import numpy as np
from textual.content import Content

from kvtui import chart
from kvtui.chart import ESCAPE, Points, Series
from kvtui.curves import KINDS
from kvtui.panels.panel import Line, Panel, View, joined
from kvtui.snapshot import BaselineMode, Snapshot
from kvtui.visual import ALL_AT_ONCE, CACHED, DIM, UNCACHED

# The chart is painted with colour numbers; these are the styles of the theme that they stand for.
COLOURS = {number: idea.style for number, idea in chart.IDEAS.items()} | {chart.FRAME: DIM}

CURVES = dict(zip(chart.IDEAS, KINDS, strict=True))


class StepTimePanel(Panel):
    _ready = False

    def on_mount(self) -> None:
        self.call_after_refresh(self.run_worker, self._prepare, group="chart")

    async def _prepare(self) -> None:
        """Import plotext behind the first picture, which would have to wait for it a third of a second."""
        await asyncio.to_thread(import_module, "plotext")
        self._ready = True
        self.redraw()

    def patience(self, view: View) -> float:
        """A chart takes longer to draw than all other panels together."""
        return 0.15

    def title(self, view: View) -> str:
        if view.measuring:
            return f"Time per step {view.look.dot} measuring {view.measuring:,}, m stops"
        return "Time per step"

    def subtitle(self, view: View) -> str:
        return f"ms against characters seen {view.look.dot} log-log"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        blocked = _uncached(snapshot, BaselineMode.BLOCKED)
        if len(recomputed := snapshot.steps.seconds(recomputed=True)):
            blocked.append((snapshot.model.block_size, float(np.median(recomputed)) * 1e3))
        series = {
            f"{look.mark(CACHED)} cached": Series(chart.CACHED, _cached(snapshot)),
            f"{look.mark(UNCACHED)} uncached, 128 rows": Series(chart.BLOCKED, blocked),
            f"{look.mark(ALL_AT_ONCE)} all at once": Series(
                chart.ALL, _uncached(snapshot, BaselineMode.ALL)
            ),
        }
        measured = view.curves.rows
        legend = Content("  ").join(
            [
                Content.styled(name, COLOURS[s.colour] if s.points or measured else DIM)
                for name, s in series.items()
            ]
        )
        if height < 5 or width < 20 or not self._ready:
            return [legend]
        limit = snapshot.model.block_size
        curves = [Series(colour, view.curves.points(kind), curve=True) for colour, kind in CURVES.items()]
        drawn = chart.chart([*curves, *series.values()], limit, width, height - 1, look)
        return [legend, *map(_restyled, drawn)]


def _cached(snapshot: Snapshot) -> Points:
    steps = snapshot.steps[: snapshot.steps.cached]
    return [(step.position, step.seconds * 1e3) for step in steps]


def _uncached(snapshot: Snapshot, mode: BaselineMode) -> list[tuple[float, float]]:
    """Where a baseline was measured; past the limit, where it always is of the whole window, the newest."""
    limit = snapshot.model.block_size
    steps = [*snapshot.steps[: snapshot.steps.cached], *snapshot.steps[-1:]]
    baselines = [(min(s.position, limit), s.baseline) for s in steps if s.baseline]
    return [(position, b.seconds * 1e3) for position, b in baselines if b.mode is mode]


def _restyled(line: str) -> Content:
    """A line of plotext's, its colour numbers turned into the theme's styles."""
    parts: list[tuple[str, str]] = []
    style = ""
    for i, piece in enumerate(ESCAPE.split(line)):
        if i % 2:
            codes = piece.split(";")
            if codes[:2] == ["38", "5"]:
                style = COLOURS.get(int(codes[2]), DIM)
            elif codes == ["0"]:
                style = ""
        elif piece:
            parts.append((piece, style))
    return joined(parts)
