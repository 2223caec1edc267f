"""A GPT's weights rewritten so that one step needs fewer operations, and computes the same.

Five identities, each exact in real numbers (and to rounding in floating point):

1. Layer norm ends in `* gain + bias`, and a linear map follows:
       (n * g + b) @ W + c  =  n @ (g[:, None] * W) + (b @ W + c),
   so gain and bias move into the weights, and the step only computes n = (x - mean) / std.

2. Layer norm begins by taking off the mean of x, the residual stream. x is a sum of embeddings and
   of what the layers write, and taking off the mean is linear:
       x - mean(x)  =  sum of (each part - its own mean),
   so embeddings and output weights are centred once, and the stream then has mean 0 always.

3. Attention divides q . k by sqrt(D); the query's weights take that factor.

4. A bias is one more row of its matrix, for an input that has a 1 at its end:
       n @ W + c  =  [n, 1] @ [W; c].

5. GELU is h / (1 + exp(-2 s (h + c h^3))), with s and c as in `ops.py`. In terms of v = r h, where
   r^3 = -2 s c, the exponent is v (k + v^2) with k = -2 s / r, and the result v / (1 + exp(...)) / r:
   the weights before take the r, those behind it the 1 / r, and two multiplications are gone.
"""

import math
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np

from model.config import GPTConfig
from model.ops import GELU_CUBIC, GELU_SCALE

CACHE_LINE = 64  # bytes
GELU_STRETCH = -((2 * GELU_SCALE * GELU_CUBIC) ** (1 / 3))  # r
GELU_LINEAR = -2 * GELU_SCALE / GELU_STRETCH  # k


class FoldedLayer(NamedTuple):
    """The four matrices of a layer, each with its bias as the last row."""

    qkv: np.ndarray  # (C + 1, 3C)
    attention_out: np.ndarray  # (C + 1, C)
    mlp_in: np.ndarray  # (C + 1, M)
    mlp_out: np.ndarray  # (M + 1, C)


class FoldedWeights(NamedTuple):
    tokens: np.ndarray  # (V, C)
    positions: np.ndarray  # (block_size, C)
    layers: list[FoldedLayer]
    head: np.ndarray  # (C + 1, V)


def fold(config: GPTConfig, p: dict[str, np.ndarray]) -> FoldedWeights:
    """Apply the identities above to the parameters of a GPT."""

    def after_norm(norm: str, weight: np.ndarray, bias: np.ndarray | float) -> np.ndarray:
        gain, shift = p[norm + ".weight"], p[norm + ".bias"]
        return np.vstack((gain[:, None] * weight, shift @ weight + bias))

    def linear(name: str) -> tuple[np.ndarray, np.ndarray]:
        return p[name + ".weight"], p[name + ".bias"]

    layers = []
    for i in range(config.n_layer):
        h = f"h.{i}."
        qkv = after_norm(h + "ln_1", *linear(h + "attn.c_attn"))
        qkv[:, : config.n_embd] *= 1 / math.sqrt(config.head_dim)
        mlp_in = after_norm(h + "ln_2", *linear(h + "mlp.c_fc"))
        mlp_in *= GELU_STRETCH
        attention_out = _centred(np.vstack(linear(h + "attn.c_proj")))
        mlp_out = _centred(np.vstack(linear(h + "mlp.c_proj")))
        mlp_out[:-1] /= GELU_STRETCH
        layers.append(FoldedLayer(qkv, attention_out, mlp_in, mlp_out))
    tokens, positions = _centred(p["wte.weight"]), _centred(p["wpe.weight"])
    head = after_norm("ln_f", p["wte.weight"].T, 0.0)
    packed = iter(_packed([tokens, positions, *(matrix for layer in layers for matrix in layer), head]))
    return FoldedWeights(
        next(packed), next(packed), [FoldedLayer(*islice(packed, 4)) for _ in layers], next(packed)
    )


def _packed(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The arrays in one block of memory, in the order in which a step reads them.

    A step reads every weight once, and a block of some megabytes gets large pages, so that finding
    them takes less time: on Linux a tenth to a quarter of the step.
    """
    dtype = arrays[0].dtype
    line = CACHE_LINE // dtype.itemsize
    places = [-(-array.size // line) * line for array in arrays]
    block = np.empty(sum(places), dtype)
    views = []
    for array, end, place in zip(arrays, accumulate(places), places, strict=True):
        view = block[end - place :][: array.size].reshape(array.shape)
        view[:] = array
        views.append(view)
    return views


def _centred(rows: np.ndarray) -> np.ndarray:
    return rows - rows.mean(axis=-1, keepdims=True)
