import numpy as np
import pytest

from model import CacheOverflow, KVCache


@pytest.fixture
def entries(odd_config):
    """Makes T new keys and values (H, T, D), different for every seed."""

    def make(T, seed=0):
        shape = (2, odd_config.n_head, T, odd_config.head_dim)
        return np.random.default_rng(seed).standard_normal(shape)

    return make


@pytest.fixture
def stored(odd_config, entries):
    """Makes a cache of 6 with some tokens stored and NaN behind them."""

    def make(n):
        cache = KVCache(odd_config, max_seq_len=6)
        cache.keys[:] = cache.values[:] = np.nan
        for layer in range(odd_config.n_layer):
            cache.append(layer, *entries(n, seed=layer))
        cache.advance(n)
        return cache

    return make


def test_it_has_room_for_the_trained_length_unless_told_otherwise(odd_config):
    assert KVCache(odd_config).max_seq_len == odd_config.block_size
    cache = KVCache(odd_config, max_seq_len=5)
    assert cache.max_seq_len == 5
    assert cache.keys.shape == cache.values.shape == (2, 3, 5, 5)


@pytest.mark.parametrize("max_seq_len", [0, -1])
def test_a_cache_without_room_is_refused(odd_config, max_seq_len):
    with pytest.raises(ValueError, match="max_seq_len must be at least 1"):
        KVCache(odd_config, max_seq_len)


@pytest.mark.parametrize(("dtype", "itemsize"), [("float64", 8), ("float32", 4)])
def test_its_bytes_are_those_of_a_key_and_a_value_per_layer_head_and_token(odd_config, dtype, itemsize):
    cache = KVCache(odd_config, 7, dtype)
    per_token = 2 * odd_config.n_layer * odd_config.n_head * odd_config.head_dim * itemsize
    assert cache.keys.dtype == cache.values.dtype == dtype
    assert cache.nbytes == 7 * per_token
    assert cache.bytes_per_token == odd_config.bytes_per_token(itemsize) == per_token
    assert cache.nbytes_used == 0
    cache.advance(3)
    assert cache.nbytes_used == 3 * per_token
    assert type(cache.nbytes_used) is int


def test_append_writes_behind_what_is_stored_and_nowhere_else(stored, entries):
    cache = stored(2)
    before = np.stack((cache.keys, cache.values))
    new = entries(3, seed=9)
    seen = cache.append(1, *new)
    assert cache.offset == 2
    for array, old, views, added in zip((cache.keys, cache.values), before, seen, new, strict=True):
        expected = old.copy()
        expected[1, :, 2:5] = added
        assert np.array_equal(array, expected, equal_nan=True)
        assert np.array_equal(views, expected[1, :, :5])


def test_it_fills_to_the_brim_and_one_more_is_refused(stored, unchanged):
    cache = stored(5)
    cache.require_room(1)
    cache.advance(1)
    assert cache.offset == cache.max_seq_len
    with unchanged(cache), pytest.raises(CacheOverflow, match="1 more after 6 stored tokens"):
        cache.require_room(1)
    with unchanged(cache), pytest.raises(CacheOverflow, match="1 more after 6 stored tokens"):
        cache.advance(1)


@pytest.mark.parametrize(("n", "T"), [(6, 1), (6, 2), (4, 3)])
def test_append_refuses_what_does_not_fit(stored, entries, unchanged, n, T):
    cache = stored(n)
    with unchanged(cache), pytest.raises(ValueError, match=r"fit|broadcast"):
        cache.append(0, *entries(T))


@pytest.mark.parametrize(
    ("keys", "values"),
    [(np.s_[:1], np.s_[:1]), (np.s_[:, :, :1], np.s_[:, :, :1]), (np.s_[:], np.s_[:, :1])],
    ids=["H", "D", "fewer values than keys"],
)
def test_append_refuses_what_numpy_would_stretch_to_fit(stored, entries, unchanged, keys, values):
    cache, (k, v) = stored(2), entries(2)
    with unchanged(cache), pytest.raises(ValueError, match=r"have the shape \(H, T, D\), not"):
        cache.append(0, k[keys], v[values])


@pytest.mark.parametrize("n", [-1, -3])
def test_it_does_not_advance_backwards(stored, unchanged, n):
    cache = stored(3)
    with unchanged(cache), pytest.raises(ValueError, match=f"cannot advance by {n} tokens"):
        cache.advance(n)


def test_trim_forgets_the_newest_and_keeps_the_others(stored):
    cache, before = stored(5), stored(5)
    cache.trim(0)
    assert cache.offset == 5
    cache.trim(2)
    assert cache.offset == 3
    assert np.array_equal(cache.keys[:, :, :3], before.keys[:, :, :3])
    assert np.array_equal(cache.values[:, :, :3], before.values[:, :, :3])
    cache.trim(3)
    assert cache.offset == 0


@pytest.mark.parametrize("n", [-1, 4])
def test_trimming_more_than_is_stored_is_refused(stored, unchanged, n):
    cache = stored(3)
    with unchanged(cache), pytest.raises(ValueError, match=f"cannot trim {n} of 3"):
        cache.trim(n)


