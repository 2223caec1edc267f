from dataclasses import replace

import numpy as np
import pytest

from model import forward_uncached
from model.limit import (
    POLICIES,
    AttentionSinks,
    LimitPolicy,
    LimitReached,
    NaiveSlide,
    Recompute,
    Refill,
    Stop,
)
from model.limit.naive_slide import baked_positions

ENDLESS = [policy for policy in POLICIES if policy is not Stop]
LIMIT = 16


def logits_of(policy, text, start):
    """What a policy says after the first `start` tokens of a text, and after each further one."""
    return np.stack(
        [policy.start(text[:start]), *(policy.step(text[: n + 1]) for n in range(start, len(text)))]
    )


def plain_slide(model, text, start, kept):
    """The slide with lists: past the limit the first item goes, and the last position is reused."""
    memory = model.new_memory()
    logits = []
    for i, token in enumerate(text):
        if i >= LIMIT:
            for keys, values in memory:
                del keys[kept], values[kept]
        logits.append(model.step(token, min(i, LIMIT - 1), memory))
    return np.array(logits[start - 1 :])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("start", [1, 5, 16])
def test_up_to_the_limit_every_policy_is_the_model(gpt, policy, start, plain, text_of, assert_close):
    text = text_of(gpt.config, LIMIT)
    assert_close(logits_of(policy(gpt), text, start), plain(gpt).logits(text)[start - 1 :], 1e-13)


@pytest.mark.parametrize("start", [3, 16, 20])
def test_recomputing_is_the_model_on_the_last_block_size_tokens(gpt, start, plain, text_of, assert_close):
    text = text_of(gpt.config, 24)
    windows = [text[max(0, n - LIMIT) : n] for n in range(start, 25)]
    expected = np.array([plain(gpt).logits(window)[-1] for window in windows])
    assert_close(logits_of(Recompute(gpt), text, start), expected, 1e-13)


@pytest.mark.parametrize("start", [3, 15, 16])
@pytest.mark.parametrize(("sliding", "kept"), [(NaiveSlide, 0), (AttentionSinks, 4)])
def test_a_slide_keeps_every_entry_as_it_was_computed(
    gpt, start, sliding, kept, plain, text_of, assert_close
):
    text = text_of(gpt.config, 40)
    policy = sliding(gpt)
    assert_close(logits_of(policy, text, start), plain_slide(plain(gpt), text, start, kept), 1e-13)
    assert policy.cache.offset == LIMIT


@pytest.mark.parametrize("start", [3, 16, 20])
def test_a_refill_is_the_model_on_a_window_that_grows_again(gpt, start, plain, text_of, assert_close):
    text = text_of(gpt.config, 40)
    expected, window = [], min(start, LIMIT)
    for n in range(start, 41):
        expected.append(plain(gpt).logits(text[n - window : n])[-1])
        window = window + 1 if window < LIMIT else LIMIT - LIMIT // 4
    policy = Refill(gpt)
    assert_close(logits_of(policy, text, start), np.array(expected), 1e-13)


def test_stopping_refuses_the_first_token_past_the_limit(gpt, text_of, unchanged):
    text = text_of(gpt.config, LIMIT + 1)
    policy = Stop(gpt)
    logits_of(policy, text[:LIMIT], 3)
    with unchanged(policy.cache), pytest.raises(LimitReached, match="16 positions"):
        policy.step(text)


@pytest.mark.parametrize("sliding", [NaiveSlide, AttentionSinks])
def test_a_slide_is_not_the_model(gpt, sliding, text_of):
    text = text_of(gpt.config, 20)
    naive, real = (logits_of(policy(gpt), text, 1) for policy in (sliding, Recompute))
    assert np.array_equal(naive[:LIMIT], real[:LIMIT])
    assert (np.abs(naive[LIMIT:] - real[LIMIT:]).max(axis=1) > 1e-3).all()


@pytest.mark.parametrize("policy", [Recompute, NaiveSlide])
def test_the_cache_is_filled_to_the_last_place_before_anything_goes(gpt, policy, text_of):
    text = text_of(gpt.config, 20)
    running = policy(gpt)
    running.start(text[:1])
    offsets = [running.cache.offset]
    for n in range(2, 21):
        first = running.cache.keys[:, :, 0].copy()
        running.step(text[:n])
        offsets.append(running.cache.offset)
        assert np.array_equal(running.cache.keys[:, :, 0], first) == (n <= LIMIT)
    assert offsets == [*range(1, LIMIT + 1), *[LIMIT] * 4]


@pytest.mark.parametrize("policy", ENDLESS)
@pytest.mark.parametrize("n", [20, 21, 22, 40])
@pytest.mark.parametrize("start", [16, 19])
def test_catching_up_leaves_everything_as_a_run_does(gpt, policy, n, start, text_of):
    text = text_of(gpt.config, n)
    run, late = policy(gpt), policy(gpt)
    logits_of(late, text_of(gpt.config, 33, seed=1), 4)
    assert np.array_equal(logits_of(run, text, start)[-1], late.catch_up(text, start))
    assert np.array_equal(
        late.cache.keys[:, :, : late.cache.offset], run.cache.keys[:, :, : run.cache.offset]
    )
    assert np.array_equal(late.positions, run.positions)
    assert late.window(text) == run.window(text)


