"""What the steps cost: this one, the usual one, the prefill, and the same without a cache."""

import statistics
from collections.abc import Sequence

from textual.content import Content

from kvtui.figures import milliseconds, times
from kvtui.panels.panel import Panel, View, spread
from kvtui.snapshot import Baseline, Snapshot, Step
from kvtui.visual import BRIGHT, CACHED, DIM, UNCACHED, Look


class LatencyPanel(Panel):
    def title(self, view: View) -> str:
        return "Latency"

    def subtitle(self, view: View) -> str:
        return f"the model's own work {view.look.dot} no warm-up"

    def lines(self, view: View, width: int, height: int) -> list[Content]:
        snapshot, look = view.snapshot, view.look
        head = [_this_step(snapshot, look, width), _decode_steps(snapshot, look)]
        if snapshot.past_limit:
            head.append(_recomputed_steps(snapshot, look))
        head.append(_baseline(snapshot, look, width))
        if snapshot.baseline:
            head.append(_exactness(snapshot.baseline))
        strip = _strip(snapshot.steps[-width:], look, max(1, min(6, height - len(head) - 1)))
        return head + strip


def _this_step(snapshot: Snapshot, look: Look, width: int) -> Content:
    prefill = Content.assemble(
        ("prefill ", DIM),
        (milliseconds(snapshot.prefill_seconds), BRIGHT),
        (f" for {min(len(snapshot.prompt), snapshot.model.block_size)}", DIM),
    )
    if not snapshot.steps:
        return prefill
    step = snapshot.steps[-1]
    idea, what = (UNCACHED, "recomputed") if step.recomputed else (CACHED, "cached")
    this = Content.assemble(
        (f"{look.mark(idea)} {milliseconds(step.seconds):>8}", f"bold {idea.style}"),
        (f" this step, {what}", DIM),
    )
    return spread(this, prefill, width)


def _decode_steps(snapshot: Snapshot, look: Look) -> Content:
    seconds = [step.seconds for step in snapshot.steps if not step.recomputed]
    if not seconds:
        return Content.styled(
            "no cached step yet" if not snapshot.past_limit else "no step was cached", DIM
        )
    return _median_and_p95(f"{look.mark(CACHED)} median", CACHED.style, seconds, "cached")


def _recomputed_steps(snapshot: Snapshot, look: Look) -> Content:
    seconds = [step.seconds for step in snapshot.steps if step.recomputed]
    return _median_and_p95(f"{look.mark(UNCACHED)} median", UNCACHED.style, seconds, "recomputed")


def _median_and_p95(label: str, style: str, seconds: Sequence[float], kind: str) -> Content:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return Content.assemble(
        (label + " ", style),
        (milliseconds(statistics.median(ordered)), BRIGHT),
        ("  p95 ", DIM),
        (milliseconds(p95), BRIGHT),
        (f"  of {len(ordered):,} {kind}", DIM),
    )


def _baseline(snapshot: Snapshot, look: Look, width: int) -> Content:
    baseline = snapshot.baseline
    if baseline is None:
        return Content.styled(f"{look.mark(UNCACHED)} without a cache: press u to measure it", DIM)
    parts = [
        (f"{look.mark(UNCACHED)} {milliseconds(baseline.seconds):>8}", f"bold {UNCACHED.style}"),
        (f" without a cache, {baseline.mode.value}", DIM),
    ]
    ratio = Content("")
    if snapshot.steps and snapshot.steps[-1].seconds > 0 and not snapshot.past_limit:
        ratio = Content.styled(times(baseline.seconds / snapshot.steps[-1].seconds), BRIGHT)
    return spread(Content.assemble(*parts), ratio, width)


def _exactness(baseline: Baseline) -> Content:
    if not baseline.max_abs_diff:
        return Content.assemble(
            ("  its logits are equal, ", DIM), ("to the last bit", f"bold {CACHED.style}")
        )
    relative = baseline.max_abs_diff / baseline.max_abs_logit
    return Content.assemble(
        ("  its logits differ by ", DIM),
        (f"{baseline.max_abs_diff:.0e}", f"bold {CACHED.style}"),
        (f", {relative:.0e} of the largest", DIM),
    )


def _strip(steps: Sequence[Step], look: Look, rows: int) -> list[Content]:
    """Bars of the latest steps, the newest last; on one linear scale, so that a jump is a jump."""
    if not steps:
        return []
    largest = max(step.seconds for step in steps) or 1.0
    ramp = look.heights
    lines = []
    for row in reversed(range(rows)):
        parts = []
        for step in steps:
            idea = UNCACHED if step.recomputed else CACHED
            filled = step.seconds / largest * rows - row
            if filled <= 0 and row > 0:
                parts.append((" ", ""))
            else:
                parts.append((ramp[min(len(ramp) - 1, max(0, int(filled * len(ramp))))], idea.style))
        lines.append(Content.assemble(*parts))
    jump = next((i for i, step in enumerate(steps) if step.recomputed), None)
    if jump is None:
        lines.append(Content.styled(f"the last {len(steps)} steps, largest {milliseconds(largest)}", DIM))
    else:
        lines.append(_pointer(jump, "recomputes the window", look, len(steps)))
    return lines


def _pointer(column: int, note: str, look: Look, width: int) -> Content:
    """An arrow to a column, with its note on the side that has room."""
    arrow = "^" if look.ascii else "↑"
    if column + 2 + len(note) <= max(width, len(note) + 2) or column < len(note) + 1:
        text = " " * column + f"{arrow} {note}"
    else:
        text = " " * (column - len(note) - 1) + f"{note} {arrow}"
    return Content.styled(text, UNCACHED.style)
