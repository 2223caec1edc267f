"""Faults on purpose: one is switched on, and a second run shows what comes of it."""

from collections.abc import Iterable

from textual.events import Click

from kvtui.actions import no_fault, switch_fault
from kvtui.keys import Key
from kvtui.panels.faults import FaultListPanel, FaultPanel
from kvtui.panels.panel import Panel
from kvtui.screens.lab import LabScreen


class FaultsScreen(LabScreen):
    TITLE = "Faults"
    OWN_KEYS = (
        Key("down", "choose(1)", "The next fault", "choose", "choose", shows="up/down"),
        Key("up", "choose(-1)", "The fault before"),
        Key("enter", "switch", "Switch it on, and off", "on/off", "on/off"),
    )

    def panels(self) -> Iterable[Panel]:
        return FaultListPanel("fault-list"), FaultPanel("fault")

    def on_unmount(self) -> None:
        self.ask(no_fault)

    def on_click(self, event: Click) -> None:
        """A click chooses; one on what is chosen already switches it."""
        if not isinstance(event.widget, FaultListPanel):
            return
        by = event.widget.at_line(event.y)
        if by:
            self.action_choose(by)
        elif by == 0:
            self.action_switch()

    def action_choose(self, by: int) -> None:
        faults = self.query_one(FaultListPanel)
        faults.choose(by)
        self.query_one(FaultPanel).choose(faults.chosen)

    def action_switch(self) -> None:
        fault = self.query_one(FaultListPanel).chosen
        self.ask(lambda session: switch_fault(session, fault))
