"""A GPT with a KV cache, in NumPy.

Read it in this order: `gpt.py` (the forward pass), `cache.py`, `attention.py`, `prefill.py`, `uncached.py`
(the same without a cache), `decoder.py` (the same for one token, fast), `limit/` (a file for each way to go
on past the last position). `faults/` is how caches go wrong.
"""

from model.cache import CacheOverflow, KVCache
from model.config import GPTConfig
from model.decoder import Decoder
from model.gpt import GPT
from model.prefill import prefill
from model.uncached import forward_uncached

__all__ = [
    "GPT",
    "CacheOverflow",
    "Decoder",
    "GPTConfig",
    "KVCache",
    "forward_uncached",
    "prefill",
]
