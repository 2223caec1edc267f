"""What happens past `block_size`, where a model with learned positions has none left to give.

A policy continues one text. It is shown the whole text at every step and keeps a cache of what the
model currently sees of it; up to the limit all policies do the same.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

import numpy as np

from model.cache import KVCache
from model.decoder import Decoder
from model.gpt import GPT
from model.prefill import prefill


class LimitPolicy(ABC):
    """Logits of the next token of a growing text, through a cache of block_size tokens."""

    name: str

    def __init__(self, gpt: GPT) -> None:
        self.gpt = gpt
        self.cache = KVCache(gpt.config, dtype=gpt.dtype)
        self.decoder = Decoder(gpt, self.cache)

    def start(self, text: Sequence[int]) -> np.ndarray:
        """Begin with the last block_size tokens of a text: prefill. Returns logits (V,)."""
        window = self.gpt.checked(text[-self.cache.max_seq_len :])
        self.cache.reset()
        return prefill(self.gpt, window, self.cache)

    def step(self, text: Sequence[int]) -> np.ndarray:
        """Take in the last token of the text; those before it were taken in. Returns logits (V,)."""
        if self.cache.offset < self.cache.max_seq_len:
            return self.decoder.step(text[-1])
        return self.step_past_limit(text)

    @abstractmethod
    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        """`step` with a full cache."""


class Recompute(LimitPolicy):
    """Sliding window with re-computation: the real model, at the cost of a prefill a step."""

    name = "recompute"

    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        return self.start(text)


class NaiveSlide(LimitPolicy):
    """Drop the oldest entry and put the new token at the last position: fast, and wrong.

    Every entry keeps the position it was computed at, though it has moved up; and above the first
    layer it keeps what it took from tokens that are gone.
    """

    name = "naive slide"

    UNDO_STEPS = 512  # dropped entries that are kept for `back`

    def __init__(self, gpt: GPT) -> None:
        super().__init__(gpt)
        self._dropped: deque[np.ndarray] = deque(maxlen=self.UNDO_STEPS)

    def start(self, text: Sequence[int]) -> np.ndarray:
        logits = super().start(text)
        self._dropped.clear()
        return logits

    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        self.gpt.check_token(text[-1])
        self._dropped.append(self.cache.drop_oldest())
        return self.decoder.step(text[-1])

    def back(self) -> bool:
        """Take back the last step past the limit, exactly; False where its entry is no longer kept."""
        if not self._dropped:
            return False
        self.cache.trim(1)
        self.cache.restore_oldest(self._dropped.pop())
        return True


def baked_positions(slides: int, stored: int) -> np.ndarray:
    """The position at which each entry (stored,) of a naive cache was computed, after some slides.

    Entry i, whose rightful position is i, was computed at i + slides, but never beyond the last.
    """
    return np.minimum(np.arange(stored) + slides, stored - 1)
