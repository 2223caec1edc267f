"""The memory that any transformer's KV cache and weights take, from its config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Bits of one stored number. Quantised formats keep scales as well, which are left out: a few per cent.
DTYPE_BITS = {"fp32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "int8": 8, "int4": 4}

# What config.json files call the types.
STORED_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}

# Families with gated MLPs and RMSNorm, whose weights we can count: biases of q, k, v; norms of q and k.
GATED_FAMILIES = {
    "llama": (False, False),
    "mistral": (False, False),
    "gemma": (False, False),
    "qwen2": (True, False),
    "qwen3": (False, True),
}


@dataclass(frozen=True)
class ModelShape:
    """What the size of a cache depends on, and the number of weights where the family is known."""

    n_layer: int
    n_kv_head: int  # heads that have keys and values of their own
    head_dim: int
    windows: tuple[int | None, ...]  # of each layer: positions that are kept, None for all
    max_positions: int | None
    n_parameters: int | None  # None for a family whose weights we cannot count
    dtype: str  # of the weights, as stored

    def bytes_per_token(self, dtype: str) -> int:
        """2 (key and value) x layers x KV heads x head_dim x bytes of a number."""
        return 2 * self.n_layer * self.n_kv_head * self.head_dim * DTYPE_BITS[dtype] // 8

    def bytes_per_sequence(self, context: int, dtype: str) -> int:
        """Of `context` tokens; a layer with a sliding window keeps no more than that."""
        kept = sum(context if window is None else min(context, window) for window in self.windows)
        return kept * self.bytes_per_token(dtype) // self.n_layer

    def weights_bytes(self, dtype: str) -> int | None:
        return None if self.n_parameters is None else self.n_parameters * DTYPE_BITS[dtype] // 8


def sequences_that_outweigh(weights_bytes: int, bytes_per_sequence: int) -> int:
    """The smallest number of sequences whose caches take more memory than the weights."""
    return weights_bytes // bytes_per_sequence + 1


def read_shape(options: Mapping[str, Any]) -> ModelShape:
    """The shape of a model from the options of its Hugging Face config.json.

    Raises ValueError for what is missing or impossible, and for caches that do not consist of a key and
    a value per head.
    """
    options = options.get("text_config", options)  # the language half of a multimodal model
    if "kv_lora_rank" in options:
        raise ValueError("the model caches a compressed latent (MLA), not keys and values per head")
    family = options.get("model_type")
    return _gpt2_shape(options) if family == "gpt2" else _grouped_shape(options, family)


def _gpt2_shape(options: Mapping[str, Any]) -> ModelShape:
    L, H, C = (_whole(options, name) for name in ("n_layer", "n_head", "n_embd"))
    P, V = _whole(options, "n_positions"), _whole(options, "vocab_size")
    M = _whole(options, "n_inner", 4 * C)
    per_layer = 4 * C * C + 4 * C + 2 * C * M + M + C + 4 * C
    parameters = (V + P) * C + L * per_layer + 2 * C
    return ModelShape(L, H, _divided(C, H), (None,) * L, P, parameters, _stored_dtype(options))


def _grouped_shape(options: Mapping[str, Any], family: str | None) -> ModelShape:
    L, H, C = (
        _whole(options, name) for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")
    )
    kv_heads = _whole(options, "num_key_value_heads", H)
    head_dim = _whole(options, "head_dim") if options.get("head_dim") else _divided(C, H)
    parameters = None
    if family in GATED_FAMILIES:
        qkv_bias, qk_norm = GATED_FAMILIES[family]
        V, M = _whole(options, "vocab_size"), _whole(options, "intermediate_size")
        queries, keys = H * head_dim, kv_heads * head_dim
        per_layer = 2 * C * queries + 2 * C * keys + 3 * C * M + 2 * C
        per_layer += (queries + 2 * keys) * qkv_bias + 2 * head_dim * qk_norm
        tied = options.get("tie_word_embeddings", family == "gemma")
        parameters = V * C * (1 if tied else 2) + L * per_layer + C
    positions = options.get("max_position_embeddings")
    windows = _windows(options, L)
    return ModelShape(L, kv_heads, head_dim, windows, positions, parameters, _stored_dtype(options))


def _windows(options: Mapping[str, Any], n_layer: int) -> tuple[int | None, ...]:
    """How many positions each layer keeps: all, or those in its sliding window."""
    window = options.get("sliding_window")
    if window is not None:
        window = _whole(options, "sliding_window")
    kinds = options.get("layer_types")
    if kinds is None:
        return (window if options.get("use_sliding_window", True) else None,) * n_layer
    if len(kinds) != n_layer or not set(kinds) <= {"full_attention", "sliding_attention"}:
        raise ValueError(
            f"layer_types must name full_attention or sliding_attention for each of {n_layer} layers, "
            f"not {', '.join(map(str, kinds))}"
        )
    return tuple(window if kind == "sliding_attention" else None for kind in kinds)


def _whole(options: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = options.get(name)
    if value is None and default is not None:
        return default
    if type(value) is not int or value < 1:
        found = "is missing" if name not in options else f"is {value!r}"
        raise ValueError(f"{name} {found}; it must be a whole number of at least 1")
    return value


def _divided(width: int, heads: int) -> int:
    if width % heads:
        raise ValueError(f"a width of {width} is no multiple of {heads} heads, and no head_dim is given")
    return width // heads


def _stored_dtype(options: Mapping[str, Any]) -> str:
    """The type that the weights are stored in; bf16 where the config does not say."""
    return STORED_DTYPES.get(str(options.get("dtype") or options.get("torch_dtype")), "bf16")
