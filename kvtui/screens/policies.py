"""The limit laboratory: what one can do past the limit, and why sliding fails."""

from collections.abc import Iterable

from kvtui.panels.anatomy import AnatomyPanel
from kvtui.panels.entries import EntriesPanel
from kvtui.panels.ladder import LadderPanel
from kvtui.panels.panel import Panel
from kvtui.screens.lab import LabScreen


class PoliciesScreen(LabScreen):
    """While it is open, every step past the limit is taken apart, which takes another full pass."""

    TITLE = "Past the limit"

    def panels(self) -> Iterable[Panel]:
        return LadderPanel("ladder"), AnatomyPanel("anatomy"), EntriesPanel("entries")

    def on_mount(self) -> None:
        super().on_mount()
        self.ask(lambda session: session.watch_anatomy(True))

    def on_unmount(self) -> None:
        self.ask(lambda session: session.watch_anatomy(False))
