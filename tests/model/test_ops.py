import math

import numpy as np
import pytest

from model.ops import gelu, layer_norm, log_softmax, softmax


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(1, 3, (2, 3, 7))


def test_layer_norm_follows_its_formula_on_every_row(x, assert_close):
    rng = np.random.default_rng(1)
    gain, bias = rng.standard_normal((2, 7))
    rows = []
    for row in x.reshape(-1, 7):
        mean = sum(row) / 7
        deviation = math.sqrt(sum((u - mean) ** 2 for u in row) / 7 + 0.1)
        rows.append([(u - mean) / deviation * g + b for u, g, b in zip(row, gain, bias, strict=True)])
    assert_close(layer_norm(x, gain, bias, 0.1), np.array(rows).reshape(x.shape), 1e-14)


def test_layer_norm_of_equal_numbers_is_the_bias():
    assert layer_norm(np.full((1, 4), 3.0), np.ones(4), np.arange(4.0), 1e-5).tolist() == [[0, 1, 2, 3]]


def test_gelu_follows_its_tanh_formula(x, assert_close):
    inner = math.sqrt(2 / math.pi)
    expected = [0.5 * u * (1 + math.tanh(inner * (u + 0.044715 * u**3))) for u in x.flat]
    assert_close(gelu(x), np.array(expected).reshape(x.shape), 1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gelu_far_from_0_is_all_or_nothing(dtype):
    largest = float(np.finfo(dtype).max)
    ends = np.array([-largest, -1e10, -50, 50, 1e10, largest], dtype)
    assert gelu(ends).tolist() == [0, 0, 0, *ends[3:].tolist()]


def test_softmax_follows_its_formula_on_every_row(x, assert_close):
    expected = [[math.exp(u) / sum(map(math.exp, row)) for u in row] for row in x.reshape(-1, 7)]
    assert_close(softmax(x), np.array(expected).reshape(x.shape), 1e-14)
    assert_close(log_softmax(x), np.log(expected).reshape(x.shape), 1e-14)


def test_softmax_of_huge_numbers_does_not_overflow():
    assert softmax(np.array([1e4, 1e4, -1e4])).tolist() == [0.5, 0.5, 0]


def test_log_softmax_of_an_impossible_number_stays_finite():
    assert log_softmax(np.array([0.0, -1e4])).tolist() == [0, -1e4]


def test_float32_stays_float32(x):
    x = x.astype(np.float32)
    vector = np.ones(7, dtype=np.float32)
    results = layer_norm(x, vector, vector, 1e-5), gelu(x), softmax(x), log_softmax(x)
    assert [result.dtype for result in results] == [np.float32] * 4
