"""A limit policy beside the real model: what it predicts for the same text, step by step."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from kvtui.records import Records
from kvtui.snapshot import COMPARISON, Comparisons
from model.comparison import bits_per_character, compare
from model.limit import LimitPolicy
from model.sampling import Sampler


class Beside:
    """Keeps a policy at the text of a session, from the first token past the limit on."""

    def __init__(self, policy: LimitPolicy, clock: Callable[[], float]) -> None:
        self.policy, self._clock = policy, clock
        self.begin(0)

    def begin(self, full_at: int) -> None:
        """A new text, at whose length `full_at` the window is full."""
        self._full_at = full_at
        self._records = Records(COMPARISON)
        self._at: int | None = full_at  # the length of the text that the policy is at; None: not known
        self.logits = np.empty(0)  # (V,) once the text is past the limit

    @property
    def comparisons(self) -> Comparisons:
        return Comparisons(self._records.rows, self._full_at + 1)

    def step(self, text: Sequence[int], real: np.ndarray, sampler: Sampler) -> None:
        """Take in the last token of a text past the limit, and hold the logits against the real model's."""
        if len(text) == self._full_at + 1:
            self.policy.start(text[:-1])
            bits = math.nan
        else:
            if self._at != len(text) - 1:  # a step, or the way back, broke off
                self._catch_up(text[:-1])
            bits = bits_per_character(self.logits[None], text[-1:])
        self._at = None
        begin = self._clock()
        self.logits = self.policy.step(text)
        seconds = self._clock() - begin
        self._at = len(text)
        comparison = compare(len(text), real, self.logits, sampler)
        self._records.append(comparison.real, comparison.other, comparison.kl, bits, seconds)

    def back(self, text: Sequence[int]) -> None:
        """Take back the last step; `text` is what is left."""
        self._records.keep(len(text) - self._full_at)
        if len(text) == self._full_at:
            return
        was_at, self._at = self._at, None
        if was_at == len(text) + 1 and self.policy.back():
            self.policy.cache.trim(1)
            self.logits = self.policy.decoder.step(text[-1])
        else:
            self._catch_up(text)
        self._at = len(text)

    def return_to(self, text: Sequence[int]) -> None:
        """After a step that broke off, at whatever point: as after the last token of `text`."""
        self._records.keep(max(0, len(text) - self._full_at))
        if len(text) > self._full_at:
            self._catch_up(text)

    def _catch_up(self, text: Sequence[int]) -> None:
        self._at = None
        self.logits = self.policy.catch_up(text, self._full_at)
        self._at = len(text)

    def choose_anew(self, text: Sequence[int], real: np.ndarray, sampler: Sampler) -> None:
        """What both choose after a text, by another sampler than the one that its step was taken with."""
        if len(self._records):
            _, _, kl, bits, seconds = self._records.rows[-1].item()
            choices = sampler(real, len(text)), sampler(self.logits, len(text))
            self._records.replace_last(*choices, kl, bits, seconds)
