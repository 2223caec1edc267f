"""Whole generations: with the cache, with a plain forward pass, and through the autograd engine."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.autograd import Tensor
from model.autograd_gpt import autograd_logits
from model.experiments.steps import BLOCK_ROWS
from model.generate import Continuation, Uncached, generate
from model.gpt import GPT
from model.limit import Recompute
from model.sampling import greedy

LENGTHS = (100, 300)


@dataclass(frozen=True)
class GenerationRow:
    """Seconds that a text of so many new tokens took."""

    tokens: int
    cached_s: float
    uncached_s: float
    autograd_s: float


class Autograd:
    """The engine that the model was trained with, as the continuation of a text: no cache either."""

    def __init__(self, gpt: GPT) -> None:
        self.gpt = gpt
        self.parameters = {name: Tensor(p) for name, p in gpt.parameters.items()}

    def start(self, text: Sequence[int]) -> np.ndarray:
        return self.step(text)

    def step(self, text: Sequence[int]) -> np.ndarray:
        window = np.array([text[-self.gpt.config.block_size :]])
        return autograd_logits(self.gpt.config, self.parameters, window).data[-1]


def generation_rows(
    gpt: GPT, prompt: Sequence[int], lengths: Sequence[int] = LENGTHS
) -> Iterator[GenerationRow]:
    """Yield a row for each length: the same greedy text, written in three ways."""
    for n in lengths:
        models: list[Continuation] = [Recompute(gpt), Uncached(gpt, BLOCK_ROWS), Autograd(gpt)]
        yield GenerationRow(n, *(_seconds(model, prompt, n) for model in models))


def _seconds(model: Continuation, prompt: Sequence[int], n: int) -> float:
    begin = time.perf_counter()
    for _ in generate(model, prompt, n, greedy):
        pass
    return time.perf_counter() - begin
