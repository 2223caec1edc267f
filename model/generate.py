"""The generation loop: choose a token, append it, run the model on it; and the time of each part."""

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


class Timed:
    """A continuation that notes the seconds of its calls: the model's alone, prefill and steps apart."""

    def __init__(self, model: Continuation) -> None:
        self.model = model
        self.prefill_seconds = 0.0
        self.step_seconds: list[float] = []

    def start(self, text: Sequence[int]) -> np.ndarray:
        begin = time.perf_counter()
        logits = self.model.start(text)
        self.prefill_seconds = time.perf_counter() - begin
        self.step_seconds = []
        return logits

    def step(self, text: Sequence[int]) -> np.ndarray:
        begin = time.perf_counter()
        logits = self.model.step(text)
        self.step_seconds.append(time.perf_counter() - begin)
        return logits


@dataclass(frozen=True)
class Generated:
    """A token that was chosen, and the logits (V,) that it was chosen from."""

    token: int
    logits: np.ndarray


def generate(model: Continuation, prompt: Sequence[int], n: int, sampler: Sampler) -> Iterator[Generated]:
    """Yield n tokens that follow a prompt: one prefill, and a step for each token, the last one too.

    Each token is yielded before the model takes it in. Raises ValueError for an empty prompt or a
    negative n.
    """
    if n < 0:
        raise ValueError(f"the number of tokens must be at least 0, not {n}")
    text = list(prompt)
    logits = model.start(text)
    for _ in range(n):
        token = sampler(logits, len(text))
        text.append(token)
        yield Generated(token, logits)
        logits = model.step(text)
