"""Time per step against context length: with the cache, and with both uncached baselines."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from model.cache import KVCache
from model.decoder import Decoder
from model.experiments.counting import cached_multiply_adds, uncached_multiply_adds
from model.experiments.timing import Timing, timings
from model.gpt import GPT
from model.uncached import forward_uncached

BLOCK_ROWS = 128
CONTEXTS = (16, 128, 512, 2048, 16384)
MOST_UNCACHED = 2048  # beyond it a full pass takes minutes, and all scores at once gigabytes

SECONDS = 2.0  # for each figure


@dataclass(frozen=True)
class StepRow:
    """The step that takes in token number `context`; a baseline that was not run is None."""

    context: int
    random_weights: bool  # past the positions of the model that was given
    cached: Timing
    uncached_all: Timing | None
    uncached_blocked: Timing | None
    multiply_add_ratio: float  # the blocked baseline's count over the cached step's

    @property
    def speedup(self) -> float | None:
        """Over the fair baseline, by medians."""
        blocked = self.uncached_blocked
        return None if blocked is None else blocked.median / self.cached.median


def step_times(
    gpt: GPT,
    contexts: Sequence[int] = CONTEXTS,
    most_uncached: int = MOST_UNCACHED,
    seconds: float = SECONDS,
) -> Iterator[StepRow]:
    """Yield a row for each context; past the model's positions on random weights of the same sizes."""
    for context in contexts:
        past = context > gpt.config.block_size
        used = with_random_weights(gpt, context) if past else gpt
        (cached,) = timings([cached_step(used, context)], seconds)
        whole: Timing | None = None
        blocked: Timing | None = None
        if context <= most_uncached:
            tokens = np.random.default_rng(0).integers(gpt.config.vocab_size, size=context)
            calls = [partial(forward_uncached, used, tokens, rows) for rows in (None, BLOCK_ROWS)]
            whole, blocked = timings(calls, seconds)
        counted = uncached_multiply_adds(used.config, context, BLOCK_ROWS)
        ratio = counted / cached_multiply_adds(used.config, context)
        yield StepRow(context, past, cached, whole, blocked, ratio)


def trained_and_random(gpt: GPT, seconds: float = SECONDS) -> tuple[Timing, Timing]:
    """The cached step at the model's last position, with its weights and with random ones, in turns."""
    last = gpt.config.block_size
    ours, random = timings(
        [cached_step(used, last) for used in (gpt, with_random_weights(gpt, last))], seconds
    )
    return ours, random


def with_random_weights(gpt: GPT, block_size: int) -> GPT:
    """A model of the same sizes and type with more positions, and weights that were not learned."""
    return GPT.random(replace(gpt.config, block_size=block_size), dtype=gpt.dtype)


def cached_step(gpt: GPT, context: int) -> Callable[[], object]:
    """A call that takes in token number `context`, again and again.

    What is stored before it are random numbers: the step's time does not depend on them, and a
    prefill of 16,384 tokens would take minutes.
    """
    cache = KVCache(gpt.config, max_seq_len=context, dtype=gpt.dtype)
    rng = np.random.default_rng(0)
    for stored in (cache.keys, cache.values):
        stored[:] = rng.standard_normal(stored.shape, dtype=np.float32)
    decoder = Decoder(gpt, cache)

    def step() -> None:
        cache.offset = context - 1
        decoder.step(0)

    return step
