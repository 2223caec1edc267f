"""The top line: which model this is, and how it is run."""

from collections.abc import Sequence

from textual.content import Content

from kvtui.figures import count, speed
from kvtui.panels.panel import Line, View, ViewWidget, spread
from kvtui.visual import CACHED, DIM, POLICY_IDEAS, POLICY_SHORT, REAL, UNCACHED


class HeaderLine(ViewWidget):
    DEFAULT_CSS = """
    HeaderLine { height: 1; padding: 0 1; background: $panel; }
    """

    def lines(self, view: View, width: int, height: int) -> Sequence[Line]:
        model, look = view.snapshot.model, view.look
        name = "".join(map(look.glyph, model.name))
        heading = Content.assemble(("kvtui ", "bold"), (name, f"bold {REAL.style}"))
        threads = f"{model.blas_threads or 'unknown'} BLAS thread" + "s" * (model.blas_threads != 1)
        facts = [
            f"{count(model.n_layer, 'layer')} x {count(model.n_head, 'head')}",
            count(model.block_size, "position"),
            model.dtype,
            threads,
        ]
        state = _state(view)
        room = width - heading.cell_length - state.cell_length - 4
        while facts and len(dotted := f" {look.dot} ".join(facts)) > room:
            facts.pop()
        left = Content.assemble(heading, "  ", (dotted, DIM)) if facts else heading
        return [spread(left, state, width)]


def _state(view: View) -> Content:
    if view.running:
        return Content.styled(f"running, {speed(view.steps_per_second)}", "bold")
    ideas = [(CACHED, "cached"), (UNCACHED, "uncached")]
    ideas += [(POLICY_IDEAS[name], POLICY_SHORT[name]) for name in view.pair or ()]
    marks = [Content.styled(f"{view.look.mark(idea)} {name}", idea.style) for idea, name in ideas]
    return Content("  ").join(marks)
