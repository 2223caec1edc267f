"""Memory that does not hold what was written to it."""

from collections.abc import Sequence

from model.cache import KVCache
from model.decoder import Decoder
from model.faults.calls import Append, Array, Forward, PolicyStep, Step
from model.faults.circumstances import STEPS_BY_FORWARD
from model.faults.fault import Fault
from model.gpt import GPT
from model.limit import LimitPolicy


def forward_of_two(forward: Forward) -> Forward:
    def faulty(gpt: GPT, tokens: Sequence[int] | Array, cache: KVCache) -> Array:
        ids = gpt.checked(tokens)
        logits = forward(gpt, ids, cache)
        cache.trim(len(ids))
        forward(gpt, (ids + 1) % gpt.config.vocab_size, cache)
        return logits

    return faulty


def step_of_two(step: Step) -> Step:
    def faulty(decoder: Decoder, token: int) -> Array:
        logits = step(decoder, token)
        decoder.cache.trim(1)
        step(decoder, (token + 1) % decoder.gpt.config.vocab_size)
        return logits

    return faulty


SHARED_MEMORY = Fault(
    "shared-memory",
    "Two texts keep their keys and values in the same memory, and each writes over those of the other. "
    "(The second is read along with every text here: it has the next token of the vocabulary for each.)",
    "quantumaikr/quant.cpp#49: a server had a single cache, and clients spoilt one another's texts",
    (("gpt.GPT.forward", forward_of_two), ("decoder.Decoder.step", step_of_two)),
)


def rounding(append: Append) -> Append:
    def faulty(cache: KVCache, layer: int, k: Array, v: Array) -> tuple[Array, Array]:
        narrow = "float32" if k.dtype == "float64" else "float16"
        return append(cache, layer, k.astype(narrow), v.astype(narrow))

    return faulty


HALF_PRECISION = Fault(
    "half-precision",
    "Keys and values are stored with half of their bits: as float32 where the model computes in float64, "
    "as float16 where it computes in float32. The text hardly ever changes; only the logits tell.",
    "apple/axlearn#1049: the cache could be in bfloat16 though the model computed in float32",
    (("cache.KVCache.append", rounding), STEPS_BY_FORWARD),
)


def never_at_the_limit(step: PolicyStep) -> PolicyStep:
    def faulty(policy: LimitPolicy, text: Sequence[int]) -> Array:
        return policy.decoder.step(text[-1])

    return faulty


def past_the_end(step: Step) -> Step:
    def faulty(decoder: Decoder, token: int) -> Array:
        cache = decoder.cache
        if cache.offset < cache.max_seq_len:
            return step(decoder, token)
        stored = cache.keys, cache.values
        last = [array[:, :, -1].copy() for array in stored]
        cache.trim(1)  # the model has no position beyond the last
        logits = step(decoder, token)
        for array, entry in zip(stored, last, strict=True):
            heads = array.reshape(-1, *array.shape[2:])  # of all layers, as they lie in memory
            heads[1:, 0] = heads[:-1, -1]
            array[:, :, -1] = entry
        return logits

    return faulty


ROOM_NOT_CHECKED = Fault(
    "room-not-checked",
    "Nothing asks whether there is room. Past the limit each new key and value is written behind the last "
    "place of its head, which in memory is the first place of the next head. (The model has no positions "
    "left either, so these tokens all take the last.)",
    "Nehanth/swarmllm#31: writes ran off the end of the cache, and the text fell apart into repetitions",
    (("limit.policy.LimitPolicy.step", never_at_the_limit), ("decoder.Decoder.step", past_the_end)),
)
