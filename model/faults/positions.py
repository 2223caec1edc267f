"""Tokens that are taken to stand where they do not."""

import numpy as np

from model.cache import KVCache
from model.decoder import Decoder
from model.faults.calls import Append, Array, Prefill, Step
from model.faults.circumstances import STEPS_BY_FORWARD
from model.faults.fault import Fault
from model.gpt import GPT


def restarting(step: Step) -> Step:
    def faulty(decoder: Decoder, token: int) -> Array:
        sound = decoder.weights
        first = np.broadcast_to(sound.positions[0], sound.positions.shape)
        decoder.weights = sound._replace(positions=first)
        try:
            return step(decoder, token)
        finally:
            decoder.weights = sound

    return faulty


POSITION_RESTARTS = Fault(
    "position-restarts",
    "Positions are counted from the beginning of a call, not of the text. That is right for a prompt, but "
    "every later token comes in a call of its own, and is taken to be the first of the text.",
    "Blaizzy/mlx-vlm#1983: every generated token was given position 0",
    (("decoder.Decoder.step", restarting),),
)


def leaving_a_hole(prefill: Prefill) -> Prefill:
    def faulty(gpt: GPT, tokens: Array, cache: KVCache) -> Array:
        logits = prefill(gpt, tokens, cache)
        cache.offset = min(cache.offset + 1, cache.max_seq_len)
        return logits

    return faulty


HOLE_AFTER_PROMPT = Fault(
    "hole-after-prompt",
    "The count of stored tokens includes one that is yet to come, so the first step after a prompt leaves "
    "a place free. Nothing was ever written there, yet every step reads it, and all that follows stands "
    "one position too far.",
    "microsoft/onnxruntime-genai#2354: the first step after a prompt of L tokens wrote at L + 1, not at L",
    (("limit.policy.prefill", leaving_a_hole),),
)


def counting_in_every_layer(append: Append) -> Append:
    def faulty(cache: KVCache, layer: int, k: Array, v: Array) -> tuple[Array, Array]:
        seen = append(cache, layer, k, v)
        new = k.shape[1]
        # There must be room left for the next layer, and for the count that is right.
        cache.offset = min(cache.offset + new, cache.max_seq_len - new)
        return seen

    return faulty


COUNTED_IN_EVERY_LAYER = Fault(
    "counted-in-every-layer",
    "Each layer adds the new tokens to the one count that all layers share. So the layers above it write "
    "too far along and read places that are empty, and the next token skips positions.",
    "fla-org/flash-linear-attention#766: the first layer moved the count that all layers share",
    (("cache.KVCache.append", counting_in_every_layer), STEPS_BY_FORWARD),
)
