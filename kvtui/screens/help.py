"""Help: what each panel shows, and the keys."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtui.keys import KEYS
from kvtui.visual import CACHED, POLICY_IDEAS, POLICY_LABELS, UNCACHED, Look

ABOUT = (
    "A real GPT writes one character a step. In every layer each character has a key, which says what it "
    "offers, and a value, which is what it gives. To predict the next character, the newest one compares a "
    "query of its own with all keys, and takes a mix of the values. Keys and values never change when a "
    "character is appended, so they are kept, in the KV cache, and a step computes one position instead "
    "of all of them."
)

PANELS = (
    (
        "Text",
        "The prompt and what the model wrote after it, the newest character marked. Struck characters have "
        "left the window: the model no longer sees them. Press 1 to 5 to append another candidate than the "
        "model's choice, and b to take it back.",
    ),
    (
        "Next character",
        "The likeliest next characters and the probabilities that the model gives them, whatever the "
        "temperature; the choice is marked. With n, or o for others, two ways to go on past the limit "
        "stand side by side; both read the same text, the real model's, so that every step is a fair "
        "comparison. KL, in nats, tells how far apart two predictions are; 0 is equal.",
    ),
    (
        "KV cache",
        "For each layer a strip for its keys (K) and one for its values (V), a place for each position; "
        "the shade is the length (norm) of the stored vector, from the least to the most of its strip. A "
        "position is added to a character before the first layer, so it is baked into its key: past the "
        "limit, with another policy on, the line below says at which position each entry was computed.",
    ),
    (
        "Latency",
        "What this step took and the usual one (the median; 95 of 100 take at most p95): the model's own "
        "work alone. Press u to compute every character without a cache too: 128 rows at a time, which is "
        "the fair comparison, or with the scores of all pairs of characters at once, which takes more "
        "memory; up to 128 characters the two are the same. The logits, the numbers behind the "
        "probabilities, must be the same, to rounding. A step of the naive slide also moves all entries "
        "by a place, right after a full pass, so it takes longer than one within the window.",
    ),
    (
        "Time per step",
        "The same times against the number of characters that the model sees, both axes logarithmic. The "
        "dots are this run's; the lines were measured beforehand, beyond the model's limit (the upright "
        "line) on a model of the same size with random weights. Press m for longer contexts.",
    ),
    (
        "Inspector",
        "Press i. For each head of a layer, how much of its attention the newest character pays to each "
        "stored entry, and below that the text, shaded by it. Arrows pick the layer and the entry, whose "
        "key and value stand there number by number; at the right each layer is held against a full pass.",
    ),
    (
        "Past the limit",
        "Press d. What one can do when the positions are used up, each way held against the real model on "
        "the same text: compute the window again (the real model), drop the oldest entry (naive slide), "
        "keep the first four as well (attention sinks), drop many at once and compute the rest again "
        "(refill), or stop. Below: how much of the naive slide's error comes from wrong positions, and how "
        "much from stale context: what entries hold of characters that were dropped. The two are "
        "comparisons of their own, not shares of a sum. With a temperature, choices are draws, and two "
        "that think nearly alike can draw differently.",
    ),
    (
        "Faults",
        "Press f. Mistakes that real caches have had. One that is switched on runs in a second model from "
        "the same prompt, as long as this screen is open, and appends what you choose by 1 to 5 as well: "
        "see what the fault does to the text, and which of the measurements notice it.",
    ),
)

TEXTUAL_KEYS = (
    ("tab", "Focus the next panel"),
    ("ctrl+p", "Every action, and the themes"),
    ("ctrl+q", "Quit"),
)


class HelpScreen(ModalScreen[None]):
    AUTO_FOCUS = "VerticalScroll"
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 90%; max-width: 96; height: auto; max-height: 94%;
        border: round $primary; padding: 0 2; background: $surface;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS = [
        ("escape,question_mark,f1,q", "dismiss", "Close"),
        ("space,pagedown", "scroll('down')", "Down"),
        ("b,pageup", "scroll('up')", "Up"),
    ]

    def __init__(self, look: Look, focused: str | None) -> None:
        """`focused` is the title of the panel that is explained first."""
        super().__init__()
        self._look, self._focused = look, focused

    def compose(self) -> ComposeResult:
        box = VerticalScroll()
        box.border_title = "Help"
        box.border_subtitle = "escape closes"
        with box:
            yield Static(self._content())

    def action_scroll(self, direction: str) -> None:
        box = self.query_one(VerticalScroll)
        if direction == "down":
            box.scroll_page_down()
        else:
            box.scroll_page_up()

    def _content(self) -> Content:
        parts: list[str | tuple[str, str]] = [ABOUT, "\n\n"]
        for title, text in sorted(PANELS, key=lambda panel: not (self._focused or "").startswith(panel[0])):
            parts += [(title, "bold $primary"), f"\n{text}\n\n"]
        for key, what in (*((key.all_shown, key.description) for key in KEYS), *TEXTUAL_KEYS):
            parts += [(f"{key:>13}", "bold $primary"), f"  {what}\n"]
        parts.append("\n")
        for idea, what in (
            (CACHED, "cached: one position was computed"),
            (UNCACHED, "uncached: every visible position was computed"),
            *((idea, POLICY_LABELS[name]) for name, idea in POLICY_IDEAS.items()),
        ):
            parts += [(f"{self._look.mark(idea):>13}", idea.style), f"  {what}\n"]
        return Content.assemble(*parts)
