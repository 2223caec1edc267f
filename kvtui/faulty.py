"""The model with a fault in its cache, writing a text of its own; and which meters notice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.comparison import TOLERANCES
from model.gpt import GPT
from model.inspection import Differences, are_rounding, cache_differences
from model.limit import Recompute
from model.sampling import Sampler
from model.uncached import forward_uncached

if TYPE_CHECKING:  # the first picture need not wait for it
    from model.faults import Fault


@dataclass(frozen=True, slots=True)
class Meter:
    """Something that can be measured from outside, and whether it is as it should be."""

    name: str
    reading: str
    notices: bool


@dataclass(frozen=True, slots=True)
class FaultyState:
    fault: "Fault"
    generated: str  # what the faulty model wrote after the prompt
    differs_at: int | None  # characters that it has in common with the sound model's, prompt included
    meters: tuple[Meter, ...]


class FaultyRun:
    """A second run from the same prompt. The fault is in the engine only while this run computes."""

    def __init__(self, gpt: GPT, fault: "Fault", prompt: Sequence[int], sampler: Sampler) -> None:
        self.fault, self.sampler, self._gpt = fault, sampler, gpt
        self.text = list(prompt)
        self._prompt_length = len(self.text)
        with fault.active():
            self._policy = Recompute(gpt)
            self._logits = self._policy.start(self.text)

    def step(self) -> None:
        self.text.append(self.sampler(self._logits, len(self.text)))
        with self.fault.active():
            self._logits = self._policy.step(self.text)

    def back(self) -> None:
        """Undo a step as the sound run does: within the window the cache is trimmed."""
        if self._prompt_length < len(self.text) - 1 < self._full_at:
            self.text.pop()
            with self.fault.active():
                self._policy.cache.trim(2)
                self._logits = self._policy.step(self.text)
        else:
            self.return_to(len(self.text) - 1)

    def return_to(self, length: int) -> None:
        """Fill the cache again, with the first characters of the text."""
        del self.text[length:]
        with self.fault.active():
            if length > self._full_at:
                self._logits = self._policy.catch_up(self.text, self._full_at)
            else:
                self._logits = self._policy.replay(self.text, self._prompt_length)

    def meters(self, sound: Sequence[int]) -> tuple[Meter, ...]:
        """What can be noticed, beside the text (T,) of the sound model."""
        window, comparable = self._window, self._policy.cache.offset == len(self._window)
        right = cache_differences(self._gpt, window, self._policy.cache) if comparable else None
        full = right.logits if right else forward_uncached(self._gpt, window)[-1]
        return (
            self._logits_meter(full),
            self._cache_meter(right),
            self._count_meter(),
            self._text_meter(sound),
        )

    def differs_at(self, sound: Sequence[int]) -> int | None:
        """How many characters both texts have in common before they part."""
        pairs = enumerate(zip(self.text, sound, strict=False))
        return next((i for i, (ours, theirs) in pairs if ours != theirs), None)

    @property
    def _full_at(self) -> int:
        return max(self._gpt.config.block_size, self._prompt_length)

    @property
    def _window(self) -> list[int]:
        return self.text[-self._gpt.config.block_size :]

    def _logits_meter(self, full: np.ndarray) -> Meter:
        share = float(np.abs(self._logits - full).max() / np.abs(full).max())
        reading = f"{share:.0e} of the largest off a full pass"
        return Meter("logits", reading, not share <= TOLERANCES[str(self._gpt.dtype)])

    def _cache_meter(self, right: Differences | None) -> Meter:
        """Each stored key and value against those of a full pass over the same characters."""
        if right is None:
            return Meter("keys and values", "not for these characters", True)
        cache = self._policy.cache
        wrong = []
        for letter, differences, stored in (
            ("K", right.keys, cache.keys),
            ("V", right.values, cache.values),
        ):
            off = np.flatnonzero(~are_rounding(differences, stored[:, :, : cache.offset]))
            wrong += [(int(layer), letter, float(differences[layer])) for layer in off]
        if not wrong:
            return Meter("keys and values", "as in a full pass", False)
        layer, letter, difference = min(wrong)
        return Meter("keys and values", f"break in layer {layer}: |d{letter}| {difference:.0e}", True)

    def _count_meter(self) -> Meter:
        stored, expected = self._policy.cache.offset, len(self._window)
        reading = f"{stored:,} of {expected:,} that there should be"
        return Meter("entries stored", reading, stored != expected)

    def _text_meter(self, sound: Sequence[int]) -> Meter:
        at = self.differs_at(sound)
        reading = "as the sound model's" if at is None else f"parts after {at:,} characters"
        return Meter("text", reading, at is not None)
