"""The cache against a full pass over what it holds: layer by layer, and the logits."""

from collections.abc import Sequence

from textual.content import Content

from kvtui.figures import count
from kvtui.inspecting import Inspection
from kvtui.panels.panel import Line, Panel, View
from kvtui.visual import BRIGHT, CACHED, DIM, NAIVE, POLICY_LABELS, Look


class ExactnessPanel(Panel):
    def title(self, view: View) -> str:
        inspection = view.inspection
        return f"{POLICY_LABELS[inspection.cursor.policy]}: {_verdict(inspection)}"

    def subtitle(self, view: View) -> str:
        return "largest difference from a full pass"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        inspection, look = view.inspection, view.look
        layers = len(inspection.exact)
        shown = layers if height > layers else max(0, height - 2)
        lines = [_layer(inspection, layer, look) for layer in range(shown)]
        if shown < layers:
            lines.append(Content.styled(f"and {count(layers - shown, 'layer')} more", DIM))
        figure = _figure("", inspection.logit_difference)
        return [*lines, _row("logits", [figure], inspection.logits_exact, look)]


def _layer(inspection: Inspection, layer: int, look: Look) -> Content:
    keys = _figure("|dK| ", inspection.key_differences[layer])
    values = _figure("|dV| ", inspection.value_differences[layer])
    return _row(f"layer {layer}", [keys, values], inspection.exact[layer], look)


def _figure(label: str, difference: float) -> Content:
    return Content.assemble((f"{label:>7}", DIM), (f"{difference:5.0e}" if difference else "    0", BRIGHT))


def _row(label: str, figures: Sequence[Content], exact: bool, look: Look) -> Content:
    idea, mark = (CACHED, look.agree) if exact else (NAIVE, look.differ)
    return Content.assemble(
        (f"{mark} ", f"bold {idea.style}"), (f"{label:8}", DIM), Content("").join(figures)
    )


def _verdict(inspection: Inspection) -> str:
    """In which layer the cache is wrong first, if it is."""
    broken = [layer for layer, exact in enumerate(inspection.exact) if not exact]
    if broken:
        return f"breaks in layer {broken[0]}"
    return "exact, to rounding" if inspection.logits_exact else "the cache is right, the logits are not"
