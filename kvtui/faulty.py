"""The model with a fault in its cache, writing a text of its own; and which meters notice."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from model.comparison import TOLERANCES
from model.gpt import GPT
from model.inspection import Differences, are_rounding, cache_differences
from model.limit import Recompute
from model.sampling import Sampler
from model.uncached import forward_uncached

if TYPE_CHECKING:  # the first picture need not wait for it
    from model.faults import Fault

UNDO_BYTES = 64 * 2**20  # of steps that are kept


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
    behind: int  # characters that it has yet to write
    differs_at: int | None  # characters that it has in common with the sound model's, prompt included
    meters: tuple[Meter, ...]


class Kept(NamedTuple):
    """A run as it was before a step, where the cache cannot be trimmed back to that."""

    keys: np.ndarray
    values: np.ndarray
    offset: int
    logits: np.ndarray


class FaultyRun:
    """A second run from the same prompt. The fault is in the engine only while this run computes.

    Nothing is taken for granted about its cache, such as when it is full. Steps that found room are
    taken back by trimming, as in the sound run, and what they wrote over a full cache is kept.
    """

    def __init__(self, gpt: GPT, fault: "Fault", prompt: Sequence[int]) -> None:
        self.fault, self._gpt = fault, gpt
        self.begin(prompt)

    def begin(self, prompt: Sequence[int]) -> None:
        """With a cache that has held nothing before."""
        self.text = list(prompt)
        self._prompt_length = len(self.text)
        self._full_steps = 0  # since the cache was full for the first time
        with self.fault.active():
            self._policy = Recompute(self._gpt)
            self._logits = self._policy.start(self.text)
        self._kept = deque[Kept](maxlen=max(1, UNDO_BYTES // self._policy.cache.nbytes))

    def step(self, choose: Sampler) -> None:
        cache = self._policy.cache
        if self._full_steps or cache.offset == cache.max_seq_len:
            self._full_steps += 1
            self._kept.append(Kept(cache.keys.copy(), cache.values.copy(), cache.offset, self._logits))
        self.text.append(choose(self._logits, len(self.text)))
        with self.fault.active():
            self._logits = self._policy.step(self.text)

    def back_to(self, length: int) -> None:
        """Undo the steps behind so many characters: exactly, but for what the fault spoils; or begin anew.

        Anew, it has the prompt only, and is to be stepped to where it shall be.
        """
        while len(self.text) > length:
            if self._kept:
                self._restore(self._kept.pop())
            elif self._full_steps or len(self.text) - 1 == self._prompt_length:
                self.begin(self.text[: self._prompt_length])
            else:
                self._trim()

    def _restore(self, kept: Kept) -> None:
        cache = self._policy.cache
        cache.keys[:], cache.values[:], cache.offset, self._logits = kept
        self._full_steps -= 1
        self.text.pop()

    def _trim(self) -> None:
        self.text.pop()
        with self.fault.active():
            self._policy.cache.trim(2)
            self._logits = self._policy.step(self.text)

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
    def _window(self) -> list[int]:
        return self.text[-self._gpt.config.block_size :]

    def _logits_meter(self, full: np.ndarray) -> Meter:
        share = float(np.abs(self._logits - full).max() / np.abs(full).max())
        reading = f"off by {share:.0e} (rel.)" if share else "those of a full pass"
        return Meter("logits", reading, not share <= TOLERANCES[str(self._gpt.dtype)])

    def _cache_meter(self, right: Differences | None) -> Meter:
        """Each stored key and value against those of a full pass over the same characters."""
        if right is None:
            return Meter("keys and values", "of other characters", True)
        cache = self._policy.cache
        wrong = []
        for letter, differences, stored in (
            ("K", right.keys, cache.keys),
            ("V", right.values, cache.values),
        ):
            off = np.flatnonzero(~are_rounding(differences, stored[:, :, : cache.offset]))
            wrong += [(int(layer), letter, float(differences[layer])) for layer in off]
        if not wrong:
            return Meter("keys and values", "those of a full pass", False)
        layer, letter, difference = min(wrong)
        return Meter("keys and values", f"layer {layer} on: |d{letter}| {difference:.0e}", True)

    def _count_meter(self) -> Meter:
        stored, expected = self._policy.cache.offset, len(self._window)
        reading = (
            f"{stored:,}, as there should be" if stored == expected else f"{stored:,}, and not {expected:,}"
        )
        return Meter("entries stored", reading, stored != expected)

    def _text_meter(self, sound: Sequence[int]) -> Meter:
        at = self.differs_at(sound)
        reading = "as the sound model's" if at is None else f"parts at character {at + 1:,}"
        return Meter("text", reading, at is not None)
