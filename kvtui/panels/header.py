"""The top line: which model this is, and how it is run."""

from textual.content import Content

from kvtui.panels.panel import View, ViewWidget, spread
from kvtui.visual import CACHED, DIM, NAIVE, REAL, UNCACHED


class HeaderLine(ViewWidget):
    DEFAULT_CSS = """
    HeaderLine { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def lines(self, view: View, width: int, height: int) -> list[Content]:
        model, look = view.snapshot.model, view.look
        name = Content.assemble(("kvtui ", "bold"), (model.name, f"bold {REAL.style}"))
        facts = [
            f"{model.n_layer} layers x {model.n_head} heads",
            f"{model.block_size:,} positions",
            model.dtype,
            "1 BLAS thread",
        ]
        while facts and name.cell_length + 2 + len(dotted := f" {look.dot} ".join(facts)) > width:
            facts.pop()
        left = Content.assemble(name, "  ", (dotted, DIM)) if facts else name
        return [spread(left, _state(view), width)]


def _state(view: View) -> Content:
    if view.running:
        return Content.styled("running", "bold")
    ideas = [(CACHED, "cached"), (UNCACHED, "uncached")]
    if view.naive_shown:
        ideas += [(REAL, "real"), (NAIVE, "naive")]
    marks = [Content.styled(f"{view.look.mark(idea)} {name}", idea.style) for idea, name in ideas]
    return Content("  ").join(marks)
