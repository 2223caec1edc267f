"""The main screen: its panels, and the layout that the window has room for."""

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.widgets import Static

from kvtui.keys import KeyBar
from kvtui.panels.cache import CachePanel
from kvtui.panels.header import HeaderLine
from kvtui.panels.latency import LatencyPanel
from kvtui.panels.next_character import NextCharacterPanel
from kvtui.panels.panel import Panel, View
from kvtui.panels.sentence import Sentence
from kvtui.panels.step_time import StepTimePanel
from kvtui.panels.text import TextPanel
from kvtui.panels.tour import TourBox
from kvtui.screens.view_screen import ViewScreen

# Layouts, the largest first: classes; least width and height, and how many pages `v` turns through.
LAYOUTS = {
    "-all -tall": (100, 50, 1),
    "-all": (100, 34, 1),
    "-some": (80, 24, 2),
    "-few": (60, 15, 4),
    "-tiny": (0, 0, 1),
}


class MainScreen(ViewScreen):
    """All panels. Where they do not fit, they are on pages."""

    BINDINGS = [
        ("tab", "focus_panel(1)", "The next panel"),
        ("shift+tab", "focus_panel(-1)", "The panel before"),
    ]

    def __init__(self, zoomed: str = "") -> None:
        """`zoomed` is the panel that has the window for itself, if one has."""
        super().__init__()
        self._zoomed_first = zoomed
        self._zoomed_by_tour = False
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
        yield TourBox()
        yield Sentence()
        yield KeyBar()

    def on_mount(self) -> None:
        self._lay_out_for(self.app.size)  # the first picture comes before the first resize
        self.zoom(next((panel for panel in self.query(Panel) if panel.id == self._zoomed_first), None))
        super().on_mount()

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
        for other in " ".join(LAYOUTS).split():
            self.set_class(other in name.split(), other)
        self._set_page_class()
        self.query_one(TextPanel).framed = name != "-tiny"
        self.query_one(KeyBar).hide("v", hidden=LAYOUTS[name][2] == 1)

    def show(self, view: View) -> None:
        """The tour has a window that cannot hold all panels for itself and one panel at a time."""
        before = self.view.stop if self.view else None
        super().show(view)
        self.set_class(view.stop is not None, "-touring")
        if before is not None and view.stop is None and self._zoomed_by_tour:
            self._zoomed_by_tour = False
            self.zoom(None)

    def turn_to(self, name: str) -> None:
        """Focus a panel; where it shares a small window with others, alone."""
        panel = self.query_one(f"#{name}", Panel)
        if not self.zoomed and LAYOUTS[self.layout_name][2] > 1:
            self._zoomed_by_tour = True
        if self.zoomed or self._zoomed_by_tour:
            self.zoom(panel)
        panel.focus()

    @property
    def zoomed(self) -> str:
        """The panel that has the window for itself, if one has."""
        return next((panel.id or "" for panel in self.query(Panel) if panel.has_class("-zoomed")), "")

    def zoom(self, zoomed: Panel | None) -> None:
        """Give a panel the whole window, or with None all of them their places."""
        self.set_class(zoomed is not None, "-zoom")
        for panel in self.query(Panel):
            panel.set_class(panel is zoomed, "-zoomed")

    def action_focus_panel(self, by: int) -> None:
        """The next panel, or the one before; the zoomed one gives its place to it."""
        panels = list(self.query(Panel))
        if self.zoomed:
            at = [panel.id for panel in panels].index(self.zoomed)
            following = panels[(at + by) % len(panels)]
            self.zoom(following)  # first: what is not shown takes no focus
            following.focus()
        elif by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if self.zoomed and isinstance(event.widget, Panel):
            self.zoom(event.widget)

    def _set_page_class(self) -> None:
        for page in range(max(pages for _, _, pages in LAYOUTS.values())):
            self.set_class(page == self.page, f"-page-{page}")
