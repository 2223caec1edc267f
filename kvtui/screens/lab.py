"""The laboratory: screens beside the main one that look further into the same running session."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.events import Resize

from kvtui.actions import Action
from kvtui.keys import Key, KeyBar
from kvtui.panels.header import HeaderLine
from kvtui.panels.panel import Panel
from kvtui.panels.sentence import Sentence
from kvtui.screens.view_screen import ViewScreen

ROOMY = 30  # lines

# Of the main screen's keys, those that are shown on these.
SHARED = ("step", "step_back", "run", "limit", "help", "quit")


class LabScreen(ViewScreen):
    """Panels, and keys of their own in front of the ones that step."""

    OWN_KEYS: ClassVar[tuple[Key, ...]] = ()
    LEAVE = Key("escape", "leave_lab", "Back to the main screen", "leaves", "leaves", important=True)

    def __init__(self, ask: Callable[[Action], None]) -> None:
        """`ask` has the engine carry out an action."""
        super().__init__()
        self.ask = ask

    def __init_subclass__(cls) -> None:
        cls.BINDINGS = [  # before Textual reads them
            Binding(key.names, f"screen.{key.action}", key.description)
            for key in (*cls.OWN_KEYS, LabScreen.LEAVE)
        ]
        super().__init_subclass__()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= ROOMY, "-roomy")

    def panels(self) -> Iterable[Panel]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield HeaderLine()
        with Container(id="panels"):
            yield from self.panels()
        yield Sentence()
        yield KeyBar([*self.OWN_KEYS, self.LEAVE], SHARED)

    def action_leave_lab(self) -> None:
        self.dismiss()
