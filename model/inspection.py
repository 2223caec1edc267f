"""What attention reads from a cache, and how far a cache is from what it should hold."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.attention import causal_attention
from model.cache import KVCache
from model.comparison import TOLERANCES
from model.gpt import GPT
from model.ops import softmax


def attention_weights(gpt: GPT, token: int, position: int, cache: KVCache) -> np.ndarray:
    """The share of its attention that the newest token pays to each stored entry: (n_layer, H, S).

    `token`, computed at `position`, is the cache's last entry. It goes through the model once more,
    reading the cache as it stands and writing nothing. Each row sums to 1.
    """
    weights = []

    def attend(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        keys, values = (stored[layer, :, : cache.offset] for stored in (cache.keys, cache.values))
        scores = q @ keys.swapaxes(1, 2) / math.sqrt(q.shape[2])  # (H, 1, S)
        weights.append(softmax(scores)[:, 0])
        return weights[-1][:, None] @ values

    gpt.run(gpt.checked([token]), np.array([position]), attend)
    return np.stack(weights)


class Differences(NamedTuple):
    """How far a cache is from what a full pass gives, and the logits of that pass."""

    keys: np.ndarray  # (n_layer,), the largest |dK| of each layer
    values: np.ndarray  # (n_layer,), the largest |dV|
    logits: np.ndarray  # (V,), what the last token's should be


def are_rounding(differences: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Whether the largest difference of each layer (n_layer,) counts as rounding: (n_layer,) of bool.

    It is held against the largest of the layer's stored keys, or values, (n_layer, H, S, D).
    """
    return differences <= TOLERANCES[str(stored.dtype)] * np.abs(stored).max(axis=(1, 2, 3))


def cache_differences(gpt: GPT, window: Sequence[int], cache: KVCache) -> Differences:
    """Hold a cache against a full pass over the S tokens that it holds, at the positions from 0 on.

    Raises ValueError where the cache does not hold as many entries as there are tokens.
    """
    tokens = gpt.checked(window)
    if cache.offset != len(tokens):
        raise ValueError(f"the cache holds {cache.offset} entries, and there are {len(tokens)} tokens")
    differences: tuple[list[float], list[float]] = ([], [])

    def attend(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        for right, stored, largest in zip((k, v), (cache.keys, cache.values), differences, strict=True):
            largest.append(float(np.abs(stored[layer, :, : cache.offset] - right).max()))
        return causal_attention(q, k, v)

    logits = gpt.run(tokens, np.arange(len(tokens)), attend)
    return Differences(np.array(differences[0]), np.array(differences[1]), logits[-1])
