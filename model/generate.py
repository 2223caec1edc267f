"""The generation loop: choose a token, append it, run the model on it; each part timed apart."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from model.gpt import GPT
from model.sampling import Sampler
from model.uncached import forward_uncached


class Continuation(Protocol):
    """Whatever gives the logits of the next token: a limit policy, or `Uncached`."""

    def start(self, text: Sequence[int]) -> np.ndarray: ...
    def step(self, text: Sequence[int]) -> np.ndarray: ...


class Uncached:
    """The same texts without a cache: a full forward pass over the window for every token."""

    def __init__(self, gpt: GPT, block_rows: int | None = None) -> None:
        self.gpt, self.block_rows = gpt, block_rows

    def start(self, text: Sequence[int]) -> np.ndarray:
        return self.step(text)

    def step(self, text: Sequence[int]) -> np.ndarray:
        window = text[-self.gpt.config.block_size :]
        return forward_uncached(self.gpt, window, self.block_rows)[-1]


@dataclass(frozen=True)
class Generated:
    """A token that was chosen, the logits (V,) that it was chosen from, and what these cost."""

    token: int
    logits: np.ndarray
    seconds: float  # of the model alone: the prefill for the first token, then a step each


def generate(model: Continuation, prompt: Sequence[int], n: int, sampler: Sampler) -> Iterator[Generated]:
    """Yield n tokens that follow a prompt. Raises ValueError for an empty prompt or a negative n."""
    if n < 0:
        raise ValueError(f"the number of tokens must be at least 0, not {n}")
    text = list(prompt)
    forward = model.start
    for _ in range(n):
        begin = time.perf_counter()
        logits = forward(text)
        seconds = time.perf_counter() - begin
        token = sampler(logits, len(text))
        text.append(token)
        yield Generated(token, logits, seconds)
        forward = model.step
