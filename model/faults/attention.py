"""Tokens that see what they should not, or do not see what they should."""

import numpy as np

from model.cache import KVCache
from model.faults.calls import Append, Array, Attention
from model.faults.circumstances import PROMPTS_IN_CHUNKS, STEPS_BY_FORWARD
from model.faults.fault import Fault


def not_offset(attention: Attention) -> Attention:
    def faulty(q: Array, keys: Array, values: Array) -> Array:
        T = q.shape[1]
        if T == 1:  # needs no mask
            return attention(q, keys, values)
        return attention(q, keys[:, :T], values[:, :T])

    return faulty


MASK_NOT_OFFSET = Fault(
    "mask-not-offset",
    "The causal mask of a chunk is laid over the beginning of the text, not over the chunk: its first "
    "token sees the first of the text and nothing else, and none sees what lies right before it. (Prompts "
    "are read in chunks of 4 here: for a prompt in one go the mask would be right.)",
    "pytorch/executorch#21749: the first token of the second chunk saw nothing but the first of the text",
    (("gpt.causal_attention", not_offset), PROMPTS_IN_CHUNKS),
)


def without_a_mask(attention: Attention) -> Attention:
    def faulty(q: Array, keys: Array, values: Array) -> Array:
        rows = [attention(q[:, i : i + 1], keys, values) for i in range(q.shape[1])]
        return np.concatenate(rows, axis=1)

    return faulty


FUTURE_SEEN = Fault(
    "future-seen",
    "The causal mask is left out wherever there is a cache. That is right for a single new token, but the "
    "tokens of a prompt then see those that follow them, and what they saw stays in the cache.",
    "Mikyx-1/TinyLLM#17: a well-trained model wrote garbage, as its prompts were read without a mask",
    (("gpt.causal_attention", without_a_mask),),
)


def evicting_first(append: Append) -> Append:
    def faulty(cache: KVCache, layer: int, k: Array, v: Array) -> tuple[Array, Array]:
        gone = min(k.shape[1], cache.offset)
        keys, values = append(cache, layer, k, v)
        return keys[:, gone:], values[:, gone:]

    return faulty


EVICTED_BEFORE_SEEN = Fault(
    "evicted-before-seen",
    "Room for a chunk is made before the chunk has attended: as many of the oldest entries go as tokens "
    "come, and its first tokens should still have seen them. (Prompts are read in chunks of 4 here, and "
    "each chunk makes room, whether the cache is full or not.)",
    "lablup/mlxcel#679: keys were cut to the window first, and the first tokens of a chunk saw none at all",
    (("cache.KVCache.append", evicting_first), PROMPTS_IN_CHUNKS),
)


def one_beyond(append: Append) -> Append:
    def faulty(cache: KVCache, layer: int, k: Array, v: Array) -> tuple[Array, Array]:
        keys, values = append(cache, layer, k, v)
        if k.shape[1] > 1:
            return keys, values
        end = keys.shape[1] + 1
        return cache.keys[layer, :, :end], cache.values[layer, :, :end]

    return faulty


UNWRITTEN_ENTRY_READ = Fault(
    "unwritten-entry-read",
    "A step reads one entry more than is stored. What lies there was never written, or is left over from a "
    "text that is gone.",
    "vllm-project/vllm#47305: kernels read to the end of a block, and NaN in the unwritten part spread",
    (("cache.KVCache.append", one_beyond), STEPS_BY_FORWARD),
)


def of_the_head_before(attention: Attention) -> Attention:
    def faulty(q: Array, keys: Array, values: Array) -> Array:
        return attention(q, np.roll(keys, 1, axis=0), values)

    return faulty


KEYS_OF_ANOTHER_HEAD = Fault(
    "keys-of-another-head",
    "Each head holds its queries against the keys of the head before it. All shapes fit, so nothing "
    "complains. (In a model with a single head there is nothing to mix up.)",
    "ekzhang/jax-js#180: stored heads were repeated in the wrong order, so queries met keys of other heads",
    (("gpt.causal_attention", of_the_head_before), STEPS_BY_FORWARD),
)
