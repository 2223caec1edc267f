"""GPT-2 on the autograd engine: what is trained, and what the other forward passes are held against."""

from collections.abc import Mapping

import numpy as np

from model.autograd import (
    Tensor,
    add,
    causal_attention,
    embedding,
    gelu,
    layer_norm,
    linear,
    multiply,
    reshape,
    transpose,
)
from model.config import GPTConfig


class Dropout:
    """Zeroes a share of what passes and scales up the rest, so that the expectation stays."""

    def __init__(self, share: float, rng: np.random.Generator) -> None:
        self.share, self.rng = share, rng

    def mask(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """0 where a number is dropped, 1 / (1 - share) where it is kept."""
        # 16 random bits decide as well as a random float, in half the time.
        kept = self.rng.integers(0, 1 << 16, shape, dtype=np.uint16) >= round(self.share * (1 << 16))
        return kept * dtype.type(1 / (1 - self.share))

    def __call__(self, x: Tensor) -> Tensor:
        return multiply(x, Tensor(self.mask(x.data.shape, x.data.dtype)))


def autograd_logits(
    config: GPTConfig,
    parameters: Mapping[str, Tensor],
    tokens: np.ndarray,
    dropout: Dropout | None = None,
) -> Tensor:
    """Logits (B * T, V) of B sequences of T ids, tokens (B, T). `dropout` is for training alone."""
    B, T = tokens.shape
    p = parameters

    def block_linear(x: Tensor, name: str) -> Tensor:
        return linear(x, p[name + ".weight"], p[name + ".bias"])

    def norm(x: Tensor, name: str) -> Tensor:
        return layer_norm(x, p[name + ".weight"], p[name + ".bias"], config.layer_norm_epsilon)

    def dropped(x: Tensor) -> Tensor:
        return x if dropout is None else dropout(x)

    x = add(embedding(p["wte.weight"], tokens), embedding(p["wpe.weight"], np.arange(T)))
    x = dropped(reshape(x, (B * T, config.n_embd)))
    for i in range(config.n_layer):
        h = f"h.{i}."
        qkv = reshape(block_linear(norm(x, h + "ln_1"), h + "attn.c_attn"), (B, T, -1))
        keep = None
        if dropout is not None:
            keep = dropout.mask((B, config.n_head, T, T), qkv.data.dtype)
        attended = reshape(causal_attention(qkv, config.n_head, keep), (B * T, -1))
        x = add(x, dropped(block_linear(attended, h + "attn.c_proj")))
        expanded = gelu(block_linear(norm(x, h + "ln_2"), h + "mlp.c_fc"))
        x = add(x, dropped(block_linear(expanded, h + "mlp.c_proj")))
    return linear(norm(x, "ln_f"), transpose(p["wte.weight"]))
