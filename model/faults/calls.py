"""The calls of the engine that a fault takes the place of: what each gets, and what it returns."""

from collections.abc import Callable, Sequence

import numpy as np

from model.cache import KVCache
from model.decoder import Decoder
from model.gpt import GPT
from model.limit import LimitPolicy, Recompute

Array = np.ndarray

Append = Callable[[KVCache, int, Array, Array], tuple[Array, Array]]
Attention = Callable[[Array, Array, Array], Array]
Forward = Callable[[GPT, Sequence[int] | Array, KVCache], Array]
PolicyStep = Callable[[LimitPolicy, Sequence[int]], Array]  # takes in the last token of a text
Prefill = Callable[..., Array]  # (gpt, tokens, cache), and a chunk's size
Reset = Callable[[KVCache], None]
Start = Callable[[LimitPolicy, Sequence[int]], Array]
Step = Callable[[Decoder, int], Array]
StepPastLimit = Callable[[Recompute, Sequence[int]], Array]
Trim = Callable[[KVCache, int], None]
