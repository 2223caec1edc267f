"""A look into a cache: one entry's key and value, what is attended to, and whether the cache is right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.comparison import TOLERANCES
from model.inspection import are_rounding, attention_weights, cache_differences
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
    characters: tuple[str, ...]  # of the stored entries (S,)
    positions: np.ndarray  # (S,), those that they were computed at
    attention: np.ndarray  # (H, S), of the newest entry, in the cursor's layer
    key: np.ndarray  # (D,)
    value: np.ndarray  # (D,)
    # Against a full pass over the stored tokens, at their rightful positions:
    key_differences: np.ndarray  # (n_layer,), the largest |dK|
    value_differences: np.ndarray  # (n_layer,)
    logit_difference: float
    max_abs_logit: float
    # Whether these are rounding alone, as in `kvtui verify`:
    exact: tuple[bool, ...]  # (n_layer,)
    logits_exact: bool


def inspect(
    policy: LimitPolicy,
    text: Sequence[int],
    logits: np.ndarray,
    cursor: Cursor,
    characters: Sequence[str],
) -> Inspection:
    """Look into the cache of a policy that is at a text, with the logits (V,) that it gave for it."""
    cache, window = policy.cache, policy.window(text)
    newest = cache.offset - 1
    entry = newest if cursor.entry is None else min(cursor.entry, newest)
    positions = policy.positions
    attention = attention_weights(policy.gpt, window[-1], positions[-1], cache)
    right = cache_differences(policy.gpt, window, cache)
    at = (cursor.layer, cursor.head, entry)
    logit_difference = float(np.abs(right.logits - logits).max())
    largest = float(np.abs(right.logits).max())
    exact = are_rounding(right.keys, cache.keys[:, :, : cache.offset])
    exact &= are_rounding(right.values, cache.values[:, :, : cache.offset])
    return Inspection(
        replace(cursor, policy=policy.name),
        entry,
        tuple(characters[token] for token in window),
        positions,
        attention[cursor.layer],
        cache.keys[at].copy(),
        cache.values[at].copy(),
        right.keys,
        right.values,
        logit_difference,
        largest,
        tuple(exact.tolist()),
        logit_difference <= TOLERANCES[str(policy.gpt.dtype)] * largest,
    )
