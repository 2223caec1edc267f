"""The same logits without a cache: what each step would cost, and what the cached ones must equal."""

from collections.abc import Sequence

import numpy as np

from model.attention import causal_attention
from model.gpt import GPT


def forward_uncached(
    gpt: GPT,
    tokens: Sequence[int] | np.ndarray,
    block_rows: int | None = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Logits (T, V) of a whole text of T ids. Nothing is kept.

    With `block_rows` None, all scores (H, T, T) are computed at once. With a number, that many query
    rows at a time, each block against the columns that its last row can see: the fair baseline, which
    never holds more than (H, block_rows, T) scores and computes half as many.

    The tokens stand at the positions from 0 on. With `positions` (T,) each is taken as if it stood
    there instead; it still sees the tokens before it.

    Raises ValueError for bad ids or positions, for more of them than there are positions, or no rows.
    """
    if block_rows is not None and block_rows < 1:
        raise ValueError(f"block_rows must be at least 1, not {block_rows}")

    def attend(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        T = q.shape[1]
        rows = block_rows or T
        if rows >= T:
            return causal_attention(q, k, v)
        out = np.empty_like(v)
        for start in range(0, T, rows):
            end = min(start + rows, T)
            out[:, start:end] = causal_attention(q[:, start:end], k[:, :end], v[:, :end])
        return out

    ids = gpt.checked(tokens)
    at = np.arange(len(ids)) if positions is None else np.asarray(positions)
    if at.shape != ids.shape or at.min() < 0:
        raise ValueError(f"there must be a position, 0 or more, for each of {len(ids)} tokens, not {at}")
    return gpt.run(ids, at, attend)
