"""One line in plain words: what the last step did."""

from collections.abc import Sequence

import numpy as np

from kvtui.figures import count, milliseconds
from kvtui.panels.panel import Line, View, ViewWidget, paragraph
from kvtui.snapshot import PolicyState, Snapshot
from model.limit import AttentionSinks, Refill


class Sentence(ViewWidget):
    DEFAULT_CSS = """
    Sentence { height: 2; padding: 0 2; color: $foreground; }
    """

    def lines(self, view: View, width: int, height: int) -> Sequence[Line]:
        return paragraph(sentence(view), width, height, view.look.ellipsis)


def sentence(view: View) -> str:
    """What the last action did to the cache, for someone who sees one for the first time."""
    snapshot = view.snapshot
    if view.word:
        return view.word
    if snapshot.went_back:
        return _back(snapshot)
    if not snapshot.steps:
        return _prefill(snapshot)
    if not snapshot.past_limit:
        return _decode(snapshot)
    return _beside(snapshot, view.shown_beside[-1]) if view.shown_beside else _recompute(snapshot)


def _back(snapshot: Snapshot) -> str:
    if snapshot.past_limit:
        done = "the window was computed again for the shorter text"
    elif not snapshot.steps:
        done = "the prompt went through the model again, as at the beginning"
    elif snapshot.length == snapshot.window_full_at:
        done = "the window was overwritten past the limit, so the cache was filled again, as it was"
    else:
        done = "the newest entry was trimmed from the cache, and no other had to change"
    return f"Back to {count(snapshot.length, 'character')}: {done}."


def _prefill(snapshot: Snapshot) -> str:
    layers, n = snapshot.model.n_layer, snapshot.cache.stored
    text = f"Prefill: the prompt's {count(n, 'character')} went through the model at once and left {n:,} "
    text += f"{'key and value' if n == 1 else 'keys and values'} in each of {count(layers, 'layer')}. "
    text += "Press space to step."
    if snapshot.length > n:
        return text.replace("prompt's", "prompt's last")
    return text


def _decode(snapshot: Snapshot) -> str:
    layers, n, size = snapshot.model.n_layer, snapshot.length, snapshot.model.block_size
    if n == size:
        text = (
            f"Character {n:,} took the last place: the cache is full, and the model has no position beyond "
        )
        return text + f"{n - 1:,}. From here on it recomputes the window at every step."
    text = f"Character {n:,}: one position was computed. It read {count(n - 1, 'stored position')} in each "
    return text + f"of {count(layers, 'layer')} and wrote 1 key and 1 value."


def _recompute(snapshot: Snapshot) -> str:
    n, size = snapshot.length, snapshot.model.block_size
    text = f"Character {n:,} is past the limit: every visible character moved to a new position, so all "
    text += f"{size:,} were computed again, in {milliseconds(snapshot.steps[-1].seconds)}"
    decode = snapshot.steps.seconds(recomputed=False)
    return text + (f" instead of {milliseconds(float(np.median(decode)))}." if len(decode) else ".")


def _beside(snapshot: Snapshot, policy: PolicyState) -> str:
    n, size = snapshot.length, snapshot.model.block_size
    choice = f"Its choice is {'' if policy.comparisons[-1].agree else 'not '}the real model's."
    if policy.name == Refill.name:
        stored = policy.cache.stored
        return (
            f"Character {n:,}: the refill cache holds {stored:,} of {size:,} entries, each at its rightful "
            f"place. Once full, it forgets the oldest and computes the others again. {choice}"
        )
    at_last = int((policy.cache.positions == size - 1).sum())
    sinks = "attention sinks kept the first few entries and dropped the oldest of the others"
    done = sinks if policy.name == AttentionSinks.name else "the naive cache dropped its oldest entry"
    return (
        f"Character {n:,}: {done}; {at_last:,} of its {size:,} entries were computed at position "
        f"{size - 1:,}. {choice}"
    )
