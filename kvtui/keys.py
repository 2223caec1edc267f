"""The bottom line: the keys. What does not fit is left out, but never help and quit."""

from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from kvtui.visual import DIM


@dataclass(frozen=True)
class Key:
    key: str
    label: str
    short: str  # where the long one has no room
    action: str
    important: bool = False


KEYS = (
    Key("space", "step", "step", "app.step"),
    Key("b", "back", "back", "app.step_back"),
    Key("r", "run", "run", "app.run"),
    Key("l", "to the limit", "limit", "app.limit"),
    Key("n", "naive slide", "naive", "app.naive"),
    Key("u", "baseline", "base", "app.baseline"),
    Key("v", "more panels", "more", "app.view", important=True),
    Key("p", "prompt", "prompt", "app.prompt"),
    Key("m", "measure", "meas.", "app.measure"),
    Key("?", "help", "help", "app.help", important=True),
    Key("q", "quit", "quit", "app.quit", important=True),
)


class KeyBar(Widget):
    """Each key and what it does; a click does the same."""

    DEFAULT_CSS = """
    KeyBar {
        height: 1; padding: 0 1; background: $panel; text-wrap: nowrap;
        link-style: none; link-color: $foreground; link-background-hover: $primary;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._hidden: set[str] = set()

    def hide(self, key: str, hidden: bool) -> None:
        """Leave a key out, or show it whatever the width."""
        (self._hidden.add if hidden else self._hidden.discard)(key)
        self.refresh()

    def render(self) -> Content:
        keys = [key for key in KEYS if key.key not in self._hidden]
        shown, gap = fitting(keys, self.content_size.width)
        return Content(" " * gap).join([_clickable(key, label) for key, label in shown])


def fitting(keys: list[Key], width: int) -> tuple[list[tuple[Key, str]], int]:
    """The keys that fit with their labels, and the gap between them.

    First with long labels, then with short ones, then without the last of the unimportant keys.
    """
    labelled, gap = [(key, key.label) for key in keys], 2
    if _length(labelled, gap) > width:
        labelled, gap = [(key, key.short) for key in keys], 1
    while _length(labelled, gap) > width and (droppable := [k for k in labelled if not k[0].important]):
        labelled.remove(droppable[-1])
    return labelled, gap


def _length(labelled: list[tuple[Key, str]], gap: int) -> int:
    return sum(len(key.key) + 1 + len(label) + gap for key, label in labelled) - gap


def _clickable(key: Key, label: str) -> Content:
    return Content.from_markup(
        f"[@click={key.action}][bold $primary]$key[/] [{DIM}]$label[/][/]", key=key.key, label=label
    )
