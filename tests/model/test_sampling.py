import math

import numpy as np
import pytest

from model.sampling import LogitsNotFinite, greedy, make_sampler

LOGITS = np.array([0.5, -1.0, 2.0, 0.0, 1.9, -3.0])


def shares(sampler, logits, draws=2500):
    """How often each token is drawn, over as many positions."""
    drawn = [sampler(logits, position) for position in range(draws)]
    return np.bincount(drawn, minlength=len(logits)) / draws


def plain_softmax(logits):
    e = [math.exp(u) for u in logits]
    return np.array(e) / sum(e)


def test_greedy_takes_the_most_likely_and_the_lowest_of_equals():
    assert greedy(LOGITS, 0) == 2
    assert greedy(np.array([1.0, 3.0, 3.0]), 5) == 1


def test_temperature_0_is_greedy():
    sampler = make_sampler(0.0, seed=1)
    assert {sampler(LOGITS, position) for position in range(50)} == {2}


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_tokens_are_drawn_as_often_as_softmax_says(temperature):
    # 0.05 is five standard deviations of a share over 2500 draws.
    expected = plain_softmax(LOGITS / temperature)
    assert np.abs(shares(make_sampler(temperature), LOGITS) - expected).max() < 0.05


@pytest.mark.parametrize("k", [1, 2, 4])
def test_top_k_leaves_the_k_most_likely_in_their_proportions(k):
    best = np.argsort(LOGITS)[-k:]
    expected = np.zeros(len(LOGITS))
    expected[best] = plain_softmax(LOGITS[best])
    found = shares(make_sampler(1.0, top_k=k), LOGITS)
    assert set(np.flatnonzero(found)) == set(best)
    assert np.abs(found - expected).max() < 0.05


@pytest.mark.parametrize("k", [6, 100])
def test_a_top_k_of_the_whole_vocabulary_leaves_everything(k):
    samplers = make_sampler(1.0, top_k=k), make_sampler(1.0)
    assert np.array_equal(*(shares(sampler, LOGITS, 200) for sampler in samplers))


def test_a_draw_depends_on_nothing_but_seed_and_position():
    sampler = make_sampler(1.0, seed=3)
    forth = [sampler(LOGITS, position) for position in range(100)]
    back = [sampler(LOGITS, position) for position in reversed(range(100))]
    assert forth == back[::-1]
    assert forth == [make_sampler(1.0, seed=3)(LOGITS, position) for position in range(100)]


def test_other_seeds_and_other_positions_draw_otherwise():
    uniform = np.zeros(1000)
    assert len({make_sampler(1.0, seed=seed)(uniform, 0) for seed in range(20)}) > 10
    assert len({make_sampler(1.0, seed=0)(uniform, position) for position in range(20)}) > 10


def test_the_logits_are_left_as_they_were():
    logits = LOGITS.copy()
    make_sampler(0.7, top_k=2)(logits, 0)
    assert np.array_equal(logits, LOGITS)


def test_a_token_without_probability_is_never_drawn():
    logits = np.array([-np.inf, 0.0, -np.inf, 0.0, -np.inf])
    found = shares(make_sampler(1.0), logits, 300)
    assert found[[0, 2, 4]].tolist() == [0, 0, 0]
    assert min(found[[1, 3]]) > 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_huge_logits_do_not_overflow(dtype):
    sampler = make_sampler(1.0)
    assert {sampler(np.array([0, 1e30, -1e30], dtype), position) for position in range(20)} == {1}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("temperature", [1e-10, 1e-40, 1e-50, 5e-324])
def test_a_temperature_near_0_is_greedy(dtype, temperature):
    sampler = make_sampler(temperature)
    assert {sampler(LOGITS.astype(dtype), position) for position in range(20)} == {2}


@pytest.mark.parametrize("temperature", [-0.1, math.nan, math.inf])
def test_a_temperature_that_is_none_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be a number of at least 0"):
        make_sampler(temperature)


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_top_k_without_tokens_is_refused(top_k):
    with pytest.raises(ValueError, match="top_k must be at least 1"):
        make_sampler(1.0, top_k)


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_numbers_that_overflowed_are_an_error_with_a_name(number, temperature):
    with pytest.raises(LogitsNotFinite, match="overflow in float64"):
        make_sampler(temperature)(np.array([0.0, number, 1.0]), 0)
