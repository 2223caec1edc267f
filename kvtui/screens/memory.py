"""Memory: what this run's cache takes beside the model, and a calculator for models of any size."""

from collections.abc import Sequence
from typing import Any

from textual.content import Content

from kvtui.figures import binary_size, percent
from kvtui.screens.rows import LABEL, RowsScreen, Values
from kvtui.snapshot import Snapshot
from kvtui.visual import BRIGHT, CACHED, DIM, Look
from model.footprint import DTYPE_BITS, ModelShape, read_shape, sequences_that_outweigh
from model.presets import PRESETS

BAR = 20  # cells

# What the calculator is asked, and what it begins with.
ROWS: dict[str, Sequence[Any]] = {
    "model": tuple(PRESETS),
    "context": tuple(2**i for i in range(7, 21)),
    "sequences": tuple(2**i for i in range(13)),
    "cache": tuple(DTYPE_BITS),
}
CHOICE: Values = {"model": "llama-2-7b", "context": 4096, "sequences": 1, "cache": "fp16"}


class MemoryScreen(RowsScreen):
    TITLE = "Memory"
    BINDINGS = [("c", "close", "Close")]

    def __init__(self, snapshot: Snapshot, look: Look) -> None:
        super().__init__(ROWS, dict(CHOICE))
        self._snapshot, self._look = snapshot, look

    def content(self) -> Content:
        shape = read_shape(PRESETS[self.values["model"]])
        notes = {
            "model": f"{shape.n_layer} layers x {shape.n_kv_head} KV heads x {shape.head_dim} wide",
            "cache": f"numbers; the weights are in {shape.dtype}",
        }
        heading = Content.styled("Any other model", "bold $primary")
        return Content("\n").join(
            [
                this_run(self._snapshot, self._look),
                heading,
                *self.lines(notes),
                Content(),
                calculator(self.values, self._look),
            ]
        )


def this_run(snapshot: Snapshot, look: Look) -> Content:
    """The cache on the main screen, beside the model that fills it."""
    model = snapshot.model
    used, per_token = snapshot.cache.stored * model.bytes_per_token, model.bytes_per_token
    number = per_token // (2 * model.n_layer * model.n_head * model.head_dim)
    crossing = -(-model.nbytes // per_token)
    name = "".join(map(look.glyph, model.name))
    shape = (
        f"2 (K, V) x {model.n_layer} layers x {model.n_head} heads x {model.head_dim} wide x {number} bytes"
    )
    lines = [
        Content.assemble(
            (f"{look.mark(CACHED)} This run: {name}", f"bold {CACHED.style}"), (f"  {shape}", DIM)
        ),
        _figure("per token", per_token),
        _figure("now", used, f"{percent(used / model.nbytes)} of the weights"),
        _figure("model", model.nbytes, f"in {model.dtype}"),
        Content.assemble(
            ("A cache of ", DIM), (f"{crossing:,} tokens", BRIGHT), (" would be as large as the model", DIM)
        ),
    ]
    return Content("\n").join([*lines, Content()])


def calculator(choice: Values, look: Look) -> Content:
    """What comes of a choice."""
    shape = read_shape(PRESETS[choice["model"]])
    per_sequence = shape.bytes_per_sequence(choice["context"], choice["cache"])
    total, weights = per_sequence * choice["sequences"], shape.weights_bytes(shape.dtype)
    assert weights is not None, "the weights of every preset can be counted"
    n, most = sequences_that_outweigh(weights, per_sequence), max(total, weights)
    return Content("\n").join(
        [
            _figure("per token", shape.bytes_per_token(choice["cache"])),
            _figure("per sequence", per_sequence),
            _figure("caches", total, look.bar(total / most, BAR), CACHED.style),
            _figure("weights", weights, look.bar(weights / most, BAR), "$primary"),
            Content.assemble(
                (f"{n:,}", BRIGHT), (" such sequences take more memory than the weights", DIM)
            ),
            *(Content.styled(note, DIM) for note in _notes(choice["context"], shape)),
        ]
    )


def _notes(context: int, shape: ModelShape) -> list[str]:
    """What does not hold for every model."""
    notes = []
    windows = [window for window in shape.windows if window is not None and window < context]
    if windows:
        notes.append(f"A sliding window keeps {min(windows):,} tokens of a sequence")
    if shape.max_positions and context > shape.max_positions:
        notes.append(f"The model was made for no more than {shape.max_positions:,} positions")
    return notes


def _figure(label: str, n: int, note: str = "", style: str = DIM) -> Content:
    return Content.assemble(
        (f"{label:{LABEL}}", DIM),
        (f"{binary_size(n):>10}", BRIGHT),  # first: it is what a narrow window has room for
        (f"{n:>20,} bytes  ", DIM),
        (note, style),
    )
