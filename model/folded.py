"""A GPT's weights rewritten so that one step needs fewer operations, and computes the same.

Three identities, each exact in real numbers (and to rounding in floating point):

1. Layer norm ends in `* gain + bias`, and a linear map follows:
       (n * g + b) @ W + c  =  n @ (g[:, None] * W) + (b @ W + c),
   so gain and bias move into the weights, and the step only computes n = (x - mean) / std.

2. Layer norm begins by taking off the mean of x, the residual stream. x is a sum of embeddings and
   of what the layers write, and taking off the mean is linear:
       x - mean(x)  =  sum of (each part - its own mean),
   so embeddings and output weights are centred once, and the stream then has mean 0 always.

3. Attention divides q . k by sqrt(D); the query's weights take that factor.
"""

import math
from typing import NamedTuple

import numpy as np

from model.config import GPTConfig


class FoldedLayer(NamedTuple):
    qkv: np.ndarray  # (C, 3C)
    qkv_bias: np.ndarray
    attention_out: np.ndarray  # (C, C)
    attention_out_bias: np.ndarray
    mlp_in: np.ndarray  # (C, M)
    mlp_in_bias: np.ndarray
    mlp_out: np.ndarray  # (M, C)
    mlp_out_bias: np.ndarray


class FoldedWeights(NamedTuple):
    tokens: np.ndarray  # (V, C)
    positions: np.ndarray  # (block_size, C)
    layers: list[FoldedLayer]
    head: np.ndarray  # (C, V)
    head_bias: np.ndarray


def fold(config: GPTConfig, p: dict[str, np.ndarray]) -> FoldedWeights:
    """Apply the identities above to the parameters of a GPT."""

    def after_norm(
        norm: str, weight: np.ndarray, bias: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        gain, shift = p[norm + ".weight"], p[norm + ".bias"]
        return gain[:, None] * weight, shift @ weight + bias

    layers = []
    for i in range(config.n_layer):
        h = f"h.{i}."
        qkv, qkv_bias = after_norm(h + "ln_1", p[h + "attn.c_attn.weight"], p[h + "attn.c_attn.bias"])
        for array in (qkv, qkv_bias):
            array[..., : config.n_embd] *= 1 / math.sqrt(config.head_dim)
        mlp_in, mlp_in_bias = after_norm(h + "ln_2", p[h + "mlp.c_fc.weight"], p[h + "mlp.c_fc.bias"])
        layers.append(
            FoldedLayer(
                qkv,
                qkv_bias,
                _centred(p[h + "attn.c_proj.weight"]),
                _centred(p[h + "attn.c_proj.bias"]),
                mlp_in,
                mlp_in_bias,
                _centred(p[h + "mlp.c_proj.weight"]),
                _centred(p[h + "mlp.c_proj.bias"]),
            )
        )
    head, head_bias = after_norm("ln_f", p["wte.weight"].T, 0.0)
    return FoldedWeights(
        _centred(p["wte.weight"]),
        _centred(p["wpe.weight"]),
        layers,
        np.ascontiguousarray(head),
        head_bias,
    )


def _centred(rows: np.ndarray) -> np.ndarray:
    return rows - rows.mean(axis=-1, keepdims=True)
