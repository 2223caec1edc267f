"""Faults that KV caches are known for, each put in at one place: it shows in the logits.

Some are pieces of those in `model.faults`, which are put together so that they show on the screen's path.
"""

from contextlib import suppress
from pkgutil import resolve_name

import numpy as np
import pytest

from model import CacheOverflow, Decoder, forward_uncached, prefill
from model.experiments.exactness import exactness
from model.faults.attention import evicting_first, not_offset, one_beyond, without_a_mask
from model.faults.feeding import last_token_twice, one_late
from model.faults.forgetting import some_left
from model.faults.positions import counting_in_every_layer, restarting
from model.limit import NaiveSlide, Recompute

TOLERANCE = 2e-14
EVIDENT = 1e-2  # far more than rounding ever gives

# Each puts a fault in: it gets what is sound, and returns what takes its place.


def restarted(run):
    return lambda gpt, tokens, at, attend: run(gpt, tokens, at * (len(tokens) > 1), attend)


def skipped(run):
    return lambda gpt, tokens, at, attend: run(gpt, tokens, at + (len(tokens) == 1), attend)


def without_a_past(attention):
    return lambda q, keys, values: attention(q, keys[:, -q.shape[1] :], values[:, -q.shape[1] :])


def one_too_many(require_room):
    return lambda cache, n: require_room(cache, n - 1)


def only_the_first(require_room):
    return lambda cache, n: require_room(cache, 1)


def never(require_room):
    return lambda cache, n: None


def one_early(step):
    def faulty(policy, text):
        early = policy.cache.offset == policy.cache.max_seq_len - 1
        return policy.step_past_limit(text) if early else step(policy, text)

    return faulty


def too_short(start):
    return lambda policy, text: start(policy, text[1 - policy.cache.max_seq_len :])


def twice(advance):
    return lambda cache, n: advance(cache, 2 * n)


def again(step):
    def faulty(decoder, token):
        logits = step(decoder, token)
        decoder.cache.advance(1)
        return logits

    return faulty


def every_token_twice(prefill):
    return lambda gpt, tokens, cache: prefill(gpt, np.repeat(tokens, 2)[-cache.max_seq_len :], cache)


def nothing_forgotten(reset):
    return lambda cache: None


def shared_memory(init):
    memory = {}

    def faulty(cache, *args, **kwargs):
        init(cache, *args, **kwargs)
        cache.keys, cache.values = memory.setdefault(cache.keys.shape, (cache.keys, cache.values))

    return faulty


def own_count(step):
    def faulty(decoder, token):
        decoder.cache.offset = getattr(decoder, "count", decoder.cache.offset)
        logits = step(decoder, token)
        decoder.count = decoder.cache.offset
        return logits

    return faulty


def same_array(step):
    def faulty(decoder, token):
        logits = step(decoder, token)
        decoder.logits = getattr(decoder, "logits", logits)
        decoder.logits[:] = logits
        return decoder.logits

    return faulty


def read_after_the_move(drop_oldest):
    def faulty(cache, kept):
        drop_oldest(cache, kept)
        return np.stack((cache.keys[:, :, 0], cache.values[:, :, 0]))

    return faulty


def on_top(start):
    def faulty(policy, text):
        cached = policy.cache.offset == len(text)
        return policy.decoder.step(text[-1]) if cached else start(policy, text)

    return faulty


# Each gives logits of the engine, and those of full passes over the same tokens. Where a path has room to
# spare, NaN lies beyond the stored tokens, and a fault can do its work without being stopped at the end.


def short_text(gpt, text, cache_with):
    cache = cache_with(gpt)
    logits = [*gpt.forward(text[:1], cache), *gpt.forward(text[1:3], cache)]
    decoder = Decoder(gpt, cache)
    logits += [decoder.step(token) for token in text[3:5]]
    return np.stack(logits), forward_uncached(gpt, text[:5])


def after_a_trim(gpt, text, cache_with):
    decoder = Decoder(gpt, cache_with(gpt, text[:5]))
    for token in text[-3:]:
        decoder.step(token)
    decoder.cache.trim(3)
    return np.stack([decoder.step(token) for token in text[5:7]]), forward_uncached(gpt, text[:7])[5:]


def after_a_reset(gpt, text, cache_with):
    cache = cache_with(gpt, text[-4:])
    cache.reset()
    return gpt.forward(text[:5], cache), forward_uncached(gpt, text[:5])


def after_refusals(gpt, text, cache_with):
    cache = cache_with(gpt, text[:5], max_seq_len=5)
    with suppress(CacheOverflow):
        gpt.forward(text[-1:], cache)
    cache.trim(2)
    with suppress(CacheOverflow):
        prefill(gpt, text[-3:], cache, step_size=1)
    cache.trim(1)
    return gpt.forward(text[2:3], cache), forward_uncached(gpt, text[:3])[2:]


def side_by_side(gpt, text, cache_with):
    texts = text[:5], text[5:10]
    caches = [cache_with(gpt) for _ in texts]
    for tokens in zip(*texts, strict=True):
        logits = [gpt.forward([token], cache)[0] for token, cache in zip(tokens, caches, strict=True)]
    return np.stack(logits), np.stack([forward_uncached(gpt, text)[-1] for text in texts])


