"""The step that is timed is the step at that context."""

import numpy as np
import pytest

from model import Decoder, GPTConfig, KVCache
from model.experiments import steps


@pytest.fixture
def gpt(perturbed):
    return perturbed(GPTConfig(2, 2, 8, 16, 11))


def test_past_the_positions_of_the_model_weights_are_random(gpt):
    rows = list(steps.step_times(gpt, (4, 16, 17), most_uncached=16, seconds=0))
    assert [(row.context, row.random_weights) for row in rows] == [(4, False), (16, False), (17, True)]
    assert [row.uncached_all is None for row in rows] == [False, False, True]
    assert rows[2].speedup is None
    assert rows[0].speedup == rows[0].uncached_blocked.median / rows[0].cached.median


def test_a_short_context_is_counted_at_as_many_times_as_it_has_tokens(gpt):
    (row,) = steps.step_times(gpt, (16,), seconds=0)
    assert row.multiply_add_ratio == 16


@pytest.mark.parametrize("context", [1, 5, 16])
def test_the_timed_step_is_the_last_of_its_context_however_often_it_runs(gpt, context, monkeypatch):
    seen = []
    original = Decoder.step

    def spy(self, token):
        seen.append((self.cache.offset, self.cache.max_seq_len))
        return original(self, token)

    monkeypatch.setattr(Decoder, "step", spy)
    step = steps.cached_step(gpt, context)
    step()
    step()
    assert seen == [(context - 1, context)] * 2


def test_a_step_allocates_nothing_that_grows_with_the_context(gpt):
    from model.experiments.memory import peak_bytes

    long = steps.with_random_weights(gpt, 40_000)
    small, large = (peak_bytes(steps.cached_step(long, n)) for n in (20_000, 40_000))
    one_score = 2 * 20_000 * 8
    assert large - small < one_score / 20


def test_with_random_weights_only_positions_and_weights_change(gpt):
    other = steps.with_random_weights(gpt, 99)
    assert (other.config.n_embd, other.config.block_size, other.dtype) == (8, 99, np.float64)
    assert isinstance(KVCache(other.config), KVCache)