@pytest.mark.parametrize("policy", ENDLESS)
def test_a_start_forgets_the_text_before(gpt, policy, text_of):
    text = text_of(gpt.config, 24, seed=1)
    used = policy(gpt)
    logits_of(used, text_of(gpt.config, 30, seed=2), 7)
    assert np.array_equal(logits_of(used, text, 3), logits_of(policy(gpt), text, 3))


@pytest.mark.parametrize("policy", ENDLESS)
def test_two_texts_side_by_side_do_not_mix(gpt, policy, text_of):
    texts = [text_of(gpt.config, 20, seed) for seed in (1, 2)]
    alone = [logits_of(policy(gpt), text, 1) for text in texts]
    together = [policy(gpt), policy(gpt)]
    for n in range(1, 21):
        for running, text, expected in zip(together, texts, alone, strict=True):
            logits = running.start(text[:1]) if n == 1 else running.step(text[:n])
            assert np.array_equal(logits, expected[n - 1])


@pytest.mark.parametrize("policy", ENDLESS)
@pytest.mark.parametrize("stored", [5, 16, 18])
@pytest.mark.parametrize("token", [-1, 11])
def test_a_step_with_what_is_not_an_id_is_refused(odd_gpt, policy, stored, token, text_of, unchanged):
    text = text_of(odd_gpt.config, stored)
    running = policy(odd_gpt)
    logits_of(running, text, 5)
    with unchanged(running.cache), pytest.raises(ValueError, match="token ids"):
        running.step([*text, token])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", [[], [-1], [0, 11, 0], [1.0], [[1, 2]]], ids=str)
def test_a_start_with_what_is_not_a_text_is_refused(odd_gpt, policy, text, text_of, unchanged):
    running = policy(odd_gpt)
    running.start(text_of(odd_gpt.config, 16))
    with unchanged(running.cache), pytest.raises(ValueError, match="token"):
        running.start(text)


@pytest.mark.parametrize("policy", ENDLESS)
def test_float32_stays_float32(gpt32, policy, text_of):
    running = policy(gpt32)
    assert logits_of(running, text_of(gpt32.config, 20), 3).dtype == np.float32
    assert running.cache.keys.dtype == running.cache.values.dtype == np.float32


@pytest.mark.parametrize("sliding", [NaiveSlide, AttentionSinks])
@pytest.mark.parametrize("steps", [1, 5, 20])
def test_steps_past_the_limit_can_be_taken_back_exactly(gpt, sliding, steps, text_of):
    text = text_of(gpt.config, LIMIT + steps)
    policy = sliding(gpt)
    forth = [policy.start(text[:LIMIT])]
    states = []
    for n in range(LIMIT + 1, LIMIT + steps + 1):
        states.append((policy.cache.keys.tobytes(), policy.cache.values.tobytes()))
        forth.append(policy.step(text[:n]))
    for n in reversed(range(steps)):
        assert policy.back()
        assert policy.cache.offset == LIMIT
        assert (policy.cache.keys.tobytes(), policy.cache.values.tobytes()) == states[n]
    assert not policy.back()
    assert policy.cache.offset == LIMIT
    again = [policy.step(text[:n]) for n in range(LIMIT + 1, LIMIT + steps + 1)]
    assert np.array_equal(again, forth[1:])


@pytest.mark.parametrize("sliding", [NaiveSlide, AttentionSinks])
def test_taken_back_the_entries_are_known_as_they_were(gpt, sliding, text_of):
    text = text_of(gpt.config, LIMIT + 6)
    policy = sliding(gpt)
    known = []
    for n in range(LIMIT, LIMIT + 7):
        policy.start(text[:LIMIT]) if n == LIMIT else policy.step(text[:n])
        known.append((policy.positions.tolist(), policy.window(text[:n])))
    for n in reversed(range(LIMIT, LIMIT + 6)):
        policy.back()
        policy.cache.trim(1)
        policy.decoder.step(text[n - 1])
        assert (policy.positions.tolist(), policy.window(text[:n])) == known[n - LIMIT]


def test_only_the_sliding_policies_take_single_steps_back(gpt, text_of):
    for policy in (Recompute(gpt), Refill(gpt)):
        logits_of(policy, text_of(gpt.config, 20), 3)
        assert policy.back() is False


@pytest.mark.parametrize(("block_size", "kept"), [(1, 0), (2, 1), (5, 2), (8, 4), (100, 4)])
def test_sinks_take_at_most_half_of_a_small_cache(odd_config, perturbed, block_size, kept):
    small = perturbed(replace(odd_config, block_size=block_size))
    assert AttentionSinks(small).kept == kept