@pytest.mark.parametrize(("n", "kept"), [(1, 0), (4, 0), (4, 1), (6, 0), (6, 2), (6, 5)])
def test_dropping_the_oldest_moves_those_behind_it_up_as_they_are(stored, n, kept):
    cache, before = stored(n), stored(n)
    oldest = cache.drop_oldest(kept)
    assert cache.offset == n - 1
    left = [i for i in range(n) if i != kept]
    for array, old, dropped in zip(
        (cache.keys, cache.values), (before.keys, before.values), oldest, strict=True
    ):
        assert np.array_equal(array[:, :, : n - 1], old[:, :, left])
        assert np.array_equal(dropped, old[:, :, kept])


@pytest.mark.parametrize(
    ("n", "drops", "kept"), [(1, 1, 0), (4, 3, 0), (6, 6, 0), (4, 2, 2), (6, 3, 2), (6, 1, 5)]
)
def test_what_was_dropped_can_be_put_back_exactly(stored, n, drops, kept):
    cache, before = stored(n), stored(n)
    dropped = [cache.drop_oldest(kept) for _ in range(drops)]
    for oldest in reversed(dropped):
        cache.restore_oldest(oldest, kept)
    assert cache.offset == n
    assert np.array_equal(cache.keys[:, :, :n], before.keys[:, :, :n])
    assert np.array_equal(cache.values[:, :, :n], before.values[:, :, :n])


def test_the_very_oldest_goes_and_comes_back_unless_told_otherwise(stored):
    cache, before = stored(4), stored(4)
    oldest = cache.drop_oldest()
    assert np.array_equal(oldest, np.stack((before.keys, before.values))[:, :, :, 0])
    cache.restore_oldest(oldest)
    assert np.array_equal(cache.keys[:, :, :4], before.keys[:, :, :4])
    assert np.array_equal(cache.values[:, :, :4], before.values[:, :, :4])


def test_a_dropped_entry_is_a_copy_that_later_writes_do_not_reach(stored):
    cache = stored(4)
    oldest = cache.drop_oldest()
    before = oldest.copy()
    cache.keys[:] = cache.values[:] = 0
    assert np.array_equal(oldest, before)


@pytest.mark.parametrize(("n", "kept"), [(0, 0), (3, 3), (3, 4), (3, -1)])
def test_where_there_is_no_entry_behind_the_kept_ones_none_is_dropped(stored, unchanged, n, kept):
    cache = stored(n)
    with unchanged(cache), pytest.raises(ValueError, match=f"no token behind the first {kept} of {n}"):
        cache.drop_oldest(kept)


@pytest.mark.parametrize("kept", [-1, 4])
def test_an_entry_is_not_put_back_where_there_are_none_before_it(stored, unchanged, kept):
    cache = stored(4)
    oldest = cache.drop_oldest()
    with unchanged(cache), pytest.raises(ValueError, match=f"behind the first {kept} of 3"):
        cache.restore_oldest(oldest, kept)


def test_nothing_is_put_back_into_a_full_cache(stored, unchanged):
    oldest = stored(6).drop_oldest()
    cache = stored(6)
    with unchanged(cache), pytest.raises(CacheOverflow):
        cache.restore_oldest(oldest)


@pytest.mark.parametrize(
    "part", [np.s_[:, :, :, :2], np.s_[:, :, :1], np.s_[:1]], ids=["D", "H", "no values"]
)
def test_an_entry_of_the_wrong_shape_is_not_put_back(stored, unchanged, part):
    cache = stored(4)
    oldest = cache.drop_oldest()
    with unchanged(cache), pytest.raises(ValueError, match=r"has the shape \(2, 2, 3, 5\), not"):
        cache.restore_oldest(oldest[part])


def test_two_caches_never_share_memory(odd_config):
    arrays = [
        array for _ in range(2) for cache in [KVCache(odd_config)] for array in (cache.keys, cache.values)
    ]
    pairs = [(a, b) for i, a in enumerate(arrays) for b in arrays[:i]]
    assert not any(np.shares_memory(a, b) for a, b in pairs)


def test_two_caches_of_one_model_hold_two_texts(gpt, text_of, cache_with):
    texts = [text_of(gpt.config, 6, seed) for seed in (1, 2)]
    together = [cache_with(gpt), cache_with(gpt)]
    for i in range(6):
        logits = [gpt.forward([text[i]], cache) for text, cache in zip(texts, together, strict=True)]
    for text, cache, last in zip(texts, together, logits, strict=True):
        alone = cache_with(gpt)
        expected = [gpt.forward([token], alone) for token in text][-1]
        assert np.array_equal(last, expected)
        assert np.array_equal(cache.keys[:, :, :6], alone.keys[:, :, :6])


def test_after_a_reset_a_text_begins_anew(gpt, text_of, cache_with):
    first, second = text_of(gpt.config, 12, seed=1), text_of(gpt.config, 7, seed=2)
    cache = cache_with(gpt, first)
    cache.reset()
    assert (cache.offset, cache.nbytes_used) == (0, 0)
    assert np.array_equal(gpt.forward(second, cache), gpt.forward(second, cache_with(gpt)))
