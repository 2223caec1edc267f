from dataclasses import replace

import numpy as np
import pytest

from model import GPT, CacheOverflow, Decoder, GPTConfig, KVCache, prefill

TOLERANCES = {"float64": 2e-14, "float32": 1e-5}

CONFIGS = {
    "even": GPTConfig(n_layer=3, n_head=2, n_embd=8, block_size=16, vocab_size=13),
    "odd": GPTConfig(n_layer=2, n_head=3, n_embd=15, block_size=16, vocab_size=11, n_inner=22),
    "one head": GPTConfig(n_layer=1, n_head=1, n_embd=7, block_size=9, vocab_size=5, n_inner=3),
    "heads of one": GPTConfig(n_layer=2, n_head=6, n_embd=6, block_size=10, vocab_size=3),
    "large epsilon": GPTConfig(2, 2, 10, 12, 17, layer_norm_epsilon=0.01),
    "one token": GPTConfig(n_layer=1, n_head=2, n_embd=6, block_size=8, vocab_size=1),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_every_step_is_a_forward_of_one_token(config, dtype, perturbed, text_of, cache_with, assert_close):
    gpt = perturbed(config, dtype)
    text = text_of(config, config.block_size)
    cache, reference = cache_with(gpt), cache_with(gpt)
    decoder = Decoder(gpt, cache)
    stepped = np.stack([decoder.step(token) for token in text])
    expected = np.stack([gpt.forward([token], reference)[0] for token in text])
    assert_close(stepped, expected, TOLERANCES[dtype])
    assert cache.offset == config.block_size
    assert_close(cache.keys, reference.keys, TOLERANCES[dtype])
    assert_close(cache.values, reference.values, TOLERANCES[dtype])


def test_a_step_is_gpt2s(gpt, plain, text_of, cache_with, assert_close):
    text = text_of(gpt.config, 16)
    decoder = Decoder(gpt, cache_with(gpt))
    assert_close(np.stack([decoder.step(t) for t in text]), plain(gpt).logits(text), 1e-13)


def test_the_cache_may_be_used_by_others_between_steps(gpt, plain, text_of, cache_with, assert_close):
    text = text_of(gpt.config, 12)
    expected = plain(gpt).logits(text)
    cache = cache_with(gpt)
    decoder = Decoder(gpt, cache)
    decoder.step(text[-1])
    cache.reset()
    prefill(gpt, text[:4], cache, 3)
    assert_close(decoder.step(text[4]), expected[4], 1e-13)
    gpt.forward(text[5:8], cache)
    assert_close(decoder.step(text[8]), expected[8], 1e-13)
    decoder.step(text[0])
    decoder.step(text[1])
    cache.trim(3)
    assert_close(decoder.step(text[8]), expected[8], 1e-13)
    assert_close(gpt.forward(text[9:12], cache), expected[9:], 1e-13)


def test_a_second_decoder_goes_on_where_the_first_stopped(gpt, text_of, cache_with):
    text = text_of(gpt.config, 6)
    cache, alone = cache_with(gpt), Decoder(gpt, cache_with(gpt))
    expected = [alone.step(token) for token in text]
    decoders = Decoder(gpt, cache), Decoder(gpt, cache)
    assert np.array_equal([decoders[i % 2].step(token) for i, token in enumerate(text)], expected)


def test_trimmed_tokens_leave_no_trace(gpt, text_of, cache_with):
    text = text_of(gpt.config, 9)
    cache = cache_with(gpt, text[:5])
    decoder = Decoder(gpt, cache)
    for token in (0, 1, 2):
        decoder.step(token)
    cache.trim(3)
    fresh = Decoder(gpt, cache_with(gpt, text[:5]))
    for token in text[5:]:
        assert np.array_equal(decoder.step(token), fresh.step(token))


def test_after_a_reset_a_text_begins_anew(gpt, text_of, cache_with):
    cache = cache_with(gpt)
    decoder = Decoder(gpt, cache)
    for token in text_of(gpt.config, 16, seed=1):
        decoder.step(token)
    cache.reset()
    fresh = Decoder(gpt, cache_with(gpt))
    for token in text_of(gpt.config, 5, seed=2):
        assert np.array_equal(decoder.step(token), fresh.step(token))


def test_what_lies_beyond_the_offset_is_neither_read_nor_written(gpt, text_of, cache_with):
    text = text_of(gpt.config, 9)
    poisoned, clean = cache_with(gpt), KVCache(gpt.config)
    decoders = Decoder(gpt, poisoned), Decoder(gpt, clean)
    for token in text:
        logits, expected = (decoder.step(token) for decoder in decoders)
        assert np.array_equal(logits, expected)
    assert np.isnan(poisoned.keys[:, :, 9:]).all()
    assert np.isnan(poisoned.values[:, :, 9:]).all()


def test_stored_entries_are_never_rewritten(gpt, text_of, cache_with):
    cache = cache_with(gpt, text_of(gpt.config, 8))
    before = cache.keys[:, :, :8].copy(), cache.values[:, :, :8].copy()
    Decoder(gpt, cache).step(1)
    assert np.array_equal(cache.keys[:, :, :8], before[0])
    assert np.array_equal(cache.values[:, :, :8], before[1])


def test_it_fills_the_cache_to_the_brim_and_one_more_is_refused(gpt, text_of, cache_with, unchanged):
    cache = cache_with(gpt)
    decoder = Decoder(gpt, cache)
    for stored, token in enumerate(text_of(gpt.config, 16)):
        assert cache.offset == stored
        decoder.step(token)
    assert cache.offset == cache.max_seq_len
    with unchanged(cache), pytest.raises(CacheOverflow, match="1 more after 16 stored tokens"):
        decoder.step(0)


def test_a_roomy_cache_gives_the_model_no_positions_beyond_its_last(gpt, text_of, cache_with, unchanged):
    cache = cache_with(gpt, text_of(gpt.config, 16), max_seq_len=20)
    decoder = Decoder(gpt, cache)
    with unchanged(cache), pytest.raises(ValueError, match="positions 0 to 15, not 16"):
        decoder.step(0)


@pytest.mark.parametrize("token", [-1, 11, 2**70, 1.0, float("nan"), True, np.array([1])], ids=repr)
def test_what_is_not_an_id_is_refused(odd_gpt, token, cache_with, unchanged):
    cache = cache_with(odd_gpt, [1, 2, 3])
    decoder = Decoder(odd_gpt, cache)
    with unchanged(cache), pytest.raises(ValueError, match="token id"):
        decoder.step(token)


@pytest.mark.parametrize("token", [-1, 11])
def test_a_refusal_says_which_ids_there_are_and_which_there_was(odd_gpt, token, cache_with):
    with pytest.raises(ValueError, match=f"must lie in 0 to 10, not {token}"):
        Decoder(odd_gpt, cache_with(odd_gpt)).step(token)


@pytest.mark.parametrize("token", [np.int64(4), np.uint8(4), np.array([4, 5])[0]], ids=repr)
def test_an_id_may_be_any_integer(odd_gpt, token, cache_with):
    expected = Decoder(odd_gpt, cache_with(odd_gpt)).step(4)
    assert np.array_equal(Decoder(odd_gpt, cache_with(odd_gpt)).step(token), expected)


def test_a_step_that_breaks_off_counts_for_nothing(gpt, text_of, cache_with):
    text = text_of(gpt.config, 6)
    cache = cache_with(gpt, text[:5])
    before = cache.keys[:, :, :5].copy(), cache.values[:, :, :5].copy()
    cache.values.flags.writeable = False
    decoder = Decoder(gpt, cache)
    with pytest.raises(ValueError, match="read-only"):
        decoder.step(text[5])
    assert cache.offset == 5
    cache.values.flags.writeable = True
    assert np.array_equal(cache.keys[:, :, :5], before[0])
    assert np.array_equal(cache.values[:, :, :5], before[1])
    again = Decoder(gpt, cache).step(text[5])
    assert np.array_equal(again, Decoder(gpt, cache_with(gpt, text[:5])).step(text[5]))


@pytest.mark.parametrize(
    ("sizes", "dtype"), [({"n_layer": 1}, "float64"), ({"n_head": 5}, "float64"), ({}, "float32")]
)
def test_the_cache_of_another_model_is_refused(odd_gpt, sizes, dtype):
    cache = KVCache(replace(odd_gpt.config, **sizes), dtype=dtype)
    with pytest.raises(ValueError, match="needs a cache of shape"):
        Decoder(odd_gpt, cache)


def test_two_decoders_of_one_model_hold_two_texts(gpt, text_of, cache_with):
    texts = [text_of(gpt.config, 6, seed) for seed in (1, 2)]
    expected = []
    for text in texts:
        alone = Decoder(gpt, cache_with(gpt))
        expected.append([alone.step(token) for token in text])
    together = [Decoder(gpt, cache_with(gpt)) for _ in texts]
    for i in range(6):
        for decoder, text, logits in zip(together, texts, expected, strict=True):
            assert np.array_equal(decoder.step(text[i]), logits[i])


def test_logits_belong_to_the_caller(gpt, text_of, cache_with):
    decoder = Decoder(gpt, cache_with(gpt))
    first = decoder.step(1)
    before = first.copy()
    decoder.step(2)
    assert np.array_equal(first, before)
    second = decoder.step(3)
    first[:] = np.nan
    assert np.isfinite(second).all()
    assert np.isfinite(decoder.step(4)).all()


def arrays_in(thing):
    """Every array that an object holds, in its attributes, lists and tuples."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from arrays_in(part)
    elif isinstance(thing, Decoder):
        yield from arrays_in(list(vars(thing).values()))


def test_float32_is_never_promoted(gpt32, text_of, cache_with):
    cache = cache_with(gpt32, text_of(gpt32.config, 3))
    decoder = Decoder(gpt32, cache)
    arrays = [*arrays_in(decoder), *arrays_in(gpt32.folded)]
    assert len(arrays) > 8 * gpt32.config.n_layer
    arrays += [decoder.step(1), decoder.step(2), cache.keys, cache.values]
    assert {array.dtype for array in arrays} == {np.dtype("float32")}


def with_score(gpt, score, layers=slice(None)):
    """Parameters with a constant in every key and query: the same for all scores, so to softmax nothing."""
    parameters = dict(gpt.parameters)
    width, head_dim = gpt.config.n_embd, gpt.config.head_dim
    size = (abs(score) / np.sqrt(head_dim)) ** 0.5
    for layer in range(gpt.config.n_layer)[layers]:
        bias = parameters[f"h.{layer}.attn.c_attn.bias"].copy()
        bias[:width] = size
        bias[width : 2 * width] = np.sign(score) * size
        parameters[f"h.{layer}.attn.c_attn.bias"] = bias
    return parameters


@pytest.mark.parametrize("layers", [np.s_[:], np.s_[-1:]], ids=["all layers", "the last layer"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("score", [-2000, -740, -100, -60, 60, 100, 740, 2000])
def test_scores_of_any_size_are_taken(gpt, score, dtype, layers, text_of, cache_with, assert_close):
    parameters = {name: p.astype(dtype) for name, p in with_score(gpt, score, layers).items()}
    model = GPT(gpt.config, parameters)
    text = text_of(gpt.config, 9)
    decoder = Decoder(model, cache_with(model))
    stepped = np.stack([decoder.step(token) for token in text])
    assert decoder.cache.offset == 9
    assert_close(
        stepped, model.forward(text, cache_with(model)), {"float64": 1e-12, "float32": 1e-3}[dtype]
    )


def test_small_values_keep_their_digits_where_scores_are_far_below_zero(
    gpt, text_of, cache_with, assert_close
):
    """exp(-700) is a number of 53 bits, and 1e-12 of it is not."""
    parameters = with_score(gpt, -700)
    for layer in range(gpt.config.n_layer):
        h, width = f"h.{layer}.attn.", gpt.config.n_embd
        shrink = np.repeat([1, 1, 1e-12], width)
        for name, factor in (("c_attn.weight", shrink), ("c_attn.bias", shrink), ("c_proj.weight", 1e12)):
            parameters[h + name] = parameters[h + name] * factor
    model = GPT(gpt.config, parameters)
    text = text_of(gpt.config, 9)
    decoder = Decoder(model, cache_with(model))
    stepped = np.stack([decoder.step(token) for token in text])
    assert_close(stepped, model.forward(text, cache_with(model)), 1e-12)


@pytest.mark.parametrize("layer", ["attn.c_attn", "mlp.c_fc"])
def test_huge_numbers_within_do_not_overflow(odd_gpt, layer, text_of, cache_with):
    parameters = {n: p * 1e3 if layer in n else p for n, p in odd_gpt.parameters.items()}
    model = GPT(odd_gpt.config, parameters)
    decoder = Decoder(model, cache_with(model))
    assert all(np.isfinite(decoder.step(token)).all() for token in text_of(model.config, 9))
