"""The bottom line: the keys. What does not fit is left out, but never help and quit."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from kvtui.visual import DIM


@dataclass(frozen=True)
class Key:
    """A key, and what it does: for the bindings, the key bar, the palette and the help."""

    names: str  # as Textual calls them, the usual one first
    action: str
    description: str
    label: str = ""  # in the key bar; one without is in the help and the palette alone
    short: str = ""  # where that has no room
    important: bool = False
    shows: str = ""  # in the key bar, where that is not the usual key

    @property
    def all_shown(self) -> str:
        return self.names.replace("question_mark", "?").replace(",", ", ")

    @property
    def shown(self) -> str:
        return self.shows or self.all_shown.split(", ")[0]


KEYS = (
    Key("space,right", "step", "Step: the next character", "step", "step"),
    Key("b,left", "step_back", "Back one step, exactly", "back", "back"),
    Key("r", "run", "Run, and pause", "run", "run"),
    Key("l", "limit", "Go to the limit of the model's positions", "to the limit", "limit"),
    Key("n", "naive", "Naive slide beside the real model, on and off", "naive slide", "naive"),
    Key("u", "baseline", "Baseline: off, 128 rows at a time, all scores at once", "baseline", "base"),
    Key("v", "view", "The next panels, where the window is small", "more panels", "more", important=True),
    Key("t", "tour", "The guided tour, from the prompt on", "tour", "tour"),
    Key("i", "inspect", "Inspector: attention, keys, values, exactness by layer", "inspect", "insp."),
    Key("d", "policies", "Past the limit: all policies, and why sliding fails", "limit lab", "lab"),
    Key("f", "faults", "Faults on purpose: what a bug in a cache looks like", "faults", "faults"),
    Key("p", "prompt", "Another prompt", "prompt", "prompt"),
    Key("c", "memory", "Memory: this run's cache, and a calculator for other models", "memory", "mem."),
    Key("s", "sampling", "Sampling: temperature, top k, seed", "sampling", "samp."),
    Key("z", "zoom", "The focused panel alone, and back", "zoom", "zoom"),
    Key("m", "measure", "Measure contexts up to 16,384 in the background, and stop", "measure", "meas."),
    Key("o", "other(1,1)", "Another policy on the right-hand side"),
    Key("O", "other(0,1)", "Another policy on the left-hand side"),
    *(
        Key(str(rank + 1), f"take({rank})", f"Take the {ordinal} candidate instead of the model's choice")
        for rank, ordinal in enumerate(("likeliest", "second", "third", "fourth", "fifth"))
    ),
    Key("up", "faster", "Run faster"),
    Key("down", "slower", "Run slower"),
    Key("e", "export", "Export the run as JSON and CSV, the screen as SVG"),
    Key("y", "copy", "Copy the text"),
    Key("question_mark,f1", "help", "Help", "help", "help", important=True),
    Key("q", "quit", "Quit", "quit", "quit", important=True),
)


class KeyBar(Widget):
    """Each key and what it does; a click does the same."""

    DEFAULT_CSS = """
    KeyBar {
        height: 1; padding: 0 1; background: $panel; text-wrap: nowrap;
        link-style: none; link-color: $foreground; link-background-hover: $primary;
    }
    """

    def __init__(self, own: Sequence[Key] = (), actions: Sequence[str] | None = None) -> None:
        """The keys of `own`, and those of KEYS with these actions; None: all."""
        super().__init__()
        self._keys = [*own, *(key for key in KEYS if actions is None or key.action in actions)]
        self._hidden: set[str] = set()

    def hide(self, key: str, hidden: bool) -> None:
        """Leave a key out, or show it whatever the width."""
        (self._hidden.add if hidden else self._hidden.discard)(key)
        self.refresh()

    def render(self) -> Content:
        keys = [key for key in self._keys if key.label and key.shown not in self._hidden]
        shown, gap = fitting(keys, self.content_size.width)
        return Content(" " * gap).join([_clickable(key, label) for key, label in shown])


def fitting(keys: list[Key], width: int) -> tuple[list[tuple[Key, str]], int]:
    """The keys that fit with their labels, and the gap between them.

    The last of the unimportant keys give way; what room is left, the first labels have.
    """
    labelled, gap = [(key, key.short) for key in keys], 1
    while _length(labelled, gap) > width and (droppable := [k for k in labelled if not k[0].important]):
        labelled.remove(droppable[-1])
    for i, (key, _) in enumerate(labelled):
        longer = [*labelled[:i], (key, key.label), *labelled[i + 1 :]]
        if _length(longer, gap) <= width:
            labelled = longer
    return labelled, 2 if _length(labelled, 2) <= width else 1


def _length(labelled: list[tuple[Key, str]], gap: int) -> int:
    return sum(len(key.shown) + 1 + len(label) + gap for key, label in labelled) - gap


def _clickable(key: Key, label: str) -> Content:
    target = f"{'app' if key in KEYS else 'screen'}.{key.action}"
    content = Content.assemble((key.shown, "bold $primary"), " ", (label, DIM))
    return content.stylize(Style.from_meta({"@click": target}))
