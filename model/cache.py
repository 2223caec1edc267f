"""The KV cache: the keys and values of the tokens that a model has seen."""

import numpy as np

from model.config import GPTConfig


class CacheOverflow(ValueError):
    """Tokens were refused because the cache has no room for them. Nothing was written."""


class KVCache:
    """Room for the keys and values of `max_seq_len` tokens, in every layer and head.

    `keys` and `values` have the shape (n_layer, H, max_seq_len, D). The first `offset` entries are
    stored tokens; what lies beyond is not read, whatever it holds. A forward pass appends to every
    layer and then moves `offset` once, with `advance`; until then the cache counts as unchanged.
    """

    def __init__(
        self, config: GPTConfig, max_seq_len: int | None = None, dtype: np.dtype | str = "float64"
    ) -> None:
        self.max_seq_len = config.block_size if max_seq_len is None else max_seq_len
        if self.max_seq_len < 1:
            raise ValueError(f"max_seq_len must be at least 1, not {self.max_seq_len}")
        shape = (config.n_layer, config.n_kv_head, self.max_seq_len, config.head_dim)
        self.keys = np.zeros(shape, dtype=dtype)
        self.values = np.zeros(shape, dtype=dtype)
        self.offset = 0

    @property
    def bytes_per_token(self) -> int:
        return self.nbytes // self.max_seq_len

    @property
    def nbytes(self) -> int:
        """Bytes held, stored or not."""
        return self.keys.nbytes + self.values.nbytes

    @property
    def nbytes_used(self) -> int:
        """Bytes of the stored tokens."""
        return self.offset * self.bytes_per_token

    def require_room(self, n: int) -> None:
        """Raise CacheOverflow unless n more tokens fit."""
        if self.offset + n > self.max_seq_len:
            raise CacheOverflow(
                f"{n} more after {self.offset} stored tokens do not fit a cache of {self.max_seq_len}"
            )

    def append(self, layer: int, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Write T new keys and values, each (H, T, D), behind the stored ones of one layer.

        Returns views of all keys and all values of the layer, new ones included: (H, offset + T, D).
        Raises CacheOverflow where they do not fit.
        """
        if not k.shape == v.shape == (self.keys.shape[1], k.shape[1], self.keys.shape[3]):
            raise ValueError(
                f"keys and values of T tokens have the shape (H, T, D), not {k.shape} and {v.shape}"
            )
        self.require_room(k.shape[1])
        start, end = self.offset, self.offset + k.shape[1]
        self.keys[layer, :, start:end] = k
        self.values[layer, :, start:end] = v
        return self.keys[layer, :, :end], self.values[layer, :, :end]

    def advance(self, n: int) -> None:
        """Count n tokens, appended to every layer, as stored."""
        if n < 0:
            raise ValueError(f"cannot advance by {n} tokens; `trim` goes back")
        self.require_room(n)
        self.offset += n

    def trim(self, n: int) -> None:
        """Forget the newest n tokens. The others stay as they are: no token looks ahead."""
        if not 0 <= n <= self.offset:
            raise ValueError(f"cannot trim {n} of {self.offset} stored tokens")
        self.offset -= n

    def reset(self) -> None:
        """Forget all tokens."""
        self.offset = 0

    def drop_oldest(self, kept: int = 0) -> np.ndarray:
        """Evict the oldest token behind the first `kept`; those after it move up, as they were computed.

        Returns a copy of its keys and values, (2, n_layer, H, D), for `restore_oldest`.
        """
        if not 0 <= kept < self.offset:
            raise ValueError(f"there is no token behind the first {kept} of {self.offset} to drop")
        oldest = np.stack((self.keys[:, :, kept], self.values[:, :, kept]))
        for stored in (self.keys, self.values):
            stored[:, :, kept : self.offset - 1] = stored[:, :, kept + 1 : self.offset]
        self.offset -= 1
        return oldest

    def restore_oldest(self, oldest: np.ndarray, kept: int = 0) -> None:
        """Undo a `drop_oldest`, with what it returned."""
        self.require_room(1)
        if not 0 <= kept <= self.offset:
            raise ValueError(f"no entry can stand behind the first {kept} of {self.offset}")
        layers, heads, _, width = self.keys.shape
        if oldest.shape != (2, layers, heads, width):
            raise ValueError(f"an entry has the shape {(2, layers, heads, width)}, not {oldest.shape}")
        for stored, entry in zip((self.keys, self.values), oldest, strict=True):
            stored[:, :, kept + 1 : self.offset + 1] = stored[:, :, kept : self.offset]
            stored[:, :, kept] = entry
        self.offset += 1
