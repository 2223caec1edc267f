"""Causal self-attention of the newest tokens over everything up to them."""

import math

import numpy as np

from model.ops import softmax


def causal_attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Queries (H, T, D) of the newest T of S tokens, over keys and values (H, S, D) -> (H, T, D).

    Query i stands at position S - T + i and sees the entries up to its own: all S - T older ones and
    the first i + 1 of the new. So only the trailing T x T corner of the scores needs a mask.
    """
    T, S = q.shape[1], keys.shape[1]
    scores = q @ keys.swapaxes(1, 2)  # (H, T, S)
    scores *= 1 / math.sqrt(q.shape[2])
    if T > 1:
        scores[:, :, S - T :] += np.triu(np.full((T, T), -np.inf, dtype=scores.dtype), k=1)
    return softmax(scores) @ values
