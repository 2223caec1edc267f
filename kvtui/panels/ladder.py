"""All limit policies in a table: how often each agrees with the real model, and what it costs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from textual.content import Content

from kvtui.figures import binary_size, count, milliseconds, percent
from kvtui.panels.panel import Line, Panel, View
from kvtui.snapshot import PolicyState, Snapshot
from kvtui.visual import BRIGHT, DIM, POLICY_IDEAS, POLICY_LABELS, Look
from model.limit import POLICIES, Recompute

NAME = 18  # cells


class Column(NamedTuple):
    heading: str
    width: int
    rank: int  # columns of a higher one are left out first, where there is little room


COLUMNS = (
    Column("agree", 7, 0),
    Column("mean KL", 9, 1),
    Column("max KL", 8, 4),
    Column("bits/char", 11, 3),
    Column("ms/step", 10, 2),
    Column("cache", 11, 5),
)


class LadderPanel(Panel):
    def title(self, view: View) -> str:
        snapshot, dot = view.snapshot, view.look.dot
        if snapshot.past_limit:
            return f"Past the limit {dot} the same text for all, {count(snapshot.slides, 'step')}"
        left = snapshot.window_full_at - snapshot.length
        when = f"after {count(left, 'character')} more: l goes there" if left else "with the next character"
        return f"Past the limit {dot} they part {when}"

    def subtitle(self, view: View) -> str:
        return "beside the real model, KL in nats; mean ms, and each step on its own scale"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        columns = _fitting_columns(width - NAME)
        heading = "".join(f"{column.heading:>{column.width}}" for column in columns)
        lines = [Content.styled(f"{'':{NAME}}{heading}", DIM)]
        return [*lines, *(self._row(policy.name, columns, snapshot, look, width) for policy in POLICIES)]

    def _row(
        self, name: str, columns: Sequence[Column], snapshot: Snapshot, look: Look, width: int
    ) -> Content:
        idea = POLICY_IDEAS[name]
        label = Content.styled(f"{f'{look.mark(idea)} {POLICY_LABELS[name]}':{NAME}}", f"bold {idea.style}")
        if name in snapshot.ended:
            return Content.assemble(label, ("the text has ended", DIM))
        figures = _figures(name, snapshot)
        figured = zip(figures, COLUMNS, strict=True)
        cells = "".join(f"{text:>{column.width}}" for text, column in figured if column in columns)
        room = width - NAME - len(cells) - 2
        shown = _seconds(name, snapshot)[-room:].tolist() if room > 3 else []
        return Content.assemble(label, (cells, BRIGHT), "  ", (look.sparkline(shown), idea.style))


def _fitting_columns(width: int) -> list[Column]:
    """As many as fit, the most telling ones, in their order."""
    shown: list[Column] = []
    for column in sorted(COLUMNS, key=lambda column: column.rank):
        if sum(other.width for other in shown) + column.width <= width:
            shown.append(column)
    return [column for column in COLUMNS if column in shown]


def _figures(name: str, snapshot: Snapshot) -> list[str]:
    """The cells of a row; those that nothing is known of are empty."""
    cache = binary_size(snapshot.model.bytes_per_token * snapshot.model.block_size)
    seconds = _seconds(name, snapshot)
    if not len(seconds):
        return [""] * (len(COLUMNS) - 1) + [cache]
    state = snapshot.policy(name)
    mean_bits = f"{bits:.2f}" if (bits := _bits(name, snapshot)) is not None else ""
    figures = [mean_bits, milliseconds(float(seconds.mean())), cache]
    return [*(_agreement(state) if state else ["", "", ""]), *figures]


def _agreement(state: PolicyState) -> list[str]:
    comparisons = state.comparisons
    share = comparisons.agreed / len(comparisons)
    return [percent(share), f"{comparisons.mean_kl:.3f}", f"{comparisons.max_kl:.2f}"]


def _seconds(name: str, snapshot: Snapshot) -> np.ndarray:
    """What the policy's steps past the limit took."""
    if name == Recompute.name:
        return snapshot.steps.seconds(recomputed=True)
    state = snapshot.policy(name)
    return state.comparisons.seconds if state else np.empty(0)


def _bits(name: str, snapshot: Snapshot) -> float | None:
    """The mean surprise of the characters that came after those past the limit, for all the same ones."""
    state = snapshot.policy(name)
    bits = state.comparisons.bits if state else snapshot.steps.bits[snapshot.steps.cached :]
    return float(bits[1:].mean()) if len(bits) > 1 else None
