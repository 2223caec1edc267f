"""The cache against a full pass over what it holds: layer by layer, and the logits."""

from collections.abc import Sequence

from textual.content import Content

from kvtui.inspecting import Inspection
from kvtui.panels.panel import Line, Panel, View
from kvtui.visual import BRIGHT, CACHED, DIM, NAIVE, POLICY_LABELS, Look


class ExactnessPanel(Panel):
    def title(self, view: View) -> str:
        return "Exactness, layer by layer"

    def subtitle(self, view: View) -> str:
        return "largest difference from a full pass"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        inspection, look = view.snapshot.inspection, view.look
        if inspection is None:
            return []
        layers = len(inspection.key_differences)
        shown = layers if height >= layers + 3 else max(1, height - 4)
        lines: list[Line] = [Content.styled(f"{'':9}{'|dK|':>9}{'|dV|':>9}", DIM)]
        for layer in range(shown):
            differences = inspection.key_differences[layer], inspection.value_differences[layer]
            lines.append(_row(f"layer {layer}", differences, inspection.exact[layer], look))
        if shown < layers:
            lines.append(Content.styled(f"and {layers - shown} more", DIM))
        logits_exact = inspection.logits_exact
        lines.append(_row("logits", (inspection.logit_difference,), logits_exact, look))
        return [*lines, _verdict(inspection)]


def _row(label: str, differences: Sequence[float], exact: bool, look: Look) -> Content:
    idea, mark = (CACHED, look.agree) if exact else (NAIVE, look.differ)
    figures = "".join(f"{difference:9.0e}" if difference else f"{'0':>9}" for difference in differences)
    return Content.assemble(
        (f"{label:9}", DIM), (f"{figures:18}", BRIGHT), (f"  {mark}", f"bold {idea.style}")
    )


def _verdict(inspection: Inspection) -> Content:
    broken = [layer for layer, exact in enumerate(inspection.exact) if not exact]
    name = POLICY_LABELS[inspection.cursor.policy]
    if broken:
        return Content.styled(f"{name}: breaks in layer {broken[0]}", f"bold {NAIVE.style}")
    if not inspection.logits_exact:
        return Content.styled(f"{name}: the cache is right, the logits are not", f"bold {NAIVE.style}")
    return Content.styled(f"{name}: exact, to rounding", CACHED.style)
