import math

import numpy as np
import pytest

from model.attention import causal_attention


def tensors(T, S, H=3, D=5, dtype="float64", scale=1.0):
    rng = np.random.default_rng([T, S])
    return tuple((rng.standard_normal((H, n, D)) * scale).astype(dtype) for n in (T, S, S))


def plain_attention(q, keys, values):
    """One query at a time over a growing list of what it may see."""
    out = np.empty_like(q)
    older = keys.shape[1] - q.shape[1]
    for head in range(q.shape[0]):
        for i in range(q.shape[1]):
            seen = range(older + i + 1)
            scores = [q[head, i] @ keys[head, j] / math.sqrt(q.shape[2]) for j in seen]
            weights = [math.exp(score) for score in scores]
            out[head, i] = sum(weights[j] * values[head, j] for j in seen) / sum(weights)
    return out


@pytest.mark.parametrize(("T", "S"), [(1, 1), (1, 6), (6, 6), (2, 6), (5, 6)])
def test_each_query_sees_the_stored_entries_and_the_new_ones_up_to_its_own(T, S, assert_close):
    q, keys, values = tensors(T, S)
    assert_close(causal_attention(q, keys, values), plain_attention(q, keys, values), 1e-14)


@pytest.mark.parametrize(("T", "S"), [(6, 6), (3, 6)])
def test_what_comes_later_has_no_weight_at_all(T, S):
    q, keys, values = tensors(T, S)
    before = causal_attention(q, keys, values)
    keys[:, -1] = 1e6
    values[:, -1] = 1e6
    assert np.array_equal(causal_attention(q, keys, values)[:, :-1], before[:, :-1])


def test_huge_scores_do_not_overflow():
    q, keys, values = tensors(4, 6, scale=1e3)
    assert np.isfinite(causal_attention(q, keys, values)).all()


def test_its_arguments_are_left_as_they_were():
    given = tensors(3, 6)
    before = [array.copy() for array in given]
    causal_attention(*given)
    assert all(map(np.array_equal, given, before))


@pytest.mark.parametrize("T", [1, 3])
def test_float32_stays_float32(T):
    assert causal_attention(*tensors(T, 6, dtype="float32")).dtype == np.float32
