"""The main screen: its panels, and the layout that the window has room for."""

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from kvtui.keys import KeyBar
from kvtui.panels.cache import CachePanel
from kvtui.panels.header import HeaderLine
from kvtui.panels.latency import LatencyPanel
from kvtui.panels.next_character import NextCharacterPanel
from kvtui.panels.panel import View, ViewWidget
from kvtui.panels.sentence import Sentence
from kvtui.panels.step_time import StepTimePanel
from kvtui.panels.text import TextPanel

# Layouts, the largest first: least width and height, and how many pages `v` turns through.
LAYOUTS = {"-all": (100, 34, 1), "-some": (80, 24, 2), "-few": (60, 15, 4), "-tiny": (0, 0, 1)}


class MainScreen(Screen[None]):
    """Shows a view. Where not all panels fit, they are on pages."""

    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self.view: View | None = None
        self.layout_name = ""
        self.page = 0

    def compose(self) -> ComposeResult:
        yield HeaderLine()
        with Container(id="panels"):
            yield TextPanel("text")
            yield NextCharacterPanel("next")
            yield CachePanel("cache")
            yield LatencyPanel("latency")
            yield StepTimePanel("step-time")
        yield Static("The panels need a window of 60 x 15.", id="size-note")
        yield Sentence()
        yield KeyBar()

    def on_mount(self) -> None:
        self._lay_out_for(self.app.size)  # the first picture comes before the first resize
        if self.view:  # given before there were panels
            self.show(self.view)

    def show(self, view: View) -> None:
        self.view = view
        for widget in self.query(ViewWidget):
            widget.show(view)

    def on_resize(self, event: Resize) -> None:
        self._lay_out_for(event.size)

    def _lay_out_for(self, size: Size) -> None:
        width, height = size
        fitting = (name for name, (w, h, _) in LAYOUTS.items() if width >= w and height >= h)
        self._lay_out(next(fitting))

    def turn_page(self) -> None:
        self.page = (self.page + 1) % LAYOUTS[self.layout_name][2]
        self._set_page_class()

    def _lay_out(self, name: str) -> None:
        if name == self.layout_name:
            return
        self.layout_name, self.page = name, 0
        for other in LAYOUTS:
            self.set_class(other == name, other)
        self._set_page_class()
        self.query_one(TextPanel).framed = name != "-tiny"
        self.query_one(KeyBar).hide("v", hidden=LAYOUTS[name][2] == 1)

    def _set_page_class(self) -> None:
        for page in range(max(pages for _, _, pages in LAYOUTS.values())):
            self.set_class(page == self.page, f"-page-{page}")
