"""What the screens have in common that show the running session."""

from textual.screen import Screen

from kvtui.panels.panel import View, ViewWidget


class ViewScreen(Screen[None]):
    """Hands each view to its panels. The keys of the app go on working on it."""

    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self.view: View | None = None

    def on_mount(self) -> None:
        if self.view:  # given before there were panels
            self.show(self.view)

    def show(self, view: View) -> None:
        self.view = view
        for widget in self.query(ViewWidget):
            widget.show(view)
