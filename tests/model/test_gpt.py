from dataclasses import replace

import numpy as np
import pytest

from model import GPT, CacheOverflow, KVCache
from model.config_json import read_config
from model.gpt import BUNDLED, float_type

DTYPES = [("float64", 1e-13), ("float32", 1e-5)]


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
def test_the_logits_are_gpt2s(gpt, dtype, tolerance, perturbed, plain, text_of, assert_close):
    model = perturbed(gpt.config, dtype)
    text = text_of(gpt.config, gpt.config.block_size)
    logits = model.forward(text, KVCache(gpt.config, dtype=dtype))
    assert_close(logits, plain(model).logits(text), tolerance)


@pytest.mark.parametrize("chunks", [[16], [1] * 16, [3, 1, 5, 7], [15, 1], [1, 15], [8, 8]], ids=str)
def test_a_text_in_chunks_is_the_text_in_one(gpt, chunks, plain, text_of, cache_with, assert_close):
    text = text_of(gpt.config, 16)
    cache = cache_with(gpt)
    logits = []
    for T in chunks:
        logits.append(gpt.forward(text[cache.offset : cache.offset + T], cache))
        assert len(logits[-1]) == T
    assert cache.offset == 16
    assert_close(np.concatenate(logits), plain(gpt).logits(text), 1e-13)


@pytest.mark.parametrize("chunks", [[7], [4, 3], [1] * 7], ids=str)
def test_the_cache_holds_the_keys_and_values_of_every_layer(
    gpt, chunks, plain, text_of, cache_with, assert_close
):
    text = text_of(gpt.config, 7)
    cache = cache_with(gpt)
    for T in chunks:
        gpt.forward(text[cache.offset : cache.offset + T], cache)
    reference = plain(gpt)
    memory = reference.new_memory()
    for position, token in enumerate(text):
        reference.step(token, position, memory)
    for layer, lists in enumerate(memory):
        for array, vectors in zip((cache.keys, cache.values), lists, strict=True):
            by_head = np.array(vectors).reshape(7, gpt.config.n_head, gpt.config.head_dim).swapaxes(0, 1)
            assert_close(array[layer, :, :7], by_head, 1e-13)


def test_what_lies_beyond_the_offset_is_neither_read_nor_written(gpt, text_of, cache_with):
    text = text_of(gpt.config, 9)
    poisoned = cache_with(gpt)
    clean = KVCache(gpt.config)
    for part in (text[:4], text[4:5], text[5:9]):
        assert np.array_equal(gpt.forward(part, poisoned), gpt.forward(part, clean))
    assert np.isnan(poisoned.keys[:, :, 9:]).all()
    assert np.isnan(poisoned.values[:, :, 9:]).all()


def test_stored_entries_are_never_rewritten(gpt, text_of, cache_with):
    text = text_of(gpt.config, 9)
    cache = cache_with(gpt, text[:4])
    before = cache.keys[:, :, :4].copy(), cache.values[:, :, :4].copy()
    gpt.forward(text[4:], cache)
    assert np.array_equal(cache.keys[:, :, :4], before[0])
    assert np.array_equal(cache.values[:, :, :4], before[1])


def test_a_later_token_changes_no_earlier_logits(gpt, text_of, cache_with, assert_close):
    text = text_of(gpt.config, 9)
    other = [*text[:-1], (text[-1] + 1) % gpt.config.vocab_size]
    logits = [gpt.forward(tokens, cache_with(gpt)) for tokens in (text, other)]
    assert_close(logits[0][:-1], logits[1][:-1], 1e-15)
    assert np.abs(logits[0][-1] - logits[1][-1]).max() > 1e-3


@pytest.mark.parametrize("T", [1, 4])
def test_the_offset_moves_once_after_all_layers(gpt, T, text_of, cache_with, monkeypatch):
    cache = cache_with(gpt, text_of(gpt.config, 3))
    append, offsets = cache.append, []

    def spy(layer, k, v):
        offsets.append((layer, cache.offset))
        return append(layer, k, v)

    monkeypatch.setattr(cache, "append", spy)
    gpt.forward(text_of(gpt.config, T), cache)
    assert offsets == [(layer, 3) for layer in range(gpt.config.n_layer)]
    assert cache.offset == 3 + T


