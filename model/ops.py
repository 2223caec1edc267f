"""The functions between a GPT's matrix products, each over the last axis.

They work in place on their own result: fresh memory for every step of a formula costs more than the step.
"""

import math

import numpy as np

GELU_SCALE = math.sqrt(2 / math.pi)  # Python floats: a NumPy float64 would promote float32 arrays
GELU_CUBIC = 0.044715


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """x (..., C) to mean 0 and variance 1, then gain (C,) and bias (C,). Ba et al. 2016."""
    out = x - x.mean(axis=-1, keepdims=True)
    variance = (out * out).mean(axis=-1, keepdims=True)
    out /= np.sqrt(variance + epsilon)
    out *= gain
    out += bias
    return out


@np.errstate(over="ignore")  # far below zero the exponential is infinite, and the result 0
def gelu(x: np.ndarray) -> np.ndarray:
    """0.5 x (1 + tanh(u)) with u = sqrt(2/pi) (x + 0.044715 x^3): GPT-2's `gelu_new`.

    Hendrycks & Gimpel 2016. Since (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), one exponential does it.
    """
    exponent = x * x
    exponent *= -2 * GELU_SCALE * GELU_CUBIC
    exponent -= 2 * GELU_SCALE
    exponent *= x
    np.exp(exponent, out=exponent)
    exponent += 1
    return np.divide(x, exponent, out=exponent)


def softmax(x: np.ndarray) -> np.ndarray:
    """exp(x) / sum(exp(x)); the maximum is taken off first, so that nothing overflows."""
    e = x - x.max(axis=-1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=-1, keepdims=True)
    return e


def log_softmax(x: np.ndarray) -> np.ndarray:
    """log(softmax(x)), without the logarithm of a number that was rounded to 0."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
