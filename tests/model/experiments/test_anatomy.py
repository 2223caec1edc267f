"""The two faults of the naive slide are apart: without the one, only the other is left."""

import math

import numpy as np
import pytest

from model import GPT, GPTConfig
from model.experiments.anatomy import anatomy, take_apart
from model.experiments.slide import slide
from model.limit import NaiveSlide, Recompute

LIMIT, STEPS = 8, 8
PROMPT = [1, 2, 3, 4, 5, 6, 7, 8]  # no more of one kind: what such a model goes on with is all the same
ROUNDING = 1e-13  # of a KL between logits that are equal but for rounding


@pytest.fixture
def model(perturbed):
    """A model of some layers whose attention is strong; its positions may be without effect."""

    def make(layers, positions=True):
        parameters = perturbed(GPTConfig(layers, 2, 8, LIMIT, 11)).parameters
        strong = {name: 3 * p if ".attn." in name else p for name, p in parameters.items()}
        if not positions:
            strong["wpe.weight"] = np.zeros_like(strong["wpe.weight"])
        return GPT(GPTConfig(layers, 2, 8, LIMIT, 11), strong)

    return make


def kls(steps):
    """(3, steps): of positions only, naive, stale."""
    return np.array([[s.positions_only.kl, s.naive.kl, s.stale.kl] for s in steps]).T


def test_in_one_layer_there_is_no_stale_context(model):
    steps = list(anatomy(model(1), PROMPT, STEPS))
    positions_only, naive, stale = kls(steps)
    assert stale.max() < ROUNDING
    assert naive == pytest.approx(positions_only, rel=1e-9)
    assert positions_only.min() > 1e-4  # the positions are wrong
    assert all(s.stale.agree and s.naive.other == s.positions_only.other for s in steps)


def test_without_positions_nothing_but_stale_context_is_left(model):
    steps = list(anatomy(model(3, positions=False), PROMPT, STEPS))
    positions_only, naive, stale = kls(steps)
    assert positions_only.max() < ROUNDING
    assert naive == pytest.approx(stale, rel=1e-9)
    assert stale.min() > 1e-6
    assert all(s.positions_only.agree for s in steps)


def test_in_one_layer_without_positions_the_naive_slide_is_the_real_model(model):
    steps = list(anatomy(model(1, positions=False), PROMPT, STEPS))
    assert kls(steps).max() < ROUNDING
    assert all(s.positions_only.agree and s.naive.agree and s.stale.agree for s in steps)


def test_else_there_are_both_faults(model):
    assert kls(anatomy(model(3), PROMPT, STEPS)).min() > 1e-6


@pytest.mark.parametrize("n", [3, LIMIT])
def test_while_the_window_has_not_slid_nothing_is_wrong(model, n, text_of):
    gpt = model(3)
    text = text_of(gpt.config, n)
    naive = NaiveSlide(gpt)
    found = take_apart(naive, text, Recompute(gpt).start(text), naive.start(text))
    assert kls([found]).max() < ROUNDING
    assert found.baked_positions == list(range(n))


def test_positions_only_is_the_window_from_scratch_with_each_token_where_the_cache_has_it(model, plain):
    gpt = model(2)
    (*_, step) = anatomy(gpt, PROMPT, 3)
    reader = plain(gpt)
    memory = reader.new_memory()
    for token, position in zip(step.window, [3, 4, 5, 6, 7, 7, 7, 7], strict=True):
        expected = reader.step(token, position, memory)
    real = reader.logits(step.window)[-1]
    P, Q = ([math.exp(u) / sum(map(math.exp, logits)) for u in logits] for logits in (real, expected))
    kl = sum(p * math.log(p / q) for p, q in zip(P, Q, strict=True))
    assert step.positions_only.kl == pytest.approx(kl, rel=1e-9)
    assert step.positions_only.other == int(np.argmax(expected)) == step.stale.real


def test_it_goes_over_the_steps_of_the_slide(model):
    gpt = model(2)
    found = list(anatomy(gpt, PROMPT, STEPS))
    assert [step.naive for step in found] == list(slide(gpt, PROMPT, STEPS))
    assert [step.position for step in found] == list(range(LIMIT + 1, LIMIT + STEPS + 1))
    assert all(step.stale.other == step.naive.other for step in found)


def test_every_step_tells_which_entries_the_cache_holds(model):
    first, *_, last = anatomy(model(2), PROMPT, STEPS)
    assert first.baked_positions == [1, 2, 3, 4, 5, 6, 7, 7]
    assert last.baked_positions == [7] * 8
    assert first.window[:2] == [2, 3]  # the first token is gone


def test_no_steps_may_be_asked_for_but_not_fewer_nor_an_empty_prompt(model):
    assert list(anatomy(model(1), [1], 0)) == []
    with pytest.raises(ValueError, match="steps must be at least 0, not -1"):
        list(anatomy(model(1), [1], -1))
    with pytest.raises(ValueError, match="at least one id"):
        list(anatomy(model(1), [], 1))