def test_a_forward_that_breaks_off_in_the_last_layer_counts_for_nothing(
    gpt, text_of, cache_with, monkeypatch
):
    text = text_of(gpt.config, 8)
    cache = cache_with(gpt, text[:3])
    before = cache.keys[:, :, :3].copy(), cache.values[:, :, :3].copy()
    append = cache.append

    def break_off(layer, k, v):
        seen = append(layer, k, v)
        if layer == gpt.config.n_layer - 1:
            raise MemoryError("no room for the scores")
        return seen

    with monkeypatch.context() as patch:
        patch.setattr(cache, "append", break_off)
        with pytest.raises(MemoryError):
            gpt.forward(text[3:], cache)
    assert cache.offset == 3
    assert np.array_equal(cache.keys[:, :, :3], before[0])
    assert np.array_equal(cache.values[:, :, :3], before[1])
    again = gpt.forward(text[3:], cache)
    assert np.array_equal(again, gpt.forward(text[3:], cache_with(gpt, text[:3])))


@pytest.mark.parametrize(("n", "T"), [(16, 1), (14, 3), (0, 17), (15, 2)])
def test_a_token_too_many_is_refused_and_the_cache_is_untouched(gpt, n, T, text_of, cache_with, unchanged):
    cache = cache_with(gpt, text_of(gpt.config, n))
    with unchanged(cache), pytest.raises(CacheOverflow, match=f"{T} more after {n} stored tokens"):
        gpt.forward(text_of(gpt.config, T), cache)


@pytest.mark.parametrize(("n", "T"), [(15, 1), (12, 4), (0, 16)])
def test_the_last_place_can_be_taken(gpt, n, T, text_of, cache_with):
    cache = cache_with(gpt, text_of(gpt.config, n))
    gpt.forward(text_of(gpt.config, T), cache)
    assert cache.offset == cache.max_seq_len


@pytest.mark.parametrize(("n", "T"), [(16, 1), (14, 3), (0, 17)])
def test_a_roomy_cache_gives_the_model_no_positions_beyond_its_last(
    gpt, n, T, text_of, cache_with, unchanged
):
    cache = cache_with(gpt, text_of(gpt.config, n), max_seq_len=20)
    with unchanged(cache), pytest.raises(ValueError, match=f"positions 0 to 15, not {n + T - 1}"):
        gpt.forward(text_of(gpt.config, T), cache)


def test_a_smaller_cache_computes_the_same_until_it_is_full(
    gpt, text_of, cache_with, unchanged, assert_close
):
    text = text_of(gpt.config, 5)
    small = cache_with(gpt, text[:4], max_seq_len=5)
    assert_close(gpt.forward(text[4:], small), gpt.forward(text[4:], cache_with(gpt, text[:4])), 1e-15)
    with unchanged(small), pytest.raises(CacheOverflow):
        gpt.forward(text[:1], small)


def test_what_is_not_a_sequence_of_ids_is_refused(odd_gpt, bad_tokens, cache_with, unchanged):
    cache = cache_with(odd_gpt, [1, 2, 3])
    with unchanged(cache), pytest.raises(ValueError, match="token"):
        odd_gpt.forward(bad_tokens, cache)


@pytest.mark.parametrize("tokens", [[1, True], (False, 2), [np.int64(3), np.True_]], ids=repr)
def test_a_bool_among_integers_is_refused(odd_gpt, tokens, cache_with, unchanged):
    cache = cache_with(odd_gpt, [1, 2, 3])
    with unchanged(cache), pytest.raises(ValueError, match="must be integers, not bool"):
        odd_gpt.forward(tokens, cache)


@pytest.mark.parametrize(
    ("tokens", "wrong"), [([4, 11, 3], "0 to 10, not 3 to 11"), ([4, -2, 3], "0 to 10, not -2 to 4")]
)
def test_a_refusal_says_which_ids_there_are_and_which_there_were(odd_gpt, tokens, wrong, cache_with):
    with pytest.raises(ValueError, match=wrong):
        odd_gpt.forward(tokens, cache_with(odd_gpt))


@pytest.mark.parametrize(
    "tokens", [(1, 2), np.array([1, 2], np.int8), np.array([1, 2], np.uint64)], ids=repr
)
def test_ids_may_come_in_any_sequence_of_integers(odd_gpt, tokens, cache_with):
    expected = odd_gpt.forward([1, 2], cache_with(odd_gpt))
    assert np.array_equal(odd_gpt.forward(tokens, cache_with(odd_gpt)), expected)


