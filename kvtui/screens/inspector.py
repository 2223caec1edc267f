"""The inspector: a look into the cache, entry by entry."""

from collections.abc import Iterable
from dataclasses import replace

from kvtui.inspecting import Cursor
from kvtui.keys import Key
from kvtui.panels.attention import AttentionPanel
from kvtui.panels.entry import EntryPanel
from kvtui.panels.exactness import ExactnessPanel
from kvtui.panels.panel import Panel, View
from kvtui.panels.read_text import ReadTextPanel
from kvtui.screens.lab import LabScreen
from model.limit import Recompute


class InspectorScreen(LabScreen):
    """Keys pick the layer, the head and the entry."""

    TITLE = "Inspector"
    OWN_KEYS = (
        Key("right", "entry(1)", "The next entry", "entry", "entry", shows="left/right"),
        Key("left", "entry(-1)", "The entry before"),
        Key("up", "layer(1)", "The layer above", "layer", "layer", shows="up/down"),
        Key("down", "layer(-1)", "The layer below"),
        Key("h", "head(1)", "The next head", "head", "head"),
        Key("end", "newest", "The newest entry, and follow it", "newest", "newest"),
    )

    cursor = Cursor()

    def panels(self) -> Iterable[Panel]:
        return (
            AttentionPanel("attention"),
            ReadTextPanel("read-text"),
            EntryPanel("entry"),
            ExactnessPanel("exactness"),
        )

    def on_mount(self) -> None:
        super().on_mount()
        self.look_at(self.cursor)

    def on_unmount(self) -> None:
        self.ask(lambda session: session.inspect(None))

    def show(self, view: View) -> None:
        """Look into the cache of the policy that stands on the right, where two are compared."""
        if view.snapshot.inspection:
            super().show(view)
        policy = view.pair[1] if view.pair else Recompute.name
        if policy != self.cursor.policy:
            self.look_at(replace(self.cursor, policy=policy))

    def look_at(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.ask(lambda session: session.inspect(cursor))

    def action_entry(self, by: int) -> None:
        if self.view:
            newest = len(self.view.inspection.characters) - 1
            at = newest if self.cursor.entry is None else min(self.cursor.entry, newest)
            entry = max(0, min(newest, at + by))
            self.look_at(replace(self.cursor, entry=None if entry == newest else entry))

    def action_layer(self, by: int) -> None:
        if self.view:
            layers = self.view.snapshot.model.n_layer
            self.look_at(replace(self.cursor, layer=(self.cursor.layer + by) % layers))

    def action_head(self, by: int) -> None:
        if self.view:
            heads = self.view.snapshot.model.n_head
            self.look_at(replace(self.cursor, head=(self.cursor.head + by) % heads))

    def action_newest(self) -> None:
        self.look_at(replace(self.cursor, entry=None))
