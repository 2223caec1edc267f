"""What the KV cache holds: a strip of keys and one of values for every layer, a place per position."""

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from kvtui.figures import binary_size, count, percent
from kvtui.panels.panel import Line, View
from kvtui.panels.strips import LABEL, StripLayout, StripPanel, relative, row, ticks
from kvtui.snapshot import CacheContent
from kvtui.visual import BRIGHT, DIM, POLICY_IDEAS, Look

SCALE = 20  # cells behind it, for the range of the norms
KEYS, VALUES = "success", "secondary"  # colours of the theme
TALLEST = 4


class CachePanel(StripPanel):
    def patience(self, view: View) -> float:
        """Strips are what is dearest to send to a terminal. Past the limit, every cell of them changes."""
        return (0.5 if view.snapshot.past_limit else 0.25) if view.running else 0

    def show(self, view: View) -> None:
        super().show(view)
        if self._waiting:
            self.retitle()  # its figures do not wait

    def title(self, view: View) -> str:
        snapshot, dot = view.snapshot, view.look.dot
        per_token = snapshot.model.bytes_per_token
        stored, capacity = _shown(view).stored, snapshot.model.block_size
        whose = f" {dot} {view.shown_beside[-1].name}" if view.shown_beside else ""
        title = f"KV cache{whose} {dot} {stored:,} of {capacity:,} positions {dot} "
        title += f"{binary_size(stored * per_token)} of {binary_size(capacity * per_token)}"
        return title

    def subtitle(self, view: View) -> str:
        return f"{view.look.more}: larger norm, each strip on its own scale"

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        capacity = snapshot.model.block_size
        content = _shown(view)
        layout = StripLayout.fit(capacity, width - LABEL, look)
        with_scale = StripLayout.fit(capacity, width - LABEL - SCALE, look)
        if with_scale.per_bin == layout.per_bin:  # every position still has a place of its own
            layout = with_scale
        below = [row(layout, "position", [(tick, str(tick), DIM) for tick in ticks(capacity)])]
        if view.shown_beside:
            idea = POLICY_IDEAS[view.shown_beside[-1].name]
            below.append(_baked(layout, content.positions, idea.style))
        facts = _facts(view)
        facts_width = max(fact.cell_length for fact in facts)
        rows = 2 * snapshot.model.n_layer
        beside = width >= LABEL + layout.cells + SCALE + facts_width and rows >= len(facts)
        if not beside and height > rows + len(below):
            below.append(Content(f" {look.dot} ").join(facts))
        layers, room = snapshot.model.n_layer, height - len(below)
        tall = max(1, min(TALLEST, (room - layers + 1) // (2 * layers)))  # lines for each strip
        strips = self._strips(content, layout, look, width, facts if beside else [], tall)
        return [*_fitted(strips, layers, room), *below]

    def _strips(
        self,
        content: CacheContent,
        layout: "StripLayout",
        look: Look,
        width: int,
        facts: list[Content],
        tall: int,
    ) -> list[Line]:
        """Lines for the keys of each layer and for its values: the range of their norms, and facts."""
        lines: list[Line] = []
        for layer in range(content.keys.shape[0]):
            for letter, norms, colour in (
                ("K", content.keys[layer], KEYS),
                ("V", content.values[layer], VALUES),
            ):
                label = f"layer {layer}" if letter == "K" else ""
                after = Content.styled(_scale(norms, letter, width - LABEL - layout.cells), DIM)
                if len(lines) // tall < len(facts):
                    fact = facts[len(lines) // tall]
                    after = Content.assemble(after, " " * (SCALE - after.cell_length), fact)
                lines += self.strips(
                    f"{label:8}{letter}", relative(norms), layout, look, colour, len(norms) - 1, after, tall
                )
        return lines


def _scale(norms: np.ndarray, letter: str, room: int) -> str:
    if not len(norms):
        return ""
    text = f"  |{letter}| {norms.min():4.1f} to {norms.max():4.1f}"
    return text if len(text) <= room else ""


def _fitted(strips: list[Line], layers: int, room: int) -> list[Line]:
    """The strips with an empty line between layers, or without, or as many layers as there is room for."""
    each = len(strips) // layers
    if room >= len(strips) + layers - 1:
        spaced = [line for i in range(0, len(strips), each) for line in [Content(), *strips[i : i + each]]]
        return spaced[1:]
    if room >= len(strips):
        return strips
    shown = max(0, (room - 1) // 2)
    note = Content.styled(f"{count(layers - shown, 'more layer')}, in a larger window", DIM)
    return [*strips[: 2 * shown], note][: max(0, room)]


def _baked(layout: StripLayout, positions: np.ndarray, style: str) -> Content:
    """The positions that the entries were computed at, under those that they stand at now."""
    at = [tick for tick in ticks(layout.capacity) if tick < len(positions)]
    return row(layout, "baked in", [(tick, str(positions[tick]), f"bold {style}") for tick in at])


def _shown(view: View) -> CacheContent:
    """The cache of the policy on the right, where two are shown and have parted."""
    return view.shown_beside[-1].cache if view.shown_beside else view.snapshot.cache


def _facts(view: View) -> list[Content]:
    """What the cache takes: absolute figures first."""
    model = view.snapshot.model
    used = _shown(view).stored * model.bytes_per_token
    facts = [
        (f"{model.bytes_per_token:,} bytes", " per token"),
        (f"{used:,} bytes", " now"),
        (percent(used / model.nbytes), " of the weights"),
    ]
    return [Content.assemble((figure, BRIGHT), (what, DIM)) for figure, what in facts]
