"""Tokens that are fed twice, or too late."""

from collections.abc import Sequence

from model.cache import KVCache
from model.faults.calls import Array, Prefill, StepPastLimit
from model.faults.fault import Fault
from model.gpt import GPT
from model.limit import Recompute


def last_token_twice(prefill: Prefill) -> Prefill:
    def faulty(gpt: GPT, tokens: Array, cache: KVCache) -> Array:
        if fitting := cache.max_seq_len - 1:
            prefill(gpt, tokens[-fitting:], cache)
        return gpt.forward(tokens[-1:], cache)[-1]

    return faulty


LAST_PROMPT_TOKEN_TWICE = Fault(
    "last-prompt-token-twice",
    "The last token of a prompt is read with the prompt, and then again as the first step: it is in the "
    "cache twice, and everything after it stands one position too far. (In a model with a single position "
    "there is no room for it.)",
    "zml/zml#181: the first token that came out was dropped, and the last of the prompt was fed again",
    (("limit.policy.prefill", last_token_twice),),
)


def one_late(step_past_limit: StepPastLimit) -> StepPastLimit:
    def faulty(policy: Recompute, text: Sequence[int]) -> Array:
        if len(text) > policy.cache.max_seq_len + 1:
            return step_past_limit(policy, text)
        policy.cache.trim(1)
        return policy.decoder.step(text[-1])

    return faulty


ONE_TOO_MANY = Fault(
    "one-too-many",
    "The cache counts as full one token late, by a > where >= is right: one more token enters, and the one "
    "before it has to give way. A single step is wrong, the first past the limit.",
    "neuralmagic/deepsparse#1447: a 65th token entered a cache of 64",
    (("limit.recompute.Recompute.step_past_limit", one_late),),
)
