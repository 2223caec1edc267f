import math

import numpy as np
import pytest

from model.comparison import compare, kl_divergence


def plain_kl(p, q):
    P, Q = ([math.exp(u) / math.fsum(map(math.exp, logits)) for u in logits] for logits in (p, q))
    return math.fsum(a * math.log(a / b) for a, b in zip(P, Q, strict=True))


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(0, 2, (2, 9))


def test_the_divergence_follows_its_formula_and_has_a_direction(logits):
    p, q = logits
    assert kl_divergence(p, q) == pytest.approx(plain_kl(p, q), rel=1e-12)
    assert kl_divergence(q, p) == pytest.approx(plain_kl(q, p), rel=1e-12)
    assert kl_divergence(p, q) != pytest.approx(kl_divergence(q, p), rel=1e-3)


def test_a_certain_and_an_even_prediction_differ_by_the_logarithm_of_the_vocabulary():
    assert kl_divergence(np.array([800.0, 0, 0, 0]), np.zeros(4)) == pytest.approx(math.log(4))


def test_logits_that_differ_by_a_constant_are_one_prediction(logits):
    assert kl_divergence(logits[0], logits[0] + 100) < 1e-14


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_never_negative(dtype):
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = rng.standard_normal(30).astype(dtype)
        assert kl_divergence(p, p) == 0
        assert kl_divergence(p, np.nextafter(p, p + 1)) >= 0


def test_predictions_without_overlap_diverge_finitely():
    assert kl_divergence(np.array([1e4, 0.0]), np.array([0.0, 1e4])) == pytest.approx(1e4)


def test_a_comparison_tells_which_is_which(logits):
    real, naive = logits
    found = compare(40, real, naive)
    assert (found.position, found.real, found.other) == (40, np.argmax(real), np.argmax(naive))
    assert found.kl == pytest.approx(plain_kl(real, naive), rel=1e-12)


@pytest.mark.parametrize(("naive", "agree"), [([0.0, 5.0, 4.0], True), ([5.0, 4.0, 0.0], False)])
def test_two_agree_when_they_choose_the_same_token(naive, agree):
    assert compare(1, np.array([0.0, 1.0, 0.5]), np.array(naive)).agree is agree
