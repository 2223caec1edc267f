"""The proof that the cache changes nothing: every path against the full forward pass."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from model.autograd import Tensor
from model.autograd_gpt import autograd_logits
from model.cache import CacheOverflow, KVCache
from model.comparison import TOLERANCES
from model.decoder import Decoder
from model.generate import Generated, Uncached, generate
from model.gpt import GPT
from model.limit import Recompute
from model.prefill import prefill
from model.sampling import Sampler, greedy, make_sampler
from model.uncached import forward_uncached

PAST_LIMIT = 50  # tokens that the generation checks go beyond the limit

# What the engine has while a path is walked, such as a fault's `active`.
During = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Check:
    """One path held against the full forward pass, over a number of steps (tokens)."""

    name: str
    steps: int
    max_abs_diff: float
    max_abs_logit: float
    passed: bool


def exactness(gpt: GPT, seed: int = 0, during: During = nullcontext) -> Iterator[Check]:
    """Yield the checks, one after the other.

    The text is the model's own, sampled at temperature 1 by full forward passes, so that the logits
    are as large as they get in use.

    Every path is walked inside a `during()`, and what it is held against is computed outside: no fault
    is held against itself.
    """
    tolerance = TOLERANCES[str(gpt.dtype)]
    limit = gpt.config.block_size
    rng = np.random.default_rng(seed)
    first = [int(rng.integers(gpt.config.vocab_size))]
    sampler = make_sampler(1.0, seed=seed)
    sampled = list(generate(Uncached(gpt), first, limit + PAST_LIMIT, sampler))
    text = first + [step.token for step in sampled[: limit - 1]]
    full = forward_uncached(gpt, text)  # (T, V)
    scale = float(np.abs(full).max())

    def check(name: str, reference: np.ndarray, path: Callable[..., np.ndarray], *args: object) -> Check:
        try:
            with during():
                logits = path(gpt, *args)
        except CacheOverflow:  # of tokens that there must be room for
            logits = np.full_like(reference, np.nan)
        diff = float(np.abs(logits - reference).max())
        # `not >` would let NaN pass
        return Check(name, len(reference), diff, scale, diff <= tolerance * scale)

    yield check("autograd engine", full, _autograd, text)
    for rows in (1, 48, 128):
        yield check(f"uncached, {rows} rows at a time", full, forward_uncached, text, rows)
    yield check("prefill in one go", full[-1:], _prefilled, text, limit)
    for size in (1, 3, 16, 100):
        yield check(f"prefill in chunks of {size}", full[-1:], _prefilled, text, size)
    yield check("forward token by token", full, _forward_one_by_one, text)
    stepwise = _logits(sampled[:limit])  # each row of it the last one of a full pass of its own
    yield check("decoding at every step", stepwise, _decoded_one_by_one, text)

    # Caches that had something else to do as well. A run begins with `part` of the text as its prompt.
    other, part = text[::-1], max(1, limit // 2)
    yield check("prefill behind stored tokens", full[-1:], _prefilled_behind, text)
    yield check("NaN in the room to spare", full[part - 1 :], _beside_nan, text, part)
    yield check("tokens of another text taken back", full[part - 1 :], _after_a_trim, text, other, part)
    yield check("another text before, and a reset", full[part - 1 :], _after_a_reset, text, other, part)
    both = np.stack((full, forward_uncached(gpt, other)), axis=1)  # (T, 2, V)
    yield check("two texts side by side", both[part - 1 :], _side_by_side, text, other, part)

    greedily = list(generate(Uncached(gpt), first, limit + PAST_LIMIT, greedy))
    for name, chosen, steps in (("greedy", greedy, greedily), ("sampled", sampler, sampled)):
        tokens = [step.token for step in steps]
        yield check(f"{name} text, past the limit too", _logits(steps), _written, first, chosen, tokens)
    yield _overflow(gpt, text, scale, during)


def _logits(steps: Sequence[Generated]) -> np.ndarray:
    return np.stack([step.logits for step in steps])


def _autograd(gpt: GPT, text: Sequence[int]) -> np.ndarray:
    parameters = {name: Tensor(p) for name, p in gpt.parameters.items()}
    return autograd_logits(gpt.config, parameters, np.array([text])).data


def _prefilled(gpt: GPT, text: Sequence[int], step_size: int) -> np.ndarray:
    return prefill(gpt, text, KVCache(gpt.config, dtype=gpt.dtype), step_size)[None]


def _forward_one_by_one(gpt: GPT, text: Sequence[int]) -> np.ndarray:
    cache = KVCache(gpt.config, dtype=gpt.dtype)
    return np.concatenate([gpt.forward([token], cache) for token in text])


def _decoded_one_by_one(gpt: GPT, text: Sequence[int]) -> np.ndarray:
    decoder = Decoder(gpt, KVCache(gpt.config, dtype=gpt.dtype))
    return np.stack([decoder.step(token) for token in text])


def _prefilled_behind(gpt: GPT, text: Sequence[int]) -> np.ndarray:
    """One half by steps, and the other half behind it in chunks."""
    decoder = Decoder(gpt, KVCache(gpt.config, dtype=gpt.dtype))
    half = len(text) // 2
    for token in text[:half]:
        decoder.step(token)
    return prefill(gpt, text[half:], decoder.cache, step_size=5)[None]


def _beside_nan(gpt: GPT, text: Sequence[int], part: int) -> np.ndarray:
    """What lies beyond the stored tokens must not be read, whatever it is."""
    decoder = Decoder(gpt, KVCache(gpt.config, dtype=gpt.dtype))
    decoder.cache.keys[:] = decoder.cache.values[:] = np.nan
    logits = [prefill(gpt, text[:part], decoder.cache)]
    return np.stack(logits + [decoder.step(token) for token in text[part:]])


def _after_a_trim(gpt: GPT, text: Sequence[int], other: Sequence[int], part: int) -> np.ndarray:
    """Steps that go astray are taken back, together with the last one before them."""
    model = Recompute(gpt)
    model.start(text[:part])
    astray = other[: len(text) // 4]
    for token in astray:
        model.decoder.step(token)
    model.cache.trim(len(astray) + 1)
    return np.stack([model.step(text[:end]) for end in range(part, len(text) + 1)])


def _after_a_reset(gpt: GPT, text: Sequence[int], other: Sequence[int], part: int) -> np.ndarray:
    model = Recompute(gpt)
    model.start(other)
    logits = [model.start(text[:part])]
    return np.stack(logits + [model.step(text[:end]) for end in range(part + 1, len(text) + 1)])


def _side_by_side(gpt: GPT, text: Sequence[int], other: Sequence[int], part: int) -> np.ndarray:
    """Steps of two texts in turn, each with a cache of its own."""
    runs = [(Recompute(gpt), text), (Recompute(gpt), other)]
    logits = [[model.start(tokens[:part]) for model, tokens in runs]]
    for end in range(part + 1, len(text) + 1):
        logits.append([model.step(tokens[:end]) for model, tokens in runs])
    return np.array(logits)


def _written(gpt: GPT, first: list[int], sampler: Sampler, tokens: Sequence[int]) -> np.ndarray:
    """Logits of a text written with the cache; infinite where another token than these was chosen."""
    steps = list(generate(Recompute(gpt), first, len(tokens), sampler))
    logits = _logits(steps)
    logits[[step.token != token for step, token in zip(steps, tokens, strict=True)]] = np.inf
    return logits


def _overflow(gpt: GPT, text: Sequence[int], scale: float, during: During) -> Check:
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
            with during():
                path()
        except ValueError as error:
            refused += isinstance(error, CacheOverflow)
    moved = np.abs(cache.keys - before[0]).max(), np.abs(cache.values - before[1]).max()
    diff = float(max(moved))
    passed = refused == len(paths) and diff == 0 and cache.offset == len(text)
    return Check("overflow refused, cache untouched", len(paths), diff, scale, passed)
