"""GPT-2's forward pass with a KV cache, written to be read: the specification of this package."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from model.attention import causal_attention
from model.cache import KVCache
from model.config import GPTConfig
from model.config_json import read_config
from model.folded import FoldedWeights, fold
from model.ops import gelu, layer_norm
from model.weights import random_parameters, read_parameters

BUNDLED = Path(__file__).parent / "shakespeare"

# What the attention of one layer does: (layer, q, k, v), each (H, T, D), to a mix of values (H, T, D).
Attend = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class GPT:
    """A GPT-2 (Radford et al. 2019): its sizes, its parameters, and one forward pass over tokens."""

    def __init__(self, config: GPTConfig, parameters: dict[str, np.ndarray]) -> None:
        self.config = config
        self.parameters = parameters
        self.dtype = parameters["wte.weight"].dtype
        for parameter in parameters.values():
            parameter.flags.writeable = False  # folded copies of them must not go stale

    @classmethod
    def load(cls, path: str | Path | None = None, dtype: np.dtype | str = "float64") -> "GPT":
        """A model directory (config.json, model.safetensors) in GPT-2's format; None: the bundled one.

        Raises ValueError or OSError for a directory that does not hold a GPT-2 we implement.
        """
        directory = BUNDLED if path is None else Path(path)
        config = read_config(directory / "config.json")
        return cls(config, read_parameters(directory, config, float_type(dtype)))

    @classmethod
    def random(cls, config: GPTConfig, seed: int = 0, dtype: np.dtype | str = "float64") -> "GPT":
        """A model of any size with GPT-2's initial weights: for timing, and for tests."""
        return cls(config, random_parameters(config, seed, float_type(dtype)))

    @property
    def nbytes(self) -> int:
        """Bytes of the parameters."""
        return sum(parameter.nbytes for parameter in self.parameters.values())

    @cached_property
    def folded(self) -> FoldedWeights:
        """The weights as `Decoder.step` uses them; every decoder of a model shares them."""
        return fold(self.config, self.parameters)

    def forward(self, tokens: Sequence[int] | np.ndarray, cache: KVCache) -> np.ndarray:
        """Logits (T, V) of T new tokens that follow the ones in the cache, which takes them in.

        The keys and values of earlier tokens come from the cache: under the causal mask nothing that
        follows a token can change them. Raises CacheOverflow where the tokens do not fit, ValueError
        for tokens outside the vocabulary or beyond the last position; the cache is then unchanged.
        """
        tokens = self.checked(tokens)
        self.check_cache(cache)
        cache.require_room(len(tokens))

        def attend(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
            keys, values = cache.append(layer, k, v)
            return causal_attention(q, keys, values)

        logits = self.run(tokens, np.arange(cache.offset, cache.offset + len(tokens)), attend)
        cache.advance(len(tokens))
        return logits

    def run(self, tokens: np.ndarray, positions: np.ndarray, attend: Attend) -> np.ndarray:
        """Logits (T, V) of T tokens at these positions (T,).

        Everything in a GPT treats each token by itself, except attention; and that is `attend`'s.
        """
        p = self.parameters
        self.check_position(positions.max())
        x = p["wte.weight"][tokens] + p["wpe.weight"][positions]  # (T, C), the residual stream
        for i in range(self.config.n_layer):
            x += self._attention(x, i, attend)
            x += self._mlp(x, i)
        return self._norm(x, "ln_f") @ p["wte.weight"].T

    def _attention(self, x: np.ndarray, layer: int, attend: Attend) -> np.ndarray:
        T, H, D = len(x), self.config.n_head, self.config.head_dim
        qkv = self._linear(self._norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn")  # (T, 3C)
        q, k, v = qkv.reshape(T, 3, H, D).transpose(1, 2, 0, 3)  # each (H, T, D)
        mixed = attend(layer, q, k, v).transpose(1, 0, 2).reshape(T, H * D)
        return self._linear(mixed, f"h.{layer}.attn.c_proj")

    def _mlp(self, x: np.ndarray, layer: int) -> np.ndarray:
        expanded = self._linear(self._norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc")  # (T, 4C)
        return self._linear(gelu(expanded), f"h.{layer}.mlp.c_proj")

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        gain, bias = self.parameters[name + ".weight"], self.parameters[name + ".bias"]
        return layer_norm(x, gain, bias, self.config.layer_norm_epsilon)

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        out = x @ self.parameters[name + ".weight"]
        out += self.parameters[name + ".bias"]
        return out

    def checked(self, tokens: Sequence[int] | np.ndarray) -> np.ndarray:
        """Token ids as an array (T,). Raises ValueError for none at all and for what is not an id."""
        ids = np.asarray(tokens)
        V = self.config.vocab_size
        if ids.ndim != 1 or not ids.size:
            raise ValueError(f"tokens must be a sequence of at least one id, not of shape {ids.shape}")
        if not np.issubdtype(ids.dtype, np.integer):
            raise ValueError(f"token ids must be integers, not {ids.dtype}")
        if tokens is not ids and any(isinstance(token, bool | np.bool_) for token in tokens):
            raise ValueError("token ids must be integers, not bool")  # to NumPy [1, True] is integers
        if ids.min() < 0 or ids.max() >= V:
            raise ValueError(f"token ids must lie in 0 to {V - 1}, not {ids.min()} to {ids.max()}")
        return ids

    def check_token(self, token: int) -> None:
        """Raise ValueError for what is not a token id."""
        if type(token) is bool or not isinstance(token, int | np.integer):
            raise ValueError(f"a token id must be an integer, not {token!r}")
        if not 0 <= token < self.config.vocab_size:
            raise ValueError(f"token ids must lie in 0 to {self.config.vocab_size - 1}, not {token}")

    def check_position(self, position: int) -> None:
        """Raise ValueError for a position that the model has no embedding of."""
        if position >= self.config.block_size:
            raise ValueError(
                f"the model has the positions 0 to {self.config.block_size - 1}, not {position}"
            )

    def check_cache(self, cache: KVCache) -> None:
        """Raise ValueError for a cache that was made for another model or in another dtype."""
        config = self.config
        shape = (config.n_layer, config.n_kv_head, cache.max_seq_len, config.head_dim)
        if cache.keys.shape != shape or cache.keys.dtype != self.dtype:
            raise ValueError(
                f"the model needs a cache of shape {shape} in {self.dtype}, "
                f"not {cache.keys.shape} in {cache.keys.dtype}"
            )


def float_type(dtype: np.dtype | str) -> np.dtype:
    """float64 or float32, in which everything here computes; ValueError for another."""
    if str(np.dtype(dtype)) not in ("float64", "float32"):
        raise ValueError(f"dtype must be float64 or float32, not {dtype}")
    return np.dtype(dtype)
