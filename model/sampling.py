"""Choosing the next token from logits."""

import random
from collections.abc import Callable

import numpy as np

from model.ops import softmax

# (logits (V,), position of the token to choose) -> token id
Sampler = Callable[[np.ndarray, int], int]


class LogitsNotFinite(ValueError):
    """The model's numbers overflowed: its weights are too large for the type it computes in."""


def check_finite(logits: np.ndarray) -> None:
    if not np.isfinite(logits.max()):  # NaN too; -inf is a token that cannot be
        raise LogitsNotFinite(
            f"the model's logits are not finite: its weights overflow in {logits.dtype}; "
            "float64 has more room"
        )


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
        check_finite(logits)
        logits = logits.astype(np.float64)
        with np.errstate(over="ignore"):  # at a tiny temperature all but the largest go to -inf
            scaled = (logits - logits.max()) / temperature
        if top_k is not None and top_k < len(scaled):
            left_out = np.argpartition(scaled, -top_k)[:-top_k]
            scaled[left_out] = -np.inf
        cumulative = softmax(scaled).cumsum()
        uniform = random.Random(f"{seed} {position}").random()
        return int(cumulative.searchsorted(uniform * cumulative[-1], side="right"))

    return sample
