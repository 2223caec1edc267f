"""What some faults need before they show. These are no faults: the logits stay the same, to rounding."""

from model.cache import KVCache
from model.decoder import Decoder
from model.faults.calls import Array, Prefill, Step
from model.gpt import GPT

CHUNK = 4  # tokens: few, so that even the second half of a short prompt finds something stored


def in_chunks(prefill: Prefill) -> Prefill:
    """Prompts are read a few tokens at a time, as long ones are."""

    def chunked(gpt: GPT, tokens: Array, cache: KVCache) -> Array:
        return prefill(gpt, tokens, cache, CHUNK)

    return chunked


def by_forward(step: Step) -> Step:
    """Single tokens go through `GPT.forward`, which calls what a fault can be in; the decoder does not."""

    def slow(decoder: Decoder, token: int) -> Array:
        return decoder.gpt.forward([token], decoder.cache)[-1]

    return slow


# As patches.
PROMPTS_IN_CHUNKS = ("limit.policy.prefill", in_chunks)
STEPS_BY_FORWARD = ("decoder.Decoder.step", by_forward)
