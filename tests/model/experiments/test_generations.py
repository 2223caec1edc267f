"""The three ways of writing a text write the same text."""

import pytest

from model import GPTConfig
from model.experiments.generations import Autograd, generation_rows
from model.generate import Uncached, generate
from model.limit import Recompute
from model.sampling import greedy


@pytest.fixture
def gpt(perturbed):
    return perturbed(GPTConfig(2, 2, 8, 12, 11))


def test_past_the_limit_too(gpt):
    texts = {
        tuple(step.token for step in generate(model, [1, 2], 20, greedy))
        for model in (Recompute(gpt), Uncached(gpt, 4), Autograd(gpt))
    }
    assert len(texts) == 1


def test_a_row_for_each_length(gpt):
    rows = list(generation_rows(gpt, [1, 2], (3, 5)))
    assert [row.tokens for row in rows] == [3, 5]
    assert all(min(row.cached_s, row.uncached_s, row.autograd_s) > 0 for row in rows)
