from dataclasses import replace

import numpy as np
import pytest

from model import CacheOverflow, KVCache, prefill


@pytest.mark.parametrize("step_size", [1, 3, 7, 13, 14, 100])
@pytest.mark.parametrize("stored", [0, 2])
def test_chunks_of_any_size_give_the_last_logits_of_the_whole(
    gpt, step_size, stored, plain, text_of, cache_with, assert_close
):
    text = text_of(gpt.config, 16)
    cache = cache_with(gpt, text[:stored])
    logits = prefill(gpt, text[stored:], cache, step_size)
    assert_close(logits, plain(gpt).logits(text)[-1], 1e-13)
    whole = cache_with(gpt, text)
    assert cache.offset == 16
    assert_close(cache.keys, whole.keys, 1e-13)
    assert_close(cache.values, whole.values, 1e-13)


def test_every_token_enters_once_and_no_more_than_a_chunk_at_a_time(gpt, text_of, cache_with, monkeypatch):
    text = text_of(gpt.config, 11)
    forward, fed = gpt.forward, []

    def spy(tokens, cache):
        fed.append(list(tokens))
        return forward(tokens, cache)

    monkeypatch.setattr(gpt, "forward", spy)
    cache = cache_with(gpt)
    prefill(gpt, text, cache, 4)
    assert [len(chunk) for chunk in fed] == [4, 4, 3]
    assert [token for chunk in fed for token in chunk] == text
    assert cache.offset == 11


@pytest.mark.parametrize("step_size", [1, 3, 128])
@pytest.mark.parametrize(("n", "T"), [(16, 1), (10, 7), (0, 17)])
def test_a_prompt_too_long_is_refused_before_its_first_chunk(
    gpt, n, T, step_size, text_of, cache_with, unchanged
):
    cache = cache_with(gpt, text_of(gpt.config, n))
    with unchanged(cache), pytest.raises(CacheOverflow, match=f"{T} more after {n} stored tokens"):
        prefill(gpt, text_of(gpt.config, T), cache, step_size)


def test_a_prompt_beyond_the_last_position_is_refused_before_its_first_chunk(
    gpt, text_of, cache_with, unchanged
):
    cache = cache_with(gpt, text_of(gpt.config, 10), max_seq_len=30)
    with unchanged(cache), pytest.raises(ValueError, match="positions 0 to 15, not 16"):
        prefill(gpt, text_of(gpt.config, 7), cache, 3)


def test_what_is_not_a_sequence_of_ids_is_refused_before_the_first_chunk(
    odd_gpt, bad_tokens, cache_with, unchanged
):
    cache = cache_with(odd_gpt, [1, 2, 3])
    with unchanged(cache), pytest.raises(ValueError, match="token"):
        prefill(odd_gpt, bad_tokens, cache, 2)


@pytest.mark.parametrize("step_size", [0, -1])
def test_chunks_of_nothing_are_refused(odd_gpt, step_size, cache_with, unchanged):
    cache = cache_with(odd_gpt, [1])
    with unchanged(cache), pytest.raises(ValueError, match="step_size must be at least 1"):
        prefill(odd_gpt, [1, 2], cache, step_size)


def test_the_cache_of_another_model_is_refused(odd_gpt, unchanged):
    cache = KVCache(replace(odd_gpt.config, n_layer=1))
    with unchanged(cache), pytest.raises(ValueError, match="needs a cache of shape"):
        prefill(odd_gpt, [1, 2], cache)


def test_float32_stays_float32(gpt32, text_of):
    cache = KVCache(gpt32.config, dtype="float32")
    assert prefill(gpt32, text_of(gpt32.config, 9), cache, 4).dtype == np.float32
