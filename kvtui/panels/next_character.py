"""What the model expects next; past the limit, beside it, what the naive slide expects."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from kvtui.figures import percent
from kvtui.panels.panel import Line, Panel, View, joined, spread
from kvtui.snapshot import Candidate, NaiveState
from kvtui.visual import BRIGHT, DIM, NAIVE, REAL, Idea, Look

SUMMARY_LINES = 3


class NextCharacterPanel(Panel):
    def title(self, view: View) -> str:
        return "Next character"

    def subtitle(self, view: View) -> str:
        return "same text for both" if view.naive_shown else view.sampling

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        if not view.naive_shown:
            return _column(snapshot.candidates, REAL, "real model", look, width, height)
        column = (width - 3) // 2
        rows = max(2, height - SUMMARY_LINES)
        real = _column(snapshot.candidates, REAL, "real model", look, column, rows)
        # Before the window is full the naive slide has nothing to drop: it is the real model.
        naive_candidates = snapshot.naive.candidates if snapshot.naive else snapshot.candidates
        naive = _column(naive_candidates, NAIVE, "naive slide", look, column, rows)
        pairs = zip(real, naive, strict=True)
        table = [Content.assemble(a, " " * (column + 3 - a.cell_length), b) for a, b in pairs]
        return table + _summary(view, width)


def _column(
    candidates: tuple[Candidate, ...], idea: Idea, name: str, look: Look, width: int, rows: int
) -> list[Content]:
    """A heading, and the likeliest characters below it: mark of the choice, bar, per cent."""
    lines = [Content.styled(f"{look.mark(idea)} {name}", f"bold {idea.style}")]
    shown = list(candidates[: rows - 1])
    if shown and not any(candidate.chosen for candidate in shown):  # drawn from further down
        shown[-1] = next(candidate for candidate in candidates if candidate.chosen)
    glyphs = [look.glyph(candidate.character) for candidate in shown]
    glyph_width = max([2, *map(cell_len, glyphs)])
    bar_width = max(1, width - 10 - glyph_width)
    for candidate, glyph in zip(shown, glyphs, strict=True):
        mark = look.mark(idea) if candidate.chosen else " "
        share = percent(candidate.probability)
        bar = look.bar(candidate.probability, bar_width)
        lines.append(
            Content.assemble(
                (f"{mark} ", idea.style),
                (set_cell_size(glyph, glyph_width + 1), BRIGHT if candidate.chosen else "$foreground"),
                (f"{bar:<{bar_width}}", idea.style),
                (f"{share:>6}", BRIGHT if candidate.chosen else DIM),
            )
        )
    return lines


def _summary(view: View, width: int) -> list[Content]:
    """How far the two agree, over all steps past the limit."""
    snapshot, look = view.snapshot, view.look
    naive = snapshot.naive
    if naive is None:
        left = snapshot.window_full_at - snapshot.length
        when = f"{left:,} to go" if left else "that is now"
        return [
            Content.styled(f"the same until the window is full at {snapshot.window_full_at:,}: {when}", DIM)
        ]
    return [
        _agreement(naive, look, width),
        _history(naive, look, width),
        _first_difference(view, naive, width),
    ]


def _agreement(naive: NaiveState, look: Look, width: int) -> Content:
    """M of N, the divergence, and the verdict on this step; in a narrow panel without the shares."""
    now, n = naive.comparisons[-1], len(naive.comparisons)
    mark, word, style = (
        (look.agree, "same choice", REAL.style) if now.agree else (look.differ, "they differ", NAIVE.style)
    )
    agreed, kl = (f"{naive.agreed:,} of {n:,}", BRIGHT), (f"{now.kl:.2f} nats", BRIGHT)
    full = Content.assemble(
        ("agree ", DIM),
        agreed,
        (f" ({percent(naive.agreed / n)}) {look.dot} KL ", DIM),
        kl,
        (f" mean {naive.mean_kl:.2f}", DIM),
    )
    verdict = Content.styled(f"{mark} {word}", f"bold {style}")
    if full.cell_length + verdict.cell_length < width:
        return spread(full, verdict, width)
    short = Content.assemble(("agree ", DIM), agreed, (f" {look.dot} KL ", DIM), kl)
    return spread(short, Content.styled(mark, f"bold {style}"), width)


def _history(naive: NaiveState, look: Look, width: int) -> Content:
    """A mark for each of the latest steps: did both choose the same character?"""
    parts = []
    for comparison in naive.comparisons[-width:]:
        idea, mark = (REAL, look.agree) if comparison.agree else (NAIVE, look.differ)
        parts.append((mark, idea.style))
    return joined(parts)


def _first_difference(view: View, naive: NaiveState, width: int) -> Content:
    first = naive.first_difference
    found = "no difference yet" if first is None else f"first difference at {first:,}"
    same = f"the same until {view.snapshot.window_full_at:,} {view.look.dot} "
    return Content.styled(same + found if len(same + found) <= width else found, DIM)
