"""The ladder of limit policies: each on the same texts, held against the real model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from model.comparison import bits_per_character, compare
from model.generate import Timed, generate
from model.gpt import GPT
from model.limit import POLICIES, LimitPolicy, Recompute
from model.sampling import make_sampler

STARTS = 5  # starting points


@dataclass(frozen=True)
class Spread:
    """The mean of a figure over the starting points, and the smallest and the largest of theirs."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread | None":
        """None of no figures."""
        return cls(fmean(figures), min(figures), max(figures)) if figures else None


@dataclass(frozen=True)
class PolicyRow:
    """What a policy's predictions and steps past the limit came to.

    A policy that ends at the limit has neither: of its figures only the cache's bytes are not None.
    """

    name: str
    cache_bytes: int
    agreement: Spread | None  # share of steps in which it chooses greedily what the real model does
    mean_kl: Spread | None  # KL(real || policy) in nats
    max_kl: float | None  # of all steps
    bits_per_character: Spread | None  # mean of -log2 p(the token that follows in the text)
    seconds_per_step: float | None  # mean over all steps: a costly one now and then is paid for as well
    step_seconds: list[float]  # of the steps from the first starting point


@dataclass(frozen=True)
class _Run:
    """A policy's figures from one starting point."""

    agreement: float
    mean_kl: float
    max_kl: float
    bits_per_character: float
    step_seconds: list[float]


def policy_rows(
    gpt: GPT, texts: Iterable[Sequence[int]], policies: Sequence[type[LimitPolicy]] = POLICIES
) -> list[PolicyRow]:
    """A row for each policy: all of them take in the same texts, one text after the other.

    Each text is a starting point. A policy starts with its first block_size tokens, takes in the
    others but the last, and after each of these predicts the next. The times are the policy's own
    work, without its prefill. Raises ValueError for a text of fewer than block_size + 2 tokens.
    """
    kinds: tuple[type[LimitPolicy], ...] = (Recompute, *policies)  # the real model first, and once
    models = {kind: kind(gpt) for kind in kinds}
    runs: dict[type[LimitPolicy], list[_Run]] = {kind: [] for kind in models}
    endless = {kind: Timed(model) for kind, model in models.items() if kind.goes_on}
    for kind in endless:
        _warm_up(models[kind])
    for text in texts:
        _check(gpt, text)
        real = _predictions(endless[Recompute], gpt, text)
        for kind, timed in endless.items():
            logits = real if kind is Recompute else _predictions(timed, gpt, text)
            runs[kind].append(_run(text, real, logits, timed.step_seconds))
    return [_row(models[policy], runs[policy]) for policy in policies]


def _warm_up(policy: LimitPolicy) -> None:
    """The first calls are slow: take two steps past the limit, which a refill takes in different ways."""
    S = policy.cache.max_seq_len
    policy.catch_up([0] * (S + 2), full_at=S)


def _check(gpt: GPT, text: Sequence[int]) -> None:
    if len(text) < (needed := text_length(gpt, steps=1)):
        raise ValueError(f"a text needs at least {needed} tokens, not {len(text)}")


def _predictions(policy: Timed, gpt: GPT, text: Sequence[int]) -> np.ndarray:
    """Logits (steps, V) after each token behind the window, except the last: nothing follows that."""
    S = gpt.config.block_size
    policy.start(text[:S])
    return np.stack([policy.step(text[:n]) for n in range(S + 1, len(text))])


def _run(text: Sequence[int], real: np.ndarray, logits: np.ndarray, seconds: list[float]) -> _Run:
    first = len(text) - len(logits)  # tokens that the first prediction follows
    steps = [compare(first + i, *pair) for i, pair in enumerate(zip(real, logits, strict=True))]
    return _Run(
        agreement=fmean(step.agree for step in steps),
        mean_kl=fmean(step.kl for step in steps),
        max_kl=max(step.kl for step in steps),
        bits_per_character=bits_per_character(logits, text[first:]),
        step_seconds=seconds,
    )


def _row(policy: LimitPolicy, runs: Sequence[_Run]) -> PolicyRow:
    seconds = [s for run in runs for s in run.step_seconds]
    return PolicyRow(
        name=policy.name,
        cache_bytes=policy.cache.nbytes,
        agreement=Spread.of([run.agreement for run in runs]),
        mean_kl=Spread.of([run.mean_kl for run in runs]),
        max_kl=max((run.max_kl for run in runs), default=None),
        bits_per_character=Spread.of([run.bits_per_character for run in runs]),
        seconds_per_step=fmean(seconds) if seconds else None,
        step_seconds=runs[0].step_seconds if runs else [],
    )


# Texts to read


def text_length(gpt: GPT, steps: int) -> int:
    """Tokens of a text for so many steps: a window, a token for each, and one that the last predicts.

    Raises ValueError for less than one step.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    return gpt.config.block_size + steps + 1


def given_texts(gpt: GPT, tokens: Sequence[int], starts: int, steps: int) -> list[Sequence[int]]:
    """Parts of a given text for so many steps each, spread evenly over it.

    There are `starts` of them, or as many as fit without overlapping. Raises ValueError for a text
    that has no room for one, and for less than one start or step.
    """
    _check_starts(starts)
    length = text_length(gpt, steps)
    if len(tokens) < length:
        raise ValueError(
            f"the text has {len(tokens):,} characters; a window of {gpt.config.block_size:,}, "
            f"{steps:,} after it and one to predict need {length:,}"
        )
    starts = min(starts, len(tokens) // length)
    return [tokens[begin : begin + length] for begin in (i * len(tokens) // starts for i in range(starts))]


def written_texts(
    gpt: GPT, prompt: Sequence[int], starts: int, steps: int, seed: int = 0
) -> Iterator[Sequence[int]]:
    """Texts for so many steps each that the real model writes, one at a time as they are asked for.

    Each goes on from the last block_size tokens of the prompt, sampled at temperature 1 with a seed of
    its own: `seed`, `seed` + 1, ... Raises ValueError for an empty prompt, and less than one start or
    step.
    """
    _check_starts(starts)
    gpt.checked(prompt)
    begun = list(prompt[-gpt.config.block_size :])
    missing = text_length(gpt, steps) - len(begun)

    def write(seed: int) -> list[int]:
        written = generate(Recompute(gpt), begun, missing, make_sampler(1.0, seed=seed))
        return begun + [generated.token for generated in written]

    return map(write, range(seed, seed + starts))


def _check_starts(starts: int) -> None:
    if starts < 1:
        raise ValueError(f"starts must be at least 1, not {starts}")
