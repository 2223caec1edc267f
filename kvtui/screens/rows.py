"""A dialog of rows, each with a few values: arrows choose a row and turn it."""

from collections.abc import Mapping, Sequence
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtui.visual import BRIGHT, DIM

LABEL = 13  # cells in front of a value

Values = dict[str, Any]


class RowsScreen(ModalScreen[Values]):
    """Returns the values as they are when it is closed. Subclasses say what is shown for them."""

    AUTO_FOCUS = ""
    TITLE = ""
    DEFAULT_CSS = """
    RowsScreen { align: center middle; }
    RowsScreen > VerticalScroll {
        width: 90%; max-width: 84; height: auto; max-height: 94%;
        border: round $primary; padding: 0 1; background: $surface; scrollbar-size-vertical: 1;
        & > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """
    BINDINGS = [
        ("escape,enter,q", "close", "Close"),
        ("up", "row(-1)", "The row above"),
        ("down", "row(1)", "The row below"),
        ("left", "turn(-1)", "The value before"),
        ("right", "turn(1)", "The next value"),
    ]

    def __init__(self, rows: Mapping[str, Sequence[Any]], values: Values) -> None:
        """`rows` are the values that each can have; `values` those that they begin with."""
        super().__init__()
        self.rows, self.values, self.row = rows, values, 0
        self._shown = Static(id="rows")

    def compose(self) -> ComposeResult:
        box = VerticalScroll()
        box.border_title = self.TITLE
        box.border_subtitle = "escape closes | up, down: row | left, right: change it"
        with box:
            yield self._shown

    def on_mount(self) -> None:
        self._show()

    def content(self) -> Content:
        """What is shown for the present values."""
        raise NotImplementedError

    def action_row(self, by: int) -> None:
        self.row = (self.row + by) % len(self.rows)
        self._show()

    def action_turn(self, by: int) -> None:
        name = list(self.rows)[self.row]
        self.values[name] = turned(self.rows[name], self.values[name], by)
        self._show()

    def action_close(self) -> None:
        self.dismiss(self.values)

    def lines(self, notes: Mapping[str, str]) -> list[Content]:
        """The rows, the chosen one marked, each with its note."""
        chosen = list(self.rows)[self.row]
        width = max(len(_shown(value)) for values in self.rows.values() for value in values)
        return [
            _line(name, f"{_shown(self.values[name]):{width}}", notes.get(name, ""), name == chosen)
            for name in self.rows
        ]

    def _show(self) -> None:
        self._shown.update(self.content())


def turned(values: Sequence[Any], value: Any, by: int) -> Any:
    """The next of some values; at the end of them it stays."""
    place = values.index(value) + by
    return values[max(0, min(len(values) - 1, place))]


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value}"


def _line(name: str, value: str, note: str, chosen: bool) -> Content:
    style = "reverse bold $foreground" if chosen else BRIGHT
    return Content.assemble((f"{name:{LABEL}}", DIM), (f" < {value} > ", style), (f"  {note}", DIM))
