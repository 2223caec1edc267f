"""What a cache takes, and what one step holds at its peak: measured, beside the prediction."""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from model.cache import KVCache
from model.config import GPTConfig
from model.experiments.steps import BLOCK_ROWS, cached_step, with_random_weights
from model.gpt import GPT
from model.uncached import forward_uncached

CONTEXTS = (128, 512, 2048)
LONG_CONTEXT, CHUNK = 16384, 256


@dataclass(frozen=True)
class Peak:
    """Bytes that a call held at once, beyond what was there before: measured and predicted."""

    measured: int
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


def memory_rows(gpt: GPT, contexts: Sequence[int] = CONTEXTS) -> Iterator[MemoryRow]:
    """Yield a row for each context, on random weights: what an array takes does not depend on them."""
    for context in contexts:
        gpt = with_random_weights(gpt, context)
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


@dataclass(frozen=True)
class PrefillPeak:
    """Of a whole prompt through the cache, so many tokens at a time."""

    context: int
    step_size: int
    measured: int | None  # None where it was not run, since it would not fit in memory
    terms: dict[str, int]  # the prediction

    @property
    def predicted(self) -> int:
        return sum(self.terms.values())


def long_prefill(gpt: GPT, context: int = LONG_CONTEXT, chunk: int = CHUNK) -> list[PrefillPeak]:
    """A long prompt in one call, which is predicted only, and in chunks, of which the last is run.

    The last chunk sees all the others, so it is the largest; what is stored before it may be anything.
    """
    gpt = with_random_weights(gpt, context)
    cache = KVCache(gpt.config, dtype=gpt.dtype)
    tokens = np.zeros(chunk, dtype=int)

    def last_chunk() -> None:
        cache.offset = context - chunk
        gpt.forward(tokens, cache)

    in_chunks = PrefillPeak(
        context, chunk, peak_bytes(last_chunk), predicted_peak(gpt, chunk, chunk, context)
    )
    return [PrefillPeak(context, context, None, predicted_peak(gpt, context, context)), in_chunks]


def predicted_peak(gpt: GPT, new: int, block_rows: int, seen: int | None = None) -> dict[str, int]:
    """The largest set of arrays that a forward over `new` tokens holds at once, term by term.

    That is where the scores are masked or the values mixed, in the MLP, or in the output head.
    """
    config, size = gpt.config, gpt.dtype.itemsize
    rows, seen = min(block_rows, new), seen or new
    width = new * config.n_embd * size  # of the residual stream, and of everything else that is (T, C)
    in_blocks = rows < new
    scores = config.n_head * rows * seen * size
    masking = {
        "scores": scores,
        "mask": 2 * rows * rows * size if rows > 1 else 0,  # and the matrix it is cut from
        "activations": (4 + in_blocks) * width,  # the stream; q, k, v; where the blocks' results go
    }
    mixing = {"scores": scores, "activations": (4 + in_blocks) * width + rows * config.n_embd * size}
    mlp = {"activations": width + 2 * new * config.mlp_width * size}  # before GELU and after
    head = {"activations": 2 * width, "logits": new * config.vocab_size * size}
    return max(masking, mixing, mlp, head, key=lambda terms: sum(terms.values()))


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
