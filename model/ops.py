"""The three functions between a GPT's matrix products, as plain expressions over the last axis."""

import math

import numpy as np

GELU_SCALE = math.sqrt(2 / math.pi)  # Python floats: a NumPy float64 would promote float32 arrays
GELU_CUBIC = 0.044715


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """x (..., C) to mean 0 and variance 1, then gain (C,) and bias (C,). Ba et al. 2016."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gain + bias


def gelu(x: np.ndarray) -> np.ndarray:
    """The tanh form that GPT-2 uses, `gelu_new` in its config. Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1 + np.tanh(GELU_SCALE * (x + GELU_CUBIC * (x * x * x))))


def softmax(x: np.ndarray) -> np.ndarray:
    """exp(x) / sum(exp(x)); the maximum is taken off first, so that nothing overflows."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: np.ndarray) -> np.ndarray:
    """log(softmax(x)), without the logarithm of a number that was rounded to 0."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
