"""What is computed untimed, so that the times on the screen are those of a loop that never pauses."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from model.cache import KVCache
from model.decoder import Decoder
from model.gpt import GPT
from model.limit import LimitPolicy
from model.prefill import prefill

WARM_UP_TOKENS, WARM_UP_STEPS = 128, 3
PAUSE = 0.001  # seconds after which a step is rehearsed
REHEARSAL_SECONDS = 0.014  # at most
USUAL = 20  # steps: a rehearsal as short as the shortest fifth of them is as fast as it gets
LONGEST_REHEARSED, LONGEST_REHEARSED_PREFILL = 0.004, 0.2  # seconds: longer ones hardly notice


def warm_up(gpt: GPT) -> None:
    """First calls are slow (buffers, caches, the processor's clock): they stay out of every figure."""
    cache = KVCache(gpt.config, dtype=gpt.dtype)
    decoder = Decoder(gpt, cache)
    prefill(gpt, [0] * min(WARM_UP_TOKENS, cache.max_seq_len), cache)
    for _ in range(WARM_UP_STEPS):
        cache.trim(1)
        decoder.step(0)


class Rehearsal:
    """Short work is done untimed first, where there was a pause before it.

    A processor that slept, or drew the screen, has to speed up and to fetch the weights again: for a
    dozen milliseconds steps take two to four times as long. A loop without a screen never sees that.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.busy_until = -math.inf  # when the last step ended

    def prefill(self, policy: LimitPolicy, text: Sequence[int]) -> tuple[np.ndarray, float]:
        """Start a policy with a text. Returns logits (V,) and seconds."""
        for _ in range(2):
            begin = self._clock()
            logits = policy.start(text)
            seconds = self._clock() - begin
            if seconds > LONGEST_REHEARSED_PREFILL:
                break
        return logits, seconds

    def before_step(self, policy: LimitPolicy, text: Sequence[int], seconds: np.ndarray) -> None:
        """Take the step a few times, and take it back; `seconds` (n,) are what steps took so far."""
        begin = now = self._clock()
        usual = sorted(seconds[-USUAL:])
        if begin - self.busy_until < PAUSE or (usual and usual[0] > LONGEST_REHEARSED):
            return
        while now - begin < REHEARSAL_SECONDS:
            before = now
            policy.step(text)
            policy.cache.trim(1)
            now = self._clock()
            if usual and now - before <= usual[len(usual) // 5]:
                return  # as fast as it gets
