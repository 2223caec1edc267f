"""Two models' predictions for the same text, held against each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.ops import log_softmax
from model.sampling import Sampler, greedy

# Largest difference that counts as rounding, as a share of the largest logit: 90 units of the last
# place. One pass is a few hundred roundings deep, and about 10 units are seen.
TOLERANCES = {"float64": 2e-14, "float32": 1e-5}


@dataclass(frozen=True)
class Comparison:
    """What the real model and another one predict after a text of `position` tokens."""

    position: int
    real: int  # the token that the real model chooses
    other: int
    kl: float  # KL(real || other) in nats

    @property
    def agree(self) -> bool:
        return self.real == self.other


def compare(position: int, real: np.ndarray, other: np.ndarray, sampler: Sampler = greedy) -> Comparison:
    """Compare the logits (V,) of two models, and what one sampler, with one draw, takes from each."""
    return Comparison(
        position, sampler(real, position), sampler(other, position), kl_divergence(real, other)
    )


def kl_divergence(p: np.ndarray, q: np.ndarray) -> float:
    """KL(P || Q) = sum of P (log P - log Q), in nats, of two distributions given as logits (V,)."""
    log_p, log_q = log_softmax(p), log_softmax(q)
    divergence = float((np.exp(log_p) * (log_p - log_q)).sum())
    # Rounding may leave -1e-17 for equal distributions; a divergence is never negative (NaN stays NaN).
    return 0.0 if divergence < 0 else divergence


def bits_per_character(logits: np.ndarray, tokens: Sequence[int]) -> float:
    """Mean of -log2 p(token) of T tokens, each predicted by a row of logits (T, V): cross-entropy."""
    log_p = log_softmax(logits)[np.arange(len(logits)), np.asarray(tokens)]  # nats
    return float(-log_p.mean() / math.log(2))
