"""What the model expects next; or past the limit, side by side, what two policies expect."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from kvtui.figures import percent
from kvtui.panels.panel import Line, Panel, View, fitting, joined, spread
from kvtui.snapshot import Candidate, PolicyState
from kvtui.visual import BRIGHT, DIM, POLICY_IDEAS, POLICY_LABELS, REAL, Idea, Look
from model.limit import Recompute


class NextCharacterPanel(Panel):
    def title(self, view: View) -> str:
        return "Next character"

    def subtitle(self, view: View) -> str:
        return "same text for both" if view.pair else view.sampling

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        look = view.look
        if not view.pair:
            return _column(view.snapshot.candidates, REAL, "real model", look, width, height)
        column = (width - 3) // 2
        summary = _summary(view, width)
        rows = max(2, height - len(summary))
        left, right = (
            _column(view.candidates(name), POLICY_IDEAS[name], POLICY_LABELS[name], look, column, rows)
            for name in view.pair
        )
        pairs = zip_longest(left, right, fillvalue=Content())
        table = [Content.assemble(a, " " * (column + 3 - a.cell_length), b) for a, b in pairs]
        return table + summary


def _column(
    candidates: tuple[Candidate, ...], idea: Idea, name: str, look: Look, width: int, rows: int
) -> list[Content]:
    """A heading, and the likeliest characters below it: mark of the choice, bar, per cent."""
    names = (f"{look.mark(idea)} {name}", f"{look.mark(idea)} {name.split()[0]}")
    lines = [fitting(width, *(Content.styled(name, f"bold {idea.style}") for name in names))]
    if not candidates:
        return [*lines, Content.styled("the text ends here", DIM)]
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
    """How far those that are shown agree with the real model, over all steps past the limit."""
    snapshot, look = view.snapshot, view.look
    if not snapshot.past_limit:
        left = snapshot.window_full_at - snapshot.length
        when = f"{left:,} to go" if left else "that is now"
        at = f"{snapshot.window_full_at:,}: {when}"
        ways = (f"the same until the window is full at {at}", f"the same until {at}")
        return [fitting(width, *(Content.styled(way, DIM) for way in ways))]
    states = view.shown_beside
    lines = [_agreement(state, look, width, Recompute.name in (view.pair or ())) for state in states]
    if Recompute.name not in (view.pair or ()):
        choice = next(candidate for candidate in snapshot.candidates if candidate.chosen)
        text = f"the real model, which writes: {look.glyph(choice.character)} {percent(choice.probability)}"
        lines.append(Content.styled(f"{look.mark(REAL)} {text}", REAL.style))
    elif len(states) == 1:
        lines += [_history(states[0], look, width), _first_difference(view, states[0], width)]
    return lines


def _agreement(state: PolicyState, look: Look, width: int, real_shown: bool) -> Content:
    """M of N, the divergence, and the verdict on this step; in a narrow panel without the shares.

    All of it beside the real model, which is named where it does not stand there.
    """
    comparisons, idea = state.comparisons, POLICY_IDEAS[state.name]
    now, n = comparisons[-1], len(comparisons)
    mark, word, style = (
        (look.agree, "same choice", REAL.style) if now.agree else (look.differ, "they differ", idea.style)
    )
    agreed, kl = (f"{comparisons.agreed:,} of {n:,}", BRIGHT), (f"{now.kl:.2f}", BRIGHT)
    if not real_shown:
        word = "the real model's choice" if now.agree else "another choice"
    label = "agree " if real_shown else f"{look.mark(idea)} agrees "
    full = Content.assemble(
        (label, DIM),
        agreed,
        (f" ({percent(comparisons.agreed / n)}) {look.dot} KL ", DIM),
        kl,
        (f", mean {comparisons.mean_kl:.2f}", DIM),
    )
    verdict = Content.styled(f"{mark} {word}", f"bold {style}")
    if full.cell_length + verdict.cell_length < width:
        return spread(full, verdict, width)
    short = Content.assemble((label, DIM), agreed, (f" {look.dot} KL ", DIM), kl)
    return spread(short, Content.styled(mark, f"bold {style}"), width)


def _history(state: PolicyState, look: Look, width: int) -> Content:
    """A mark for each of the latest steps: did both choose the same character?"""
    parts = []
    for comparison in state.comparisons[-width:]:
        agree, other = (REAL, look.agree), (POLICY_IDEAS[state.name], look.differ)
        idea, mark = agree if comparison.agree else other
        parts.append((mark, idea.style))
    return joined(parts)


def _first_difference(view: View, state: PolicyState, width: int) -> Content:
    first = state.comparisons.first_difference
    found = "no difference yet" if first is None else f"first difference after character {first:,}"
    same = f"the same up to {view.snapshot.window_full_at:,} {view.look.dot} "
    short = found.replace("character ", "")
    return fitting(width, *(Content.styled(text, DIM) for text in (same + found, found, short)))
