"""What the steps cost: this one, the usual one, the prefill, and the same without a cache."""

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from kvtui.figures import count, milliseconds, times
from kvtui.panels.bars import bars
from kvtui.panels.panel import Line, Panel, View, fitting, spread
from kvtui.snapshot import Baseline, BaselineMode, Snapshot, Step
from kvtui.visual import ALL_AT_ONCE, BRIGHT, CACHED, DIM, POLICY_IDEAS, UNCACHED, Look

TALLEST = 14  # lines of bars


class LatencyPanel(Panel):
    def title(self, view: View) -> str:
        return "Latency"

    def subtitle(self, view: View) -> str:
        return f"the model's own work {view.look.dot} warmed up"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        head = [_this_step(snapshot, look, width)]
        for idea, recomputed, kind in ((CACHED, False, "cached"), (UNCACHED, True, "recomputed")):
            if len(seconds := snapshot.steps.seconds(recomputed)):
                head.append(_median_and_p95(look.mark(idea), idea.style, seconds, kind, width))
        for state in view.shown_beside:
            idea, seconds = POLICY_IDEAS[state.name], state.comparisons.seconds
            head.append(_median_and_p95(look.mark(idea), idea.style, seconds, state.name, width))
        head += _baseline(snapshot, look, width)
        return head + _strip(snapshot.steps[-width:], look, width, height - len(head))


def _this_step(snapshot: Snapshot, look: Look, width: int) -> Content:
    n = min(len(snapshot.prompt), snapshot.model.block_size)
    prefill = Content.assemble(("prefill ", DIM), (milliseconds(snapshot.prefill_seconds), BRIGHT))
    with_count = Content.assemble(prefill, (f" for {count(n, 'character')}", DIM))
    if not snapshot.steps:
        return with_count
    step = snapshot.steps[-1]
    idea, what = (UNCACHED, "this step, recomputed") if step.recomputed else (CACHED, "this step")
    this = Content.assemble(
        (f"{look.mark(idea)} {milliseconds(step.seconds):>8}", f"bold {idea.style}"),
        (f" {what}", DIM),
    )
    gap = width - this.cell_length - 2
    return spread(this, fitting(gap, with_count, prefill), width)


def _median_and_p95(mark: str, style: str, seconds: np.ndarray, kind: str, width: int) -> Content:
    """`seconds` (n,); the 95th percentile is a time that was measured: the nearest rank."""
    median, p95 = np.median(seconds), np.quantile(seconds, 0.95, method="inverted_cdf")
    figures = Content.assemble(
        (f"{mark} median ", style),
        (milliseconds(median), BRIGHT),
        ("  p95 ", DIM),
        (milliseconds(p95), BRIGHT),
    )
    return fitting(
        width,
        Content.assemble(figures, (f"  of {len(seconds):,} {kind} step{'s' * (len(seconds) != 1)}", DIM)),
        Content.assemble(figures, (f"  of {len(seconds):,} {kind}", DIM)),
        Content.assemble(figures, (f"  {kind}", DIM)),
        Content.assemble(figures, (f"  {kind.split()[0]}", DIM)),
    )


def _baseline(snapshot: Snapshot, look: Look, width: int) -> list[Content]:
    """The full pass: its time, how many times this step's that is, and how near its logits are."""
    baseline = snapshot.baseline
    if baseline is None and snapshot.past_limit:  # the model itself does no less
        return []
    if baseline is None:
        hints = ("without a cache: press u to measure it", "uncached: press u")
        return [fitting(width, *(Content.styled(f"{look.mark(UNCACHED)} {hint}", DIM) for hint in hints))]
    idea = ALL_AT_ONCE if baseline.mode is BaselineMode.ALL else UNCACHED
    step = snapshot.steps[-1] if snapshot.steps else None
    saved = step is not None and step.seconds > 0 and not step.recomputed
    figures = Content.assemble(
        (f"{look.mark(idea)} {milliseconds(baseline.seconds):>8}", f"bold {idea.style}"),
        (f" {times(baseline.seconds / step.seconds)}" if step and saved else "", BRIGHT),
    )
    ways = (f" uncached, {baseline.mode.value}", " uncached")
    time = fitting(width, *(Content.assemble(figures, (way, DIM)) for way in ways))
    if snapshot.past_limit:  # nothing to prove: it is the same computation
        notes = ("  past the limit the model itself does no less", "  the model itself does no less now")
        return [time, fitting(width, *(Content.styled(note, DIM) for note in notes))]
    return [time, _exactness(baseline, width)]


def _exactness(baseline: Baseline, width: int) -> Content:
    if not baseline.max_abs_diff:
        return Content.assemble(("  same logits, ", DIM), ("to the last bit", f"bold {CACHED.style}"))
    relative = baseline.max_abs_diff / baseline.max_abs_logit
    same = Content.assemble(
        ("  same logits to ", DIM), (f"{baseline.max_abs_diff:.0e}", f"bold {CACHED.style}")
    )
    ways = (f", {relative:.0e} of the largest logit", f", {relative:.0e} of the largest", "")
    return fitting(width, *(Content.assemble(same, (way, DIM)) for way in ways))


def _strip(steps: Sequence[Step], look: Look, width: int, height: int) -> list[Content]:
    """Bars of the latest steps, the newest last; on one linear scale, so that a jump is a jump."""
    if not steps:
        return []
    ideas = [UNCACHED if step.recomputed else CACHED for step in steps]
    seconds = np.array([step.seconds for step in steps])
    largest = float(seconds.max()) or 1.0
    rows = max(1, min(TALLEST, height - 1 - (not look.colours)))
    lines = bars(seconds / largest, [idea.style for idea in ideas], rows, look)
    if not look.colours:
        lines.append(Content("".join(map(look.mark, ideas))))
    jump = next((i for i, step in enumerate(steps) if step.recomputed), None)
    if jump is None:
        latest = "the last step" if len(steps) == 1 else f"the last {len(steps)} steps"
        return [*lines, Content.styled(f"{latest}, largest {milliseconds(largest)}", DIM)]
    return [*lines, _pointer(jump, "recomputes the window", look, width)]


def _pointer(column: int, note: str, look: Look, width: int) -> Content:
    """An arrow to a column, with its note on the side that has room; without it, where neither has."""
    arrow = "^" if look.ascii else "↑"
    if column + 2 + len(note) <= width:
        text = " " * column + f"{arrow} {note}"
    elif column >= len(note) + 1:
        text = " " * (column - len(note) - 1) + f"{note} {arrow}"
    else:
        text = " " * column + arrow
    return Content.styled(text, UNCACHED.style)