@pytest.mark.parametrize(
    ("sizes", "dtype"),
    [
        ({"n_layer": 1}, "float64"),
        ({"n_layer": 3}, "float64"),
        ({"n_head": 5}, "float64"),
        ({"n_embd": 12}, "float64"),
        ({}, "float32"),
    ],
)
def test_the_cache_of_another_model_is_refused(odd_gpt, sizes, dtype, unchanged):
    cache = KVCache(replace(odd_gpt.config, **sizes), dtype=dtype)
    with unchanged(cache), pytest.raises(ValueError, match="needs a cache of shape"):
        odd_gpt.forward([1, 2], cache)


def test_float32_is_never_promoted(gpt32, text_of, monkeypatch):
    cache = KVCache(gpt32.config, dtype="float32")
    append, dtypes = cache.append, []

    def spy(layer, k, v):
        dtypes.extend((k.dtype, v.dtype))
        return append(layer, k, v)

    monkeypatch.setattr(cache, "append", spy)
    dtypes += [gpt32.forward(text_of(gpt32.config, T), cache).dtype for T in (5, 1)]
    dtypes += [cache.keys.dtype, cache.values.dtype]
    dtypes += [parameter.dtype for parameter in gpt32.parameters.values()]
    assert set(dtypes) == {np.dtype("float32")}


def test_logits_belong_to_the_caller(gpt, text_of, cache_with):
    text = text_of(gpt.config, 6)
    cache = cache_with(gpt)
    first = gpt.forward(text[:3], cache)
    before = first.copy()
    gpt.forward(text[3:], cache)
    assert np.array_equal(first, before)


def test_trimmed_tokens_leave_no_trace(gpt, text_of, cache_with):
    text = text_of(gpt.config, 9)
    cache = cache_with(gpt, text[:5])
    gpt.forward([0, 1, 2, 3], cache)
    cache.trim(4)
    assert np.array_equal(gpt.forward(text[5:], cache), gpt.forward(text[5:], cache_with(gpt, text[:5])))


@pytest.mark.parametrize("layer", ["attn.c_attn", "mlp.c_fc"])
def test_huge_numbers_within_do_not_overflow(odd_gpt, layer, text_of):
    parameters = {n: p * 1e3 if layer in n else p for n, p in odd_gpt.parameters.items()}
    model = GPT(odd_gpt.config, parameters)
    assert np.isfinite(model.forward(text_of(model.config, 9), KVCache(model.config))).all()


def test_parameters_cannot_change_under_a_model(odd_gpt):
    for parameter in odd_gpt.parameters.values():
        with pytest.raises(ValueError, match="read-only"):
            parameter[:] = 0


def test_its_bytes_are_those_of_its_parameters(odd_config):
    C, M, V, S = 15, 22, 11, 16
    per_layer = 4 * C + C * 3 * C + 3 * C + C * C + C + C * M + M + M * C + C
    numbers = V * C + S * C + 2 * per_layer + 2 * C
    assert GPT.random(odd_config).nbytes == 8 * numbers
    assert GPT.random(odd_config, dtype="float32").nbytes == 4 * numbers


def test_a_random_model_is_decided_by_its_seed(odd_config):
    same, again, other = (GPT.random(odd_config, seed).parameters for seed in (1, 1, 2))
    assert all(np.array_equal(same[name], again[name]) for name in same)
    assert not np.array_equal(same["wte.weight"], other["wte.weight"])


def test_a_random_model_is_that_of_seed_0_unless_told_otherwise(odd_config):
    default, first = GPT.random(odd_config).parameters, GPT.random(odd_config, 0).parameters
    assert all(np.array_equal(default[name], first[name]) for name in first)


def test_without_a_directory_the_bundled_model_is_loaded_in_float64():
    model = GPT.load()
    assert (model.config, model.dtype) == (read_config(BUNDLED / "config.json"), "float64")
    assert BUNDLED.name == "shakespeare"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_random_model_comes_in_the_dtype_asked_for(odd_config, dtype):
    model = GPT.random(odd_config, dtype=dtype)
    assert model.dtype == dtype
    assert {parameter.dtype for parameter in model.parameters.values()} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", ["float16", "int64", "complex128", "longdouble"])
def test_only_two_float_types_are_computed_in(dtype):
    with pytest.raises(ValueError, match="must be float64 or float32"):
        float_type(dtype)
