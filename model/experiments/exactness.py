"""The proof that the cache changes nothing: every path against the full forward pass."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.autograd import Tensor
from model.autograd_gpt import autograd_logits
from model.cache import CacheOverflow, KVCache
from model.decoder import Decoder
from model.generate import Uncached, generate
from model.gpt import GPT
from model.limit import Recompute
from model.prefill import prefill
from model.sampling import Sampler, greedy, make_sampler
from model.uncached import forward_uncached

# Largest difference that counts as rounding, as a share of the largest logit: 90 units of the last
# place. One pass is a few hundred roundings deep, and about 10 units are seen.
TOLERANCES = {"float64": 2e-14, "float32": 1e-5}

PAST_LIMIT = 50  # tokens that the generation checks go beyond the limit


@dataclass(frozen=True)
class Check:
    """One path held against the full forward pass, over a number of steps (tokens)."""

    name: str
    steps: int
    max_abs_diff: float
    max_abs_logit: float
    passed: bool


def exactness(gpt: GPT, seed: int = 0) -> Iterator[Check]:
    """Yield the checks, one after the other.

    The text is the model's own, sampled at temperature 1 by full forward passes, so that the logits
    are as large as they get in use.
    """
    tolerance = TOLERANCES[str(gpt.dtype)]
    limit = gpt.config.block_size
    rng = np.random.default_rng(seed)
    first = [int(rng.integers(gpt.config.vocab_size))]
    sampler = make_sampler(1.0, seed=seed)
    sampled = list(generate(Uncached(gpt), first, limit - 1, sampler))
    text = first + [step.token for step in sampled]
    full = forward_uncached(gpt, text)  # (T, V)
    scale = float(np.abs(full).max())

    def check(name: str, logits: np.ndarray, reference: np.ndarray, also: bool = True) -> Check:
        diff = float(np.abs(logits - reference).max())
        # `not >` would let NaN pass
        return Check(name, len(reference), diff, scale, diff <= tolerance * scale and also)

    yield check("autograd engine", _autograd(gpt, text), full)
    for rows in (1, 48, 128):
        yield check(f"uncached, {rows} rows at a time", forward_uncached(gpt, text, rows), full)
    yield check("prefill in one go", _prefilled(gpt, text, limit), full[-1:])
    for size in (1, 3, 16, 100):
        yield check(f"prefill in chunks of {size}", _prefilled(gpt, text, size), full[-1:])
    yield check("forward token by token", _token_by_token(gpt, text, _forward_one), full)
    stepwise = np.stack([forward_uncached(gpt, text[: n + 1])[-1] for n in range(limit)])
    yield check("decoding at every step", _token_by_token(gpt, text, _decode_one), stepwise)
    for name, chosen in (("greedy", greedy), ("sampled", sampler)):
        cached, uncached, same = _generations(gpt, first, limit + PAST_LIMIT, chosen)
        yield check(f"{name} text, past the limit too", cached, uncached, same)
    yield _overflow(gpt, text, scale)


def _autograd(gpt: GPT, text: Sequence[int]) -> np.ndarray:
    parameters = {name: Tensor(p) for name, p in gpt.parameters.items()}
    return autograd_logits(gpt.config, parameters, np.array([text])).data


def _prefilled(gpt: GPT, text: Sequence[int], step_size: int) -> np.ndarray:
    return prefill(gpt, text, KVCache(gpt.config, dtype=gpt.dtype), step_size)[None]


def _forward_one(gpt: GPT, cache: KVCache) -> Callable[[int], np.ndarray]:
    return lambda token: gpt.forward([token], cache)[0]


def _decode_one(gpt: GPT, cache: KVCache) -> Callable[[int], np.ndarray]:
    return Decoder(gpt, cache).step


def _token_by_token(
    gpt: GPT, text: Sequence[int], stepper: Callable[[GPT, KVCache], Callable[[int], np.ndarray]]
) -> np.ndarray:
    step = stepper(gpt, KVCache(gpt.config, dtype=gpt.dtype))
    return np.stack([step(token) for token in text])


def _generations(
    gpt: GPT, first: list[int], n: int, sampler: Sampler
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Logits of n steps with and without a cache, and whether both wrote the same text."""
    runs = [list(generate(model, first, n, sampler)) for model in (Recompute(gpt), Uncached(gpt))]
    cached, uncached = (np.stack([step.logits for step in run]) for run in runs)
    same = [step.token for step in runs[0]] == [step.token for step in runs[1]]
    return cached, uncached, same


def _overflow(gpt: GPT, text: Sequence[int], scale: float) -> Check:
    """One token too many is refused on every path, and the cache is as it was, to the bit."""
    cache = KVCache(gpt.config, dtype=gpt.dtype)
    prefill(gpt, text, cache)
    before = cache.keys.copy(), cache.values.copy()
    paths: tuple[Callable[[], np.ndarray], ...] = (
        lambda: gpt.forward(text[:1], cache),
        lambda: prefill(gpt, text[:2], cache),
        lambda: Decoder(gpt, cache).step(text[0]),
    )
    refused = 0
    for path in paths:
        try:
            path()
        except ValueError as error:
            refused += isinstance(error, CacheOverflow)
    moved = np.abs(cache.keys - before[0]).max(), np.abs(cache.values - before[1]).max()
    diff = float(max(moved))
    passed = refused == len(paths) and diff == 0 and cache.offset == len(text)
    return Check("overflow refused, cache untouched", len(paths), diff, scale, passed)
