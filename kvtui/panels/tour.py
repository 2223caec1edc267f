"""What the guided tour says at a stop."""

from collections.abc import Sequence

from textual.content import Content

from kvtui.panels.panel import Line, View, ViewWidget, fitting, paragraph, spread
from kvtui.tour import STOPS
from kvtui.visual import DIM

KEYS = ("enter: next | escape: leave", "enter, escape", "enter")


class TourBox(ViewWidget):
    """Above the sentence while there is a tour; the keys of the main screen go on working."""

    DEFAULT_CSS = """
    TourBox { height: 5; padding: 0 2; background: $panel; display: none; &.-on { display: block; } }
    """

    def show(self, view: View) -> None:
        self.set_class(view.stop is not None, "-on")
        super().show(view)

    def lines(self, view: View, width: int, height: int) -> Sequence[Line]:
        if view.stop is None:
            return []
        stop = STOPS[view.stop]
        title = Content.styled(f"{view.stop + 1} of {len(STOPS)}  {stop.title}", "bold $primary")
        text = paragraph(stop.text, width, height - 1, view.look.ellipsis)
        last = view.stop + 1 == len(STOPS)
        keys = (Content.styled(keys.replace("next", "end") if last else keys, DIM) for keys in KEYS)
        return [spread(title, fitting(width - title.cell_length - 2, *keys), width), *text]
