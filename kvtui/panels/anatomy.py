"""What is wrong with the naive slide, told apart: wrong positions, and stale context."""

from collections.abc import Sequence

from textual.content import Content

from kvtui.figures import count, percent
from kvtui.panels.bars import bars
from kvtui.panels.panel import Line, Panel, View
from kvtui.visual import BRIGHT, DIM, NAIVE

LABEL = 18
# What the divergence of each pair of models is due to, and its colour: only the naive slide has one.
CAUSES = (
    ("positions_only", "wrong positions", "$foreground"),
    ("stale", "stale context", "$foreground"),
    ("naive", "both", NAIVE.style),
)


class AnatomyPanel(Panel):
    def title(self, view: View) -> str:
        snapshot, title = view.snapshot, "Why the naive slide fails"
        looked_at = len(snapshot.anatomy)
        if looked_at == snapshot.slides:
            return title
        steps = f"{looked_at:,} of {count(snapshot.slides, 'step')}, those taken with this open"
        return f"{title} {view.look.dot} {steps}"

    def subtitle(self, view: View) -> str:
        return "KL in nats: three comparisons, no sum; the strip: every step, on one scale"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        look, rows = view.look, view.snapshot.anatomy.rows
        if not len(rows):
            return [Content.styled("Nothing is wrong until the window is full.", DIM)]
        heading = f"{'':{LABEL}}{'now':>7}{'mean':>7}{'agree':>7}  "
        room = max(1, width - len(heading))
        scale = max(float(rows[f"{pair}_kl"][-room:].max()) for pair, *_ in CAUSES) or 1.0
        lines: list[Line] = [Content.styled(heading + f"largest {scale:.2f}", DIM)]
        tall = max(1, min(4, (height - 2) // len(CAUSES)))
        for pair, cause, style in CAUSES:
            kl, agree = rows[f"{pair}_kl"], rows[f"{pair}_agree"]
            figures = f"{kl[-1]:7.2f}{kl.mean():7.2f}{percent(agree.mean()):>7}  "
            levels = kl[-room:] / scale
            strip = bars(levels, [style] * len(levels), tall, look)
            lines.append(
                Content.assemble((f"{cause:{LABEL}}", f"bold {style}"), (figures, BRIGHT), strip[0])
            )
            lines += [Content(" " * len(heading)) + line for line in strip[1:]]
        return lines
