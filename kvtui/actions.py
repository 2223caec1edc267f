"""What the keys ask of a session. An action returns a word for the user, or nothing."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kvtui.figures import count, milliseconds, percent
from kvtui.session import Session
from kvtui.visual import visible

if TYPE_CHECKING:  # the first picture need not wait for it
    from model.faults import Fault

SLICE = 0.03  # seconds of engine work between two pictures on the way to the limit
LONG_SLICE = 0.12  # the same, where a step takes long

Action = Callable[[Session], str | None]


def toward_limit(session: Session) -> None:
    """A slice of the way to the limit, so that the screen shows how the cache fills."""
    end = time.perf_counter() + SLICE
    while session.length < session.window_full_at and time.perf_counter() < end:
        session.step()


def follow(session: Session) -> None:
    """A slice of what the run with a fault has yet to write, so that the screen shows it and keys work."""
    session.catch_up(LONG_SLICE)


def switch_fault(session: Session, fault: "Fault") -> None:
    """Switch it on; or where it is on already, off."""
    session.set_fault(None if session.fault == fault else fault)


def no_fault(session: Session) -> str | None:
    """The end of the run with a fault, as its screen is left."""
    was_on = session.fault
    session.set_fault(None)
    return "The fault is off again: its run ended as you left its screen." if was_on else None


def word_at_limit(session: Session) -> str | None:
    full = session.length >= session.window_full_at
    return "The window is full already; b goes back." if full else None


def one_back(session: Session) -> str | None:
    return None if session.back() else "This is the prompt: there is no step to undo."


def take(session: Session, rank: int, length: int | None = None) -> str | None:
    """A step with the so-manieth candidate; of a text of that `length`, if it was running until now."""
    if length not in (None, session.length):
        return f"The text has changed before the key came: press {rank + 1} again."
    candidates = session.snapshot().candidates
    if rank >= min(len(candidates), session.gpt.config.vocab_size):
        return f"There are only {count(len(candidates), 'candidate')}."
    session.step(rank)
    taken = candidates[rank]
    if taken.chosen:
        return None
    choice = next(candidate for candidate in candidates if candidate.chosen)
    return (
        f"Your choice: {visible(taken.character)!r} ({percent(taken.probability)}) instead of the model's "
        f"{visible(choice.character)!r} ({percent(choice.probability)}). b takes it back."
    )


def next_baseline(session: Session) -> str:
    session.set_baseline(session.baseline_mode.next)
    baseline = session.baseline
    if baseline is None:
        return "Baseline off."
    same = (
        f"differ by {baseline.max_abs_diff:.0e}"
        if baseline.max_abs_diff
        else "are the same to the last bit"
    )
    took = f"This one took {milliseconds(baseline.seconds)}, and its logits {same}."
    return f"Baseline: every character without a cache too, {baseline.mode.value}. {took}"
