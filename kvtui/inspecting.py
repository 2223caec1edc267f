"""A look into a cache: one entry's key and value, what is attended to, and whether the cache is right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.inspection import attention_weights, cache_differences
from model.limit import LimitPolicy, Recompute


@dataclass(frozen=True, slots=True)
class Cursor:
    """What is looked at."""

    policy: str = Recompute.name  # whose cache
    layer: int = 0
    head: int = 0
    entry: int | None = None  # None: the newest, whichever that is


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    cursor: Cursor
    entry: int  # the one that the cursor is at
    tokens: tuple[int, ...]  # of the stored entries (S,)
    positions: np.ndarray  # (S,), those that they were computed at
    attention: np.ndarray  # (H, S), of the newest entry, in the cursor's layer
    key: np.ndarray  # (D,)
    value: np.ndarray  # (D,)
    # Against a full pass over the stored tokens, at their rightful positions:
    key_differences: np.ndarray  # (n_layer,), the largest |dK|
    value_differences: np.ndarray  # (n_layer,)
    logit_difference: float
    max_abs_logit: float


def inspect(policy: LimitPolicy, text: Sequence[int], logits: np.ndarray, cursor: Cursor) -> Inspection:
    """Look into the cache of a policy that is at a text, with the logits (V,) that it gave for it."""
    cache, window = policy.cache, policy.window(text)
    newest = cache.offset - 1
    entry = newest if cursor.entry is None else min(cursor.entry, newest)
    positions = policy.positions
    attention = attention_weights(policy.gpt, window[-1], positions[-1], cache)
    right = cache_differences(policy.gpt, window, cache)
    at = (cursor.layer, cursor.head, entry)
    return Inspection(
        cursor,
        entry,
        tuple(window),
        positions,
        attention[cursor.layer],
        cache.keys[at].copy(),
        cache.values[at].copy(),
        right.keys,
        right.values,
        float(np.abs(right.logits - logits).max()),
        float(np.abs(right.logits).max()),
    )
