"""Caches that forget too little, or too much."""

from collections.abc import Sequence

from model.cache import KVCache
from model.faults.calls import Array, Prefill, Reset, Start, Trim
from model.faults.fault import Fault
from model.gpt import GPT
from model.limit import LimitPolicy

LEFT = 4  # entries


def some_left(reset: Reset) -> Reset:
    def faulty(cache: KVCache) -> None:
        cache.offset = min(cache.offset, LEFT, cache.max_seq_len - 1)

    return faulty


def as_much_as_fits(prefill: Prefill) -> Prefill:
    def faulty(gpt: GPT, tokens: Array, cache: KVCache) -> Array:
        return prefill(gpt, tokens[cache.offset - cache.max_seq_len :], cache)

    return faulty


def after_another_prompt(start: Start) -> Start:
    def faulty(policy: LimitPolicy, text: Sequence[int]) -> Array:
        if not policy.cache.offset:
            start(policy, text[::-1])
        return start(policy, text)

    return faulty


RESET_LEAVES_SOME = Fault(
    "reset-leaves-some",
    "A reset leaves the first 4 entries where they are, so a new prompt is read as if it went on from the "
    "last. (A first prompt has none before it, so here it is read once backwards and then as it stands.)",
    "mybigday/llama.rn#259: a conversation that had been cleared was still in the cache of the next one",
    (
        ("cache.KVCache.reset", some_left),
        ("limit.policy.prefill", as_much_as_fits),
        ("limit.policy.LimitPolicy.start", after_another_prompt),
    ),
)


def nothing_trimmed(trim: Trim) -> Trim:
    def faulty(cache: KVCache, n: int) -> None:
        if cache.offset == cache.max_seq_len:
            trim(cache, n)

    return faulty


TRIM_DOES_NOTHING = Fault(
    "trim-does-nothing",
    "Tokens that are taken back stay in the cache, and the text goes on behind them. (A full cache is "
    "trimmed: it would refuse the next step, and the fault would be found at once.)",
    "nicedreamzapp/claude-code-local#47: the number to trim came out negative, and the last session stayed",
    (("cache.KVCache.trim", nothing_trimmed),),
)


def one_more_trimmed(trim: Trim) -> Trim:
    def faulty(cache: KVCache, n: int) -> None:
        trim(cache, min(n + (n > 0), cache.offset))

    return faulty


TRIMS_ONE_TOO_MANY = Fault(
    "trims-one-too-many",
    "One token more than was asked is taken back, so the cache goes on with a token missing, and "
    "everything after it stands one position too early.",
    "lablup/mlxcel#994: after each rejected guess a cache was wound back two entries too far",
    (("cache.KVCache.trim", one_more_trimmed),),
)
