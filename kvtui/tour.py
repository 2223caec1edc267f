"""The guided tour: stops that each do a real thing, and say what to look at."""

from collections.abc import Callable
from dataclasses import dataclass

from kvtui.session import Session
from kvtui.snapshot import BaselineMode


@dataclass(frozen=True)
class Stop:
    title: str
    panel: str  # where to look
    text: str
    do: Callable[[Session], None]
    naive: bool = False  # whether the naive slide is shown
    to_limit: bool = False  # go on until the window is full, slice by slice


def _begin(session: Session) -> None:
    session.set_baseline(BaselineMode.OFF)
    session.begin(session.tokenizer.decode(session.prompt))


def _steps(n: int, mode: BaselineMode = BaselineMode.OFF) -> Callable[[Session], None]:
    def do(session: Session) -> None:
        session.set_baseline(mode)
        for _ in range(n):
            session.step()

    return do


def _past_the_limit(n: int) -> Callable[[Session], None]:
    """At the n-th character past the limit, from wherever the session is."""

    def do(session: Session) -> None:
        session.set_baseline(BaselineMode.OFF)
        while session.length < session.window_full_at + n:
            session.step()

    return do


def _back_to_the_limit(session: Session) -> None:
    session.back_to(session.window_full_at)


STOPS = (
    Stop(
        "The prompt is read once",
        "cache",
        "The prompt went through the model in one pass, the prefill. In every layer each character left a "
        "key, which says what it offers, and a value, which is what it gives. They are the KV cache: "
        "a strip of keys (K) and one of values (V) for each layer, a place for each character.",
        _begin,
    ),
    Stop(
        "A step adds one column",
        "cache",
        "Eight characters were written. For each, one position was computed; it read all keys and values "
        "before it and added its own: the bright column. What is stored never changes, since no character "
        "looks ahead. That is why it can be kept.",
        _steps(8),
    ),
    Stop(
        "Without the cache",
        "latency",
        "The last four characters were computed a second time without a cache: the whole text, to predict "
        "one character. Compare the two times. And the logits, the numbers behind the probabilities, are "
        "the same, to the last digits that a computer has. The cache changes nothing but the time.",
        _steps(4, BaselineMode.BLOCKED),
    ),
    Stop(
        "The longer, the more it saves",
        "step-time",
        "The lines were measured beforehand, on longer texts too. Without a cache a step gets dearer with "
        "every character. With it, the time hardly grows, until reading the cache takes longer than the "
        "rest of a step.",
        _steps(4, BaselineMode.BLOCKED),
    ),
    Stop(
        "The cache is full",
        "cache",
        "The text goes on to the model's limit. It learned so many positions, and there are no more: every "
        "place is taken. What it costs is in the panel: bytes per token, and all of them beside the model.",
        _steps(0),
        to_limit=True,
    ),
    Stop(
        "Past the limit",
        "latency",
        "Now every visible character moves to a new position at each step. A position is added to a "
        "character before the first layer, so all keys and values change: the whole window is computed "
        "again. That is what the jump in the times is.",
        _past_the_limit(3),
    ),
    Stop(
        "The naive slide",
        "next",
        "Why not drop the oldest entry, and go on? It is fast. But the entries that stay were computed at "
        "positions that are no longer theirs, and still carry what the dropped ones said. Both models read "
        "the same text here; see how rarely they choose the same character.",
        _past_the_limit(24),
        naive=True,
    ),
    Stop(
        "Baked in",
        "cache",
        "Below the strips: where each entry stands, and the position that it was computed at. With every "
        "step each stands one place further from there, and one more was computed at the last position.",
        _past_the_limit(40),
        naive=True,
    ),
    Stop(
        "Yours",
        "text",
        "Back at the limit, exactly as it was: b undoes any step, 1 to 5 take another character. i looks "
        "into the cache, d compares all ways past the limit, f puts bugs of real caches in; p takes "
        "another prompt, c works out the cache of other models, ? explains everything.",
        _back_to_the_limit,
    ),
)
