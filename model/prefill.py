"""A whole prompt through the cache."""

from collections.abc import Sequence

import numpy as np

from model.cache import KVCache
from model.gpt import GPT


def prefill(
    gpt: GPT, tokens: Sequence[int] | np.ndarray, cache: KVCache, step_size: int = 128
) -> np.ndarray:
    """Put T tokens into the cache, `step_size` at a time, and return the logits (V,) of the last one.

    A chunk needs scores of (H, step_size, S) at once, so chunks bound the memory of a long prompt.
    Raises as `GPT.forward` does, and leaves the cache as it was.
    """
    if step_size < 1:
        raise ValueError(f"step_size must be at least 1, not {step_size}")
    tokens = gpt.checked(tokens)
    cache.require_room(len(tokens))
    gpt.check_position(cache.offset + len(tokens) - 1)
    for start in range(0, len(tokens), step_size):
        logits = gpt.forward(tokens[start : start + step_size], cache)
    return logits[-1]
