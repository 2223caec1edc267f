"""What a cache takes, and what one step holds at its peak: measured, beside the prediction."""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from model.cache import KVCache
from model.config import GPTConfig
from model.experiments.steps import BLOCK_ROWS, cached_step
from model.gpt import GPT
from model.prefill import prefill
from model.uncached import forward_uncached

CONTEXTS = (128, 512, 2048)


@dataclass(frozen=True)
class Peak:
    """Bytes that a call held at once, beyond what was there before: measured and predicted."""

    measured: int | None  # None where it would not fit, and was not run
    terms: dict[str, int]  # the prediction

    @property
    def predicted(self) -> int:
        return sum(self.terms.values())


@dataclass(frozen=True)
class MemoryRow:
    context: int
    cache_bytes: int
    cached_peak: Peak
    uncached_all_peak: Peak
    uncached_blocked_peak: Peak


def crossover_tokens(config: GPTConfig, itemsize: int, model_bytes: int) -> int:
    """The number of tokens from which on the cache is larger than the model."""
    return model_bytes // config.bytes_per_token(itemsize) + 1


def memory_rows(
    config: GPTConfig, dtype: np.dtype | str, contexts: Sequence[int] = CONTEXTS
) -> Iterator[MemoryRow]:
    """Yield a row for each context, measured on a model with random weights and enough positions."""
    gpt = GPT.random(replace(config, block_size=max(contexts)), dtype=dtype)
    for context in contexts:
        tokens = np.random.default_rng(0).integers(gpt.config.vocab_size, size=context)
        peaks = [
            Peak(
                peak_bytes(partial(forward_uncached, gpt, tokens, rows)),
                predicted_peak(gpt, context, rows or context),
            )
            for rows in (None, BLOCK_ROWS)
        ]
        logits = {"logits": gpt.config.vocab_size * gpt.dtype.itemsize}
        cached = Peak(peak_bytes(cached_step(gpt, context)), logits)
        yield MemoryRow(context, context * gpt.config.bytes_per_token(gpt.dtype.itemsize), cached, *peaks)


def prefill_peak(gpt: GPT, context: int, step_size: int, run: bool = True) -> Peak:
    """The peak of a prefill of `context` tokens, `step_size` at a time."""
    measured = None
    if run:
        cache = KVCache(gpt.config, max_seq_len=context, dtype=gpt.dtype)
        tokens = np.random.default_rng(0).integers(gpt.config.vocab_size, size=context)

        def fill() -> None:
            cache.reset()
            prefill(gpt, tokens, cache, step_size)

        measured = peak_bytes(fill)
    return Peak(measured, predicted_peak(gpt, min(step_size, context), step_size, context))


def predicted_peak(gpt: GPT, new: int, block_rows: int, seen: int | None = None) -> dict[str, int]:
    """The largest set of arrays that a forward over `new` tokens holds at once, term by term.

    That is in attention where the scores outweigh the MLP, and in the MLP otherwise.
    """
    config, size = gpt.config, gpt.dtype.itemsize
    rows, seen = min(block_rows, new), seen or new
    width = new * config.n_embd * size  # of the residual stream, and of everything else that is (T, C)
    attention = {
        "scores": config.n_head * rows * seen * size,
        "mask": 2 * rows * rows * size if rows > 1 else 0,  # and the matrix it is cut from
        "activations": 5 * width + rows * config.n_embd * size,  # stream; q, k, v; their mix; q scaled
    }
    mlp = {"activations": width + 2 * new * config.mlp_width * size}  # before GELU and after
    head = {"activations": 2 * width, "logits": new * config.vocab_size * size}
    return max(attention, mlp, head, key=lambda terms: sum(terms.values()))


def peak_bytes(call: Callable[[], object]) -> int:
    """The most that a call holds at once, beyond what was there before; NumPy tells tracemalloc."""
    call()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return peak - before
