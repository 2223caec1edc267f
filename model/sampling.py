"""Choosing the next token from logits."""

import hashlib
import math
from collections.abc import Callable

import numpy as np

# (logits (V,), position of the token to choose) -> token id
Sampler = Callable[[np.ndarray, int], int]


class LogitsNotFinite(ValueError):
    """The model's numbers overflowed: its weights are too large for the type it computes in."""


def check_finite(logits: np.ndarray) -> float:
    """The largest of the logits. Raises LogitsNotFinite."""
    largest = float(logits.max())
    if not math.isfinite(largest):  # NaN too; -inf is a token that cannot be
        more = "" if logits.dtype == np.float64 else "; float64 has more room"
        raise LogitsNotFinite(
            f"the model's logits are not finite: its weights overflow in {logits.dtype}{more}"
        )
    return largest


def greedy(logits: np.ndarray, position: int) -> int:
    """The most likely token; the lowest id of equals. Raises LogitsNotFinite."""
    check_finite(logits)
    return int(logits.argmax())


def make_sampler(temperature: float = 0.0, top_k: int | None = None, seed: int = 0) -> Sampler:
    """A sampler: greedy at temperature 0, else drawn from softmax(logits / temperature).

    `top_k` leaves only the k most likely tokens. The draw depends on nothing but the seed and the
    position, so a text can be stepped back and written again. Raises ValueError for a negative or
    infinite temperature, or a top_k below 1; the sampler raises LogitsNotFinite.
    """
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be a number of at least 0, not {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    if temperature == 0:
        return greedy

    def sample(logits: np.ndarray, position: int) -> int:
        largest = check_finite(logits)
        weights = logits.astype(np.float64)
        weights -= largest
        with np.errstate(over="ignore"):  # at a tiny temperature all but the largest go to -inf
            weights /= temperature
        np.exp(weights, out=weights)
        if top_k is not None and top_k < len(weights):
            weights[weights.argpartition(-top_k)[:-top_k]] = 0
        cumulative = weights.cumsum()
        return int(cumulative.searchsorted(_uniform(seed, position) * cumulative[-1], side="right"))

    return sample


def _uniform(seed: int, position: int) -> float:
    """A number from 0 to below 1: a hash, since to seed a generator takes longer than all the rest."""
    digest = hashlib.blake2b(f"{seed} {position}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / (1 << 53)
