"""What a policy is: the logits of a growing text, through a cache of block_size tokens."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from model.cache import KVCache
from model.decoder import Decoder
from model.gpt import GPT
from model.prefill import prefill


class LimitReached(ValueError):
    """The text is as long as the model can read, and the policy is to end there."""


class LimitPolicy(ABC):
    """Logits of the next token of a growing text, through a cache of block_size tokens.

    A policy is shown the whole text at every step and keeps a cache of what the model currently sees
    of it. Up to the limit all policies do the same.
    """

    name: ClassVar[str]
    goes_on: ClassVar[bool] = True  # whether there are steps past the limit

    def __init__(self, gpt: GPT) -> None:
        self.gpt = gpt
        self.cache = KVCache(gpt.config, dtype=gpt.dtype)
        self.decoder = Decoder(gpt, self.cache)

    def window(self, text: Sequence[int]) -> list[int]:
        """The tokens (offset,) of a text that the stored entries are of."""
        return list(text[max(0, len(text) - self.cache.offset) :])

    @property
    def positions(self) -> np.ndarray:
        """The position (offset,) that each stored entry was computed at."""
        return np.arange(self.cache.offset)

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
        """`step` with a full cache. Raises LimitReached where the policy is to end there."""

    def back(self) -> bool:
        """Take back the last step past the limit, exactly; False where only `catch_up` can."""
        return False

    def catch_up(self, text: Sequence[int], full_at: int) -> np.ndarray:
        """Logits (V,) of a text past the limit, by the calls that a run over it would have made.

        The cache was full, and the policy started or grown to it, at the first `full_at` tokens.
        """
        return self.replay(text, full_at)

    def replay(self, text: Sequence[int], begin: int) -> np.ndarray:
        """Logits (V,) of a text: start with its first `begin` tokens, and step through the others."""
        logits = self.start(text[:begin])
        for end in range(begin + 1, len(text) + 1):
            logits = self.step(text[:end])
        return logits
