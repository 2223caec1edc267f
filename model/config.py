"""The hyper-parameters of a GPT-2 model."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class GPTConfig:
    """Sizes of a GPT-2 model, under the names that nanoGPT gave them.

    Raises ValueError where the sizes cannot belong to a model.
    """

    n_layer: int
    n_head: int
    n_embd: int  # C, the width of the residual stream
    block_size: int  # positions the model was trained with; `n_positions` in a config.json
    vocab_size: int
    n_inner: int | None = None  # width of the MLP; None is GPT-2's 4 * n_embd
    layer_norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        for field in fields(self):
            size = getattr(self, field.name)
            if field.name == "layer_norm_epsilon" or (field.name == "n_inner" and size is None):
                continue
            if type(size) is not int or size < 1:
                raise ValueError(f"{field.name} must be a whole number of at least 1, not {size!r}")
        if self.n_embd % self.n_head:
            raise ValueError(
                f"n_embd must be a multiple of n_head, and {self.n_embd} is not one of {self.n_head}"
            )
        if type(self.layer_norm_epsilon) not in (int, float) or not 0 < self.layer_norm_epsilon < 1:
            raise ValueError(
                f"layer_norm_epsilon must lie between 0 and 1, not {self.layer_norm_epsilon!r}"
            )

    @property
    def head_dim(self) -> int:
        """D, the width of one head."""
        return self.n_embd // self.n_head

    @property
    def n_kv_head(self) -> int:
        """Heads that have keys and values of their own: in GPT-2, all of them."""
        return self.n_head

    @property
    def mlp_width(self) -> int:
        return self.n_inner or 4 * self.n_embd

    def bytes_per_token(self, itemsize: int) -> int:
        """Bytes that one token takes in a KV cache: a key and a value per layer and head."""
        return 2 * self.n_layer * self.n_kv_head * self.head_dim * itemsize


def parameter_shapes(config: GPTConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter, in GPT-2's names; matrices are (in, out).

    The output head has none of its own: it is `wte` transposed.
    """
    C, M = config.n_embd, config.mlp_width
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (config.vocab_size, C),
        "wpe.weight": (config.block_size, C),
    }
    for i in range(config.n_layer):
        shapes |= {
            f"h.{i}.ln_1.weight": (C,),
            f"h.{i}.ln_1.bias": (C,),
            f"h.{i}.attn.c_attn.weight": (C, 3 * C),
            f"h.{i}.attn.c_attn.bias": (3 * C,),
            f"h.{i}.attn.c_proj.weight": (C, C),
            f"h.{i}.attn.c_proj.bias": (C,),
            f"h.{i}.ln_2.weight": (C,),
            f"h.{i}.ln_2.bias": (C,),
            f"h.{i}.mlp.c_fc.weight": (C, M),
            f"h.{i}.mlp.c_fc.bias": (M,),
            f"h.{i}.mlp.c_proj.weight": (M, C),
            f"h.{i}.mlp.c_proj.bias": (C,),
        }
    return shapes | {"ln_f.weight": (C,), "ln_f.bias": (C,)}