def same_prompt_again(gpt, text, cache_with):
    policy = Recompute(gpt)
    return np.stack([policy.start(text[:5]) for _ in range(2)]), forward_uncached(gpt, text[:5])[[-1, -1]]


def slide_up_to_the_limit(gpt, text, cache_with):
    policy = NaiveSlide(gpt)
    logits = [policy.start(text[:3]), *(policy.step(text[:n]) for n in range(4, len(text) + 1))]
    return np.stack(logits), forward_uncached(gpt, text)[2:]


def slide_taken_back(gpt, text, cache_with):
    policy = NaiveSlide(gpt)
    policy.start(text)
    policy.step([*text, text[0]])
    policy.back()
    policy.cache.trim(1)
    return policy.decoder.step(text[-1]), forward_uncached(gpt, text)[-1]


ONE_GO, CHUNKS, ONE_BY_ONE = "prefill in one go", "prefill in chunks of 3", "forward token by token"
DECODING, GREEDY = "decoding at every step", "greedy text, past the limit too"

# What is wrong, where it is put in, the fault, and what shows it: a check of the exactness experiment, or a
# path from above.
FAULTS = [
    ("positions restart for a single token", "gpt.GPT.run", restarted, ONE_BY_ONE),
    ("a position is skipped for a single token", "gpt.GPT.run", skipped, short_text),
    ("positions restart in the decoder", "decoder.Decoder.step", restarting, DECODING),
    ("the mask is not offset by what is stored", "gpt.causal_attention", not_offset, CHUNKS),
    ("a chunk sees its future", "gpt.causal_attention", without_a_mask, ONE_GO),
    ("a chunk sees nothing but itself", "gpt.causal_attention", without_a_past, CHUNKS),
    ("one token too many enters", "cache.KVCache.require_room", one_too_many, after_refusals),
    ("the window slides one late", "limit.recompute.Recompute.step_past_limit", one_late, GREEDY),
    ("the window slides one early", "limit.policy.LimitPolicy.step", one_early, slide_up_to_the_limit),
    ("the window is one too short", "limit.policy.LimitPolicy.start", too_short, GREEDY),
    ("writing goes on past the end", "cache.KVCache.require_room", never, after_refusals),
    ("room is asked for one token of many", "cache.KVCache.require_room", only_the_first, after_refusals),
    ("the offset moves twice", "cache.KVCache.advance", twice, short_text),
    ("the offset moves in every layer", "cache.KVCache.append", counting_in_every_layer, short_text),
    ("the offset moves again after a step", "decoder.Decoder.step", again, short_text),
    ("every token of the prompt is fed twice", "limit.policy.prefill", every_token_twice, GREEDY),
    ("the last token of the prompt is fed twice", "limit.policy.prefill", last_token_twice, GREEDY),
    ("entries go before a chunk has seen them", "cache.KVCache.append", evicting_first, CHUNKS),
    ("an entry beyond the stored is read", "cache.KVCache.append", one_beyond, ONE_BY_ONE),
    ("NaN beyond the stored entries is read", "cache.KVCache.append", one_beyond, short_text),
    ("a reset forgets nothing", "cache.KVCache.reset", nothing_forgotten, after_a_reset),
    ("a reset keeps the first tokens", "cache.KVCache.reset", some_left, after_a_reset),
    ("two caches share their memory", "cache.KVCache.__init__", shared_memory, side_by_side),
    ("the decoder counts tokens for itself", "decoder.Decoder.step", own_count, after_a_trim),
    ("logits are handed out by reference", "decoder.Decoder.step", same_array, DECODING),
    ("what is dropped is no copy", "cache.KVCache.drop_oldest", read_after_the_move, slide_taken_back),
    ("a cached prompt is fed onto itself", "limit.policy.LimitPolicy.start", on_top, same_prompt_again),
]


@pytest.fixture
def difference(odd_config, perturbed, text_of, cache_with):
    """The largest difference from full passes, as a share of the largest logit."""
    gpt = perturbed(odd_config)
    text = text_of(odd_config, odd_config.block_size)

    def shown_by(shows):
        if isinstance(shows, str):
            check = next(check for check in exactness(gpt) if check.name == shows)
            return check.max_abs_diff / check.max_abs_logit
        logits, expected = shows(gpt, text, cache_with)
        assert logits.shape == expected.shape
        return np.abs(logits - expected).max() / np.abs(expected).max()

    return shown_by


def test_without_a_fault_nothing_shows(difference):
    for *_, shows in FAULTS:
        assert difference(shows) <= TOLERANCE


@pytest.mark.parametrize(
    ("place", "fault", "shows"), [row[1:] for row in FAULTS], ids=[name for name, *_ in FAULTS]
)
def test_a_known_fault_shows_in_the_logits(difference, monkeypatch, place, fault, shows):
    sound = resolve_name(f"model.{place}")
    monkeypatch.setattr(f"model.{place}", fault(sound))
    assert not difference(shows) <= EVIDENT  # NaN is evident too
