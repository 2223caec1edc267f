"""Time per step against context length: with the cache, and with both uncached baselines."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.cache import KVCache
from model.config import GPTConfig
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
    config: GPTConfig,
    dtype: np.dtype | str,
    contexts: Sequence[int] = CONTEXTS,
    most_uncached: int = MOST_UNCACHED,
    seconds: float = SECONDS,
) -> Iterator[StepRow]:
    """Yield a row for each context, measured on a model with random weights and enough positions."""
    gpt = GPT.random(replace(config, block_size=max(contexts)), dtype=dtype)
    for context in contexts:
        yield step_row(gpt, context, context <= most_uncached, seconds)


def step_row(gpt: GPT, context: int, uncached: bool, seconds: float = SECONDS) -> StepRow:
    """One row, on any model with that many positions."""
    (cached,) = timings([cached_step(gpt, context)], seconds)
    baselines: list[Timing | None] = [None, None]
    if uncached:
        tokens = _tokens(gpt, context)
        baselines[:] = timings(
            [lambda: forward_uncached(gpt, tokens), lambda: forward_uncached(gpt, tokens, BLOCK_ROWS)],
            seconds,
        )
    counted = uncached_multiply_adds(gpt.config, context, BLOCK_ROWS)
    ratio = counted / cached_multiply_adds(gpt.config, context)
    return StepRow(context, cached, baselines[0], baselines[1], ratio)


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


def _tokens(gpt: GPT, n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(gpt.config.vocab_size, size=n)
