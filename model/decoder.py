"""One token through the cache, as fast as NumPy goes: `GPT.forward` for T = 1, line by line."""

import math

import numpy as np

from model.cache import KVCache
from model.folded import GELU_LINEAR
from model.gpt import GPT


class Decoder:
    """Steps through a cache with folded weights (see `folded.py`) and buffers that are used again.

    The logits equal `GPT.forward`'s to rounding. The cache can be used by `GPT.forward`, `prefill`,
    `trim` and `reset` in between: the decoder keeps nothing of its own from step to step.

    Softmax takes off the largest score lest an exponential overflow, or all of them vanish. Scores hardly
    ever are that large, so here that is not done; the sums tell where it had to be, and then
    `GPT.forward` takes the step.
    """

    def __init__(self, gpt: GPT, cache: KVCache) -> None:
        gpt.check_cache(cache)
        config = gpt.config
        self.gpt, self.cache, self.weights = gpt, cache, gpt.folded
        H, D, C, S = config.n_head, config.head_dim, config.n_embd, cache.max_seq_len

        def buffer(*shape: int) -> np.ndarray:
            return np.empty(shape, dtype=gpt.dtype)

        self.stream, self.written, self.qkv = buffer(C), buffer(C), buffer(3 * C)
        self.scores = buffer(H * S)
        self.sums = buffer(config.n_layer, H, 1)
        # Of a smaller sum, terms that count would be too small for all of their digits.
        self.least_sum = np.finfo(gpt.dtype).tiny / np.finfo(gpt.dtype).eps
        # What is multiplied by a matrix ends in a 1, for the bias in the matrix' last row.
        self.normed_1, self.mixed_1, self.hidden_1 = (
            np.ones(width + 1, dtype=gpt.dtype) for width in (C, C, config.mlp_width)
        )
        self.normed, self.mixed, self.hidden = self.normed_1[:-1], self.mixed_1[:-1], self.hidden_1[:-1]
        self.gelu = buffer(config.mlp_width)
        # Views into the buffers by head, as attention reads and writes them.
        q, k, v = self.qkv.reshape(3, H, D)
        self.q, self.k, self.v = q[:, :, None], k, v
        self.mixed_heads = self.mixed.reshape(H, D)
        self.mixed_rows = self.mixed_heads[:, None, :]

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # in gelu, see there; and below
    def step(self, token: int) -> np.ndarray:
        """Logits (V,) of one new token, which enters the cache. Errors as in `GPT.forward`."""
        gpt, cache, w = self.gpt, self.cache, self.weights
        gpt.check_token(token)
        cache.require_room(1)
        gpt.check_position(cache.offset)
        at, stored = cache.offset, cache.offset + 1
        x, n, t, q, hidden, gelu = (
            self.stream, self.normed, self.written, self.q, self.hidden, self.gelu,
        )  # fmt: skip
        scores = self.scores[: gpt.config.n_head * stored].reshape(-1, stored)  # (H, S)
        columns, rows = scores[:, :, None], scores[:, None, :]
        width, epsilon = gpt.config.n_embd, gpt.config.layer_norm_epsilon

        np.add(w.tokens[token], w.positions[at], out=x)
        for layer, keys, values, sums in zip(w.layers, cache.keys, cache.values, self.sums, strict=True):
            np.multiply(x, 1 / math.sqrt(x.dot(x) / width + epsilon), out=n)
            self.normed_1.dot(layer.qkv, out=self.qkv)
            keys[:, at] = self.k
            values[:, at] = self.v
            np.matmul(keys[:, :stored], q, out=columns)  # (H, S, D) @ (H, D, 1)
            np.exp(scores, out=scores)  # the largest is not taken off first: see below
            np.add.reduce(scores, axis=1, keepdims=True, out=sums)
            np.matmul(rows, values[:, :stored], out=self.mixed_rows)  # (H, 1, S) @ (H, S, D)
            self.mixed_heads /= sums  # softmax's division, on D numbers instead of S
            self.mixed_1.dot(layer.attention_out, out=t)
            x += t

            np.multiply(x, 1 / math.sqrt(x.dot(x) / width + epsilon), out=n)
            self.normed_1.dot(layer.mlp_in, out=hidden)
            np.multiply(hidden, hidden, out=gelu)
            gelu += GELU_LINEAR
            gelu *= hidden
            np.exp(gelu, out=gelu)
            gelu += 1
            hidden /= gelu
            self.hidden_1.dot(layer.mlp_out, out=t)
            x += t
        np.multiply(x, 1 / math.sqrt(x.dot(x) / width + epsilon), out=n)
        logits = self.normed_1.dot(w.head)
        if not (self.sums.min() > self.least_sum and math.isfinite(logits[0])):
            return gpt.forward([token], cache)[-1]  # scores out of the exponential's range, such as 800
        cache.advance(1)
        return logits
