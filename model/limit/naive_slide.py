"""The naive slide: drop the oldest entry of the cache, and go on."""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from model.gpt import GPT
from model.limit.policy import LimitPolicy


class NaiveSlide(LimitPolicy):
    """Drop the oldest entry and put the new token at the last position: fast, and wrong.

    Every entry keeps the position it was computed at, though it has moved up; and above the first
    layer it keeps what it took from tokens that are gone.
    """

    name = "naive slide"

    UNDO_STEPS = 512  # dropped entries that are kept for `back`
    KEPT: ClassVar[int] = 0  # entries at the beginning that are never dropped

    def __init__(self, gpt: GPT) -> None:
        super().__init__(gpt)
        self.kept = min(self.KEPT, self.cache.max_seq_len // 2)
        self.slides = 0
        self._dropped: deque[np.ndarray] = deque(maxlen=self.UNDO_STEPS)
        self._first = 0  # token of the text that the first entry was of

    def window(self, text: Sequence[int]) -> list[int]:
        kept = text[self._first : self._first + self.kept]
        return [*kept, *text[len(text) - self.cache.offset + len(kept) :]]

    @property
    def positions(self) -> np.ndarray:
        return baked_positions(self.slides, self.cache.offset, self.kept)

    def start(self, text: Sequence[int]) -> np.ndarray:
        logits = super().start(text)
        self.slides, self._first = 0, len(text) - self.cache.offset
        self._dropped.clear()
        return logits

    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        self.gpt.check_token(text[-1])
        self._dropped.append(self.cache.drop_oldest(self.kept))
        self.slides += 1
        return self.decoder.step(text[-1])

    def back(self) -> bool:
        if not self._dropped:
            return False
        self.cache.trim(1)
        self.cache.restore_oldest(self._dropped.pop(), self.kept)
        self.slides -= 1
        return True


def baked_positions(slides: int, stored: int, kept: int) -> np.ndarray:
    """The position at which each entry (stored,) of a slid cache was computed, after some slides.

    Entry i, whose rightful position is i, was computed at i + slides, but never beyond the last; the
    first `kept` never moved.
    """
    positions = np.arange(stored)
    positions[kept:] = np.minimum(positions[kept:] + slides, stored - 1)
    return positions
