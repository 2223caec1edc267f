"""Causal self-attention of the newest tokens over everything up to them."""

import math

import numpy as np


def causal_attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Queries (H, T, D) of the newest T of S tokens, over keys and values (H, S, D) -> (H, T, D).

    Query i stands at position S - T + i and sees the entries up to its own: all S - T older ones and
    the first i + 1 of the new. So only the trailing T x T corner of the scores needs a mask.
    """
    T, S = q.shape[1], keys.shape[1]
    scores = (q * (1 / math.sqrt(q.shape[2]))) @ keys.swapaxes(1, 2)  # (H, T, S)
    if T > 1:
        scores[:, :, S - T :] += np.triu(np.full((T, T), -np.inf, dtype=q.dtype), k=1)
    # Softmax, in place, its division moved behind the product: D numbers a row instead of S.
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    sums = scores.sum(axis=-1, keepdims=True)
    mixed = scores @ values
    mixed /= sums
    return mixed
