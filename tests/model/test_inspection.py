"""Attention weights are those of the step, and a cache is told from what it should hold, layer by layer."""

import math

import numpy as np
import pytest

from model import Decoder, forward_uncached
from model.inspection import attention_weights, cache_differences
from model.limit import NaiveSlide, Recompute


def plain_weights(model, text):
    """Attention of the last of some tokens, in plain Python: (n_layer, H, S)."""
    seen = []

    def attend(q, keys, values):
        D = model.config.head_dim
        rows = []
        for head in range(model.config.n_head):
            part = slice(head * D, (head + 1) * D)
            scores = [math.exp(q[part] @ k[part] / math.sqrt(D)) for k in keys]
            rows.append([score / sum(scores) for score in scores])
        seen.append(rows)
        return type(model).attend(model, q, keys, values)

    model.attend = attend
    model.logits(text)
    return np.array(seen[-model.config.n_layer :])


@pytest.mark.parametrize("n", [1, 2, 9, 16])
def test_attention_weights_are_those_of_the_last_step(gpt, n, plain, text_of, cache_with, assert_close):
    text = text_of(gpt.config, n)
    cache = cache_with(gpt, text[:-1])
    Decoder(gpt, cache).step(text[-1])
    weights = attention_weights(gpt, text[-1], n - 1, cache)
    assert_close(weights, plain_weights(plain(gpt), text), 1e-13)
    assert np.abs(weights.sum(axis=-1) - 1).max() < 1e-14


def test_to_look_changes_nothing(gpt, text_of, cache_with, unchanged):
    text = text_of(gpt.config, 9)
    cache = cache_with(gpt, text)
    with unchanged(cache):
        attention_weights(gpt, text[-1], 8, cache)
        cache_differences(gpt, text, cache)


def test_a_sound_cache_differs_by_rounding_alone(gpt, text_of):
    text = text_of(gpt.config, 16)
    policy = Recompute(gpt)
    policy.start(text[:3])
    for n in range(4, 17):
        policy.step(text[:n])
        keys, values, logits = cache_differences(gpt, text[:n], policy.cache)
        assert keys.shape == values.shape == (gpt.config.n_layer,)
        assert max(keys.max(), values.max()) < 1e-13
        assert np.array_equal(logits, forward_uncached(gpt, text[:n])[-1])


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("kind", ["keys", "values"])
def test_a_wrong_entry_shows_in_its_layer_and_kind_alone(gpt, layer, kind, text_of, cache_with):
    text = text_of(gpt.config, 7)
    cache = cache_with(gpt, text)
    getattr(cache, kind)[layer, 1, 4, 0] += 0.5
    differences = cache_differences(gpt, text, cache)
    shown = {"keys": differences.keys, "values": differences.values}
    assert shown[kind][layer] == pytest.approx(0.5)
    shown[kind][layer] = 0
    assert max(largest.max() for largest in shown.values()) < 1e-13


def test_the_naive_slide_breaks_at_the_first_step_past_the_limit(gpt, text_of):
    text = text_of(gpt.config, 17)
    policy = NaiveSlide(gpt)
    policy.start(text[:16])
    assert max(d.max() for d in cache_differences(gpt, text[:16], policy.cache)[:2]) < 1e-13
    policy.step(text)
    assert min(d.min() for d in cache_differences(gpt, text[1:], policy.cache)[:2]) > 1e-3


def test_a_window_that_is_not_what_is_stored_is_refused(odd_gpt, text_of, cache_with):
    cache = cache_with(odd_gpt, text_of(odd_gpt.config, 5))
    with pytest.raises(ValueError, match="holds 5 entries, and there are 4 tokens"):
        cache_differences(odd_gpt, text_of(odd_gpt.config, 4), cache)