def test_the_policies_have_the_names_that_they_are_called_by():
    names = ["recompute", "naive slide", "attention sinks", "refill", "stop"]
    assert [policy.name for policy in POLICIES] == names
    assert [policy.goes_on for policy in POLICIES] == [True] * 4 + [False]


def test_steps_before_the_limit_are_not_its_to_take_back(gpt, text_of, unchanged):
    policy = NaiveSlide(gpt)
    logits_of(policy, text_of(gpt.config, 8), 3)
    with unchanged(policy.cache):
        assert policy.back() is False


def test_only_the_newest_steps_can_be_taken_back(odd_gpt, text_of, unchanged, monkeypatch):
    monkeypatch.setattr(NaiveSlide, "UNDO_STEPS", 3)
    policy = NaiveSlide(odd_gpt)
    logits_of(policy, text_of(odd_gpt.config, LIMIT + 5), 3)
    assert [policy.back() for _ in range(3)] == [True] * 3
    with unchanged(policy.cache):
        assert not policy.back()


def test_a_new_text_cannot_be_taken_back_into_the_old(odd_gpt, text_of, unchanged):
    policy = NaiveSlide(odd_gpt)
    logits_of(policy, text_of(odd_gpt.config, 20), 3)
    policy.start(text_of(odd_gpt.config, 16))
    with unchanged(policy.cache):
        assert not policy.back()


def test_a_refused_step_or_start_leaves_the_steps_before_it_to_be_taken_back(odd_gpt, text_of):
    text = text_of(odd_gpt.config, 18)
    policy = NaiveSlide(odd_gpt)
    logits_of(policy, text[:17], 3)
    state = policy.cache.keys.tobytes(), policy.cache.values.tobytes()
    policy.step(text)
    for refused in (policy.step, policy.start):
        with pytest.raises(ValueError, match="token ids"):
            refused([*text, -1])
    assert policy.back()
    assert (policy.cache.keys.tobytes(), policy.cache.values.tobytes()) == state


@pytest.mark.parametrize("slides", [0, 1, 3, 7, 8, 20])
@pytest.mark.parametrize("kept", [0, 3])
def test_baked_positions_are_those_the_entries_were_computed_at(slides, kept):
    positions = list(range(8))
    for _ in range(slides):
        positions = [*positions[:kept], *positions[kept + 1 :], 7]
    assert baked_positions(slides, 8, kept).tolist() == positions


@pytest.mark.parametrize("policy", ENDLESS)
@pytest.mark.parametrize("start", [3, 16, 19])
@pytest.mark.parametrize("n", [19, 20, 23, 40])
def test_each_policy_knows_the_tokens_and_the_positions_of_its_entries(
    gpt, policy, start, n, text_of, assert_close
):
    text = text_of(gpt.config, n)
    running = policy(gpt)
    logits_of(running, text, start)
    entries = zip(running.window(text), running.positions, strict=True)
    expected = np.stack([first_key(gpt, token, position) for token, position in entries], axis=1)
    assert_close(running.cache.keys[0, :, : running.cache.offset], expected, 1e-13)


@pytest.mark.parametrize("sliding", [NaiveSlide, AttentionSinks])
def test_the_entries_of_a_text_that_grew_from_nothing_are_known_as_well(gpt, sliding, text_of):
    text = text_of(gpt.config, LIMIT + 6)
    grown, started = sliding(gpt), sliding(gpt)
    for n in range(1, len(text) + 1):
        grown.step(text[:n])
        started.start(text[:n]) if n == 1 else started.step(text[:n])
        assert grown.positions.tolist() == started.positions.tolist()
        assert grown.window(text[:n]) == started.window(text[:n])


def first_key(gpt, token, position):
    """The key of a token in the first layer, where only it and its position count."""
    keys = []
    gpt.run(np.array([token]), np.array([position]), lambda layer, q, k, v: keys.append(k[:, 0]) or v)
    return keys[0]


@pytest.mark.parametrize("policy", ENDLESS)
def test_a_window_is_a_list_of_the_sequence_that_the_text_came_in(gpt, policy, text_of):
    text = tuple(text_of(gpt.config, 10))
    running = policy(gpt)
    running.start(text)
    assert running.window(text) == list(text)


def test_what_does_not_say_what_it_does_past_the_limit_is_no_policy(odd_gpt):
    with pytest.raises(TypeError, match="step_past_limit"):
        LimitPolicy(odd_gpt)


@pytest.mark.parametrize("block_rows", [None, 5])
def test_recomputing_agrees_with_the_uncached_window(gpt, block_rows, text_of, assert_close):
    text = text_of(gpt.config, 20)
    expected = forward_uncached(gpt, text[-LIMIT:], block_rows)[-1]
    assert_close(logits_of(Recompute(gpt), text, 4)[-1], expected, 2e-14)
