"""What all panels have in common: they are given a view, and draw it into the room that they have."""

from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from kvtui.curves import Curves
from kvtui.snapshot import Snapshot
from kvtui.visual import Look


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot, and how it is to be shown."""

    snapshot: Snapshot
    naive_shown: bool
    running: bool
    look: Look
    curves: Curves
    measuring: int | None  # the context whose curve is being measured


class ViewWidget(Widget):
    """Draws a view, anew only when it is given another one."""

    view: View | None = None

    def show(self, view: View) -> None:
        if view != self.view:
            self.view = view
            self.refresh()

    def render(self) -> Content:
        width, height = self.content_size
        if self.view is None or width < 1 or height < 1:
            return Content("")
        return Content("\n").join(self.lines(self.view, width, height)[:height])

    def lines(self, view: View, width: int, height: int) -> list[Content]:
        """The content, in at most `height` lines of `width` cells."""
        raise NotImplementedError


class Panel(ViewWidget, can_focus=True):
    """A titled box. Subclasses say what is in it, for a view and a size."""

    DEFAULT_CSS = """
    Panel {
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-title-style: bold;
        border-subtitle-color: $foreground 60%;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &:focus { border: round $primary; }
        &:ansi {
            border: round ansi_bright_black;
            border-subtitle-color: ansi_default;
            &:focus { border: round ansi_blue; }
        }
        &.-ascii { border: ascii $foreground 40%; }
    }
    """

    def show(self, view: View) -> None:
        self.border_title = Content(self.title(view))
        self.border_subtitle = Content(self.subtitle(view))
        super().show(view)

    def title(self, view: View) -> str:
        """What the panel shows, and how much of it."""
        raise NotImplementedError

    def subtitle(self, view: View) -> str:
        """How it is to be read."""
        return ""


def spread(left: Content, right: Content, width: int) -> Content:
    """Left and right at the two ends of a line; the right part gives way where both do not fit."""
    gap = width - left.cell_length - right.cell_length
    return left if gap < 2 else Content.assemble(left, " " * gap, right)
