"""Sliding window with re-computation: what the model itself does past its limit."""

from collections.abc import Sequence

import numpy as np

from model.limit.policy import LimitPolicy


class Recompute(LimitPolicy):
    """The real model: the whole window moves by a position, so every step is a prefill of it."""

    name = "recompute"

    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        return self.start(text)

    def catch_up(self, text: Sequence[int], full_at: int) -> np.ndarray:
        return self.start(text)  # one step depends on none before it
