"""How often the naive slide picks the real model's next token, on the same text."""

from collections.abc import Iterator, Sequence

import numpy as np

from model.comparison import Comparison, compare
from model.gpt import GPT
from model.limit import LimitPolicy, NaiveSlide, Recompute
from model.sampling import greedy


def slide(gpt: GPT, prompt: Sequence[int], steps: int = 50) -> Iterator[Comparison]:
    """Yield the comparison of each of `steps` steps past the limit: see `beside_real`."""
    for text, real, naive in beside_real(NaiveSlide(gpt), prompt, steps):
        yield compare(len(text), real, naive)


def beside_real(
    policy: LimitPolicy, prompt: Sequence[int], steps: int
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Yield the text and both models' logits (V,) after it, at each of `steps` steps past the limit.

    The last block_size tokens of the prompt are continued, greedily, by the real model until
    block_size are there, and the policy's cache is filled with these. Then each step appends the real
    model's choice, which both take in. Both see the same text: after one early disagreement two texts
    of their own would have nothing in common. The text is one list, which grows. Raises ValueError for
    an empty prompt or negative steps.
    """
    if steps < 0:
        raise ValueError(f"steps must be at least 0, not {steps}")
    limit = policy.gpt.config.block_size
    text = list(prompt[-limit:])
    model = Recompute(policy.gpt)
    real = model.start(text)
    while len(text) < limit:
        text.append(greedy(real, len(text)))
        real = model.step(text)
    policy.start(text)
    for _ in range(steps):
        text.append(greedy(real, len(text)))
        real = model.step(text)
        yield text, real, policy.step(text)
