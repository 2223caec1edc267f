"""How often the naive slide picks the real model's next token, on the same text."""

from collections.abc import Iterator, Sequence

from model.comparison import Comparison, compare
from model.gpt import GPT
from model.limit import NaiveSlide, Recompute
from model.sampling import greedy


def slide(gpt: GPT, prompt: Sequence[int], steps: int = 50) -> Iterator[Comparison]:
    """Yield the comparison of each of `steps` steps past the limit.

    The last block_size tokens of the prompt are continued, greedily, by the real model until
    block_size are there, and the naive cache is filled with these. Then each step appends the real
    model's choice, which both take in. Both see the same text: after one early disagreement two texts
    of their own would have nothing in common. Raises ValueError for an empty prompt or negative steps.
    """
    if steps < 0:
        raise ValueError(f"steps must be at least 0, not {steps}")
    text = list(prompt[-gpt.config.block_size :])
    real, naive = Recompute(gpt), NaiveSlide(gpt)
    logits = real.start(text)
    while len(text) < gpt.config.block_size:
        text.append(greedy(logits, len(text)))
        logits = real.step(text)
    naive.start(text)
    for _ in range(steps):
        text.append(greedy(logits, len(text)))
        logits = real.step(text)
        yield compare(len(text), logits, naive.step(text))
