"""Memory: what this run's cache takes beside the model, and a calculator for models of any size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtui.figures import binary_size, percent
from kvtui.snapshot import Snapshot
from kvtui.visual import BRIGHT, CACHED, DIM, Look
from model.footprint import DTYPE_BITS, ModelShape, read_shape, sequences_that_outweigh
from model.presets import PRESETS

LABEL, BAR = 13, 20  # cells in front of the figures, and of a bar behind them


@dataclass(frozen=True)
class Choice:
    """What the calculator is asked."""

    model: str = "llama-2-7b"
    context: int = 4096
    sequences: int = 1
    cache: str = "fp16"


# The rows of the calculator: the fields of a Choice, and what they can be.
ROWS: dict[str, Sequence[Any]] = {
    "model": tuple(PRESETS),
    "context": tuple(2**i for i in range(7, 21)),
    "sequences": tuple(2**i for i in range(13)),
    "cache": tuple(DTYPE_BITS),
}


def turned(choice: Choice, field: str, by: int) -> Choice:
    """With the next value of a row; at the end of its values it stays."""
    values = ROWS[field]
    place = values.index(getattr(choice, field)) + by
    return replace(choice, **{field: values[max(0, min(len(values) - 1, place))]})


class MemoryScreen(ModalScreen[None]):
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    MemoryScreen { align: center middle; }
    MemoryScreen > VerticalScroll {
        width: 90%; max-width: 84; height: auto; max-height: 94%;
        border: round $primary; padding: 0 1; background: $surface; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS = [
        ("escape,c,q", "dismiss", "Close"),
        ("up", "row(-1)", "The row above"),
        ("down", "row(1)", "The row below"),
        ("left", "turn(-1)", "Less"),
        ("right", "turn(1)", "More"),
    ]

    def __init__(self, snapshot: Snapshot, look: Look) -> None:
        super().__init__()
        self._snapshot, self._look = snapshot, look
        self.choice, self.row = Choice(), 0

    def compose(self) -> ComposeResult:
        box = VerticalScroll()
        box.border_title = "Memory"
        box.border_subtitle = "up, down: row | left, right: change it | escape closes"
        with box:
            yield Static(this_run(self._snapshot, self._look))
            yield Static(id="calculator")

    def on_mount(self) -> None:
        self._show()

    def action_row(self, by: int) -> None:
        self.row = (self.row + by) % len(ROWS)
        self._show()

    def action_turn(self, by: int) -> None:
        self.choice = turned(self.choice, list(ROWS)[self.row], by)
        self._show()

    def _show(self) -> None:
        self.query_one("#calculator", Static).update(calculator(self.choice, self.row, self._look))


def this_run(snapshot: Snapshot, look: Look) -> Content:
    """The cache on the main screen, beside the model that fills it."""
    model = snapshot.model
    used, per_token = snapshot.cache.stored * model.bytes_per_token, model.bytes_per_token
    number = per_token // (2 * model.n_layer * model.n_head * model.head_dim)
    crossing = -(-model.nbytes // per_token)
    name = "".join(map(look.glyph, model.name))
    shape = f"2 x {model.n_layer} layers x {model.n_head} heads x {model.head_dim} wide x {number} bytes"
    lines = [
        Content.assemble(
            (f"{look.mark(CACHED)} This run: {name}", f"bold {CACHED.style}"), (f"  {shape}", DIM)
        ),
        _figure("per token", per_token),
        _figure("now", used, f"{percent(used / model.nbytes)} of the model"),
        _figure("model", model.nbytes, f"in {model.dtype}"),
        Content.assemble(
            ("A cache of ", DIM), (f"{crossing:,} tokens", BRIGHT), (" would be as large as the model", DIM)
        ),
    ]
    return Content("\n").join([*lines, Content()])


def calculator(choice: Choice, row: int, look: Look) -> Content:
    """The rows, the chosen one marked, and what comes of them."""
    shape = read_shape(PRESETS[choice.model])
    per_sequence = shape.bytes_per_sequence(choice.context, choice.cache)
    total, weights = per_sequence * choice.sequences, shape.weights_bytes(shape.dtype)
    assert weights is not None, "the weights of every preset can be counted"
    n, most = sequences_that_outweigh(weights, per_sequence), max(total, weights)
    return Content("\n").join(
        [
            Content.styled("Any other model", "bold $primary"),
            *_rows(choice, row, shape),
            Content(),
            _figure("per token", shape.bytes_per_token(choice.cache)),
            _figure("per sequence", per_sequence),
            _figure("caches", total, look.bar(total / most, BAR), CACHED.style),
            _figure("weights", weights, look.bar(weights / most, BAR), "$primary"),
            Content.assemble(
                (f"{n:,}", BRIGHT), (" such sequences take more memory than the weights", DIM)
            ),
            *(Content.styled(note, DIM) for note in _notes(choice, shape)),
        ]
    )


def _rows(choice: Choice, row: int, shape: ModelShape) -> list[Content]:
    lines = []
    notes = {
        "model": f"{shape.n_layer} layers x {shape.n_kv_head} KV heads x {shape.head_dim} wide",
        "cache": f"numbers; the weights are in {shape.dtype}",
    }
    for i, field in enumerate(ROWS):
        value = getattr(choice, field)
        text = f" < {value:,} > " if isinstance(value, int) else f" < {value} > "
        style = "reverse bold $foreground" if i == row else BRIGHT
        note = f"  {notes.get(field, '')}"
        lines.append(Content.assemble((f"{field:{LABEL}}", DIM), (text, style), (note, DIM)))
    return lines


def _notes(choice: Choice, shape: ModelShape) -> list[str]:
    """What does not hold for every model."""
    notes = []
    windows = [window for window in shape.windows if window is not None and window < choice.context]
    if windows:
        notes.append(f"A sliding window keeps {min(windows):,} tokens of a sequence")
    if shape.max_positions and choice.context > shape.max_positions:
        notes.append(f"The model was made for no more than {shape.max_positions:,} positions")
    return notes


def _figure(label: str, n: int, note: str = "", style: str = DIM) -> Content:
    return Content.assemble(
        (f"{label:{LABEL}}", DIM),
        (f"{n:>19,} bytes", BRIGHT),
        (f"{binary_size(n):>10}  ", DIM),
        (note, style),
    )
