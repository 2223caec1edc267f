"""Refill: make room for several tokens at once, so that most steps are cheap and none is wrong."""

from collections.abc import Sequence

import numpy as np

from model.gpt import GPT
from model.limit.policy import LimitPolicy


class Refill(LimitPolicy):
    """Forget the oldest k tokens, prefill the others again, and then take k cheap steps.

    The real model on a window of S - k to S tokens: no entry is wrong, but less of the text is seen.
    With k = 0 it is `Recompute`.
    """

    name = "refill"

    SHARE = 4  # k is one of so many of the cache's places

    def __init__(self, gpt: GPT) -> None:
        super().__init__(gpt)
        self.room = self.cache.max_seq_len // self.SHARE  # k

    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        return self.start(text[self.room - self.cache.max_seq_len :])

    def catch_up(self, text: Sequence[int], full_at: int) -> np.ndarray:
        steps_since_refill = (len(text) - full_at - 1) % (self.room + 1)
        refilled_at = len(text) - steps_since_refill
        logits = self.step_past_limit(text[:refilled_at])  # it depends on nothing before it
        for end in range(refilled_at + 1, len(text) + 1):
            logits = self.step(text[:end])
        return logits
