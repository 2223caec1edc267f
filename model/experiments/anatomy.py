"""The two faults of the naive slide told apart: wrong positions, and stale context."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.comparison import Comparison, compare
from model.experiments.slide import beside_real
from model.gpt import GPT
from model.limit import NaiveSlide
from model.sampling import Sampler, greedy
from model.uncached import forward_uncached

PAIRS = ("positions_only", "naive", "stale")  # the comparisons of an anatomy


@dataclass(frozen=True)
class Anatomy:
    """What is wrong with a slid cache after a text of `position` tokens.

    Three models read the same window of S tokens. The real one has them at the positions 0 to S - 1.
    "Positions only" computes them from scratch, too, but as if they stood where the cache has them: it
    has one fault alone. The naive slide has both, as its entries also carry, above the first layer,
    what they took from tokens that are gone.

    The three divergences do not add up: KL is no distance. (The choices are in `real` and
    `other` of each comparison; of `stale`, `real` is the choice of positions only.)
    """

    position: int
    window: list[int]  # (S,) token ids, the oldest first; entry i's rightful position is i
    baked_positions: list[int]  # (S,) at which the cache's entries were computed
    positions_only: Comparison  # with the real model: wrong positions
    naive: Comparison  # with the real model: wrong positions and stale context
    stale: Comparison  # of the naive slide with positions only: stale context


def anatomy(gpt: GPT, prompt: Sequence[int], steps: int = 50) -> Iterator[Anatomy]:
    """Yield the anatomy of each of `steps` steps past the limit, on the text of `slide`.

    Raises ValueError for an empty prompt or negative steps.
    """
    naive = NaiveSlide(gpt)
    for text, real, slid in beside_real(naive, prompt, steps):
        yield take_apart(naive, text, real, slid)


def take_apart(
    naive: NaiveSlide,
    text: Sequence[int],
    real: np.ndarray,
    slid: np.ndarray,
    sampler: Sampler = greedy,
) -> Anatomy:
    """The anatomy of a naive slide that has taken in a text, from its logits (V,) and the real model's."""
    window, positions = naive.window(text), naive.positions
    positions_only = forward_uncached(naive.gpt, window, positions=positions)[-1]
    return Anatomy(
        position=len(text),
        window=window,
        baked_positions=positions.tolist(),
        positions_only=compare(len(text), real, positions_only, sampler),
        naive=compare(len(text), real, slid, sampler),
        stale=compare(len(text), positions_only, slid, sampler),
    )
