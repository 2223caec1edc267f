"""Faults on purpose: each makes the numbers wrong while it is in, and leaves nothing behind."""

import re
from contextlib import nullcontext
from dataclasses import FrozenInstanceError
from itertools import pairwise
from pkgutil import resolve_name

import numpy as np
import pytest

from model import forward_uncached
from model.comparison import TOLERANCES
from model.experiments import exactness as experiment
from model.experiments.exactness import exactness
from model.faults import FAULTS, Fault
from model.limit import Recompute

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@pytest.fixture(params=["float64", "float32"])
def gpt(request, odd_config, perturbed):
    return perturbed(odd_config, request.param)


@pytest.fixture
def text(odd_config, text_of):
    return text_of(odd_config, odd_config.block_size + 5)


# A prompt of 5 tokens, steps to 10, back to 7, and on to five past the limit of 16.
LENGTHS = (5, *range(6, 10 + 1), *range(7, 16 + 5 + 1))


def run(policy, text, during=nullcontext):
    """Logits (T, V) of a text that is as long as LENGTHS says, by the calls that the screen makes."""
    with during():
        logits = [policy.start(text[: LENGTHS[0]])]
    for before, length in pairwise(LENGTHS):
        if length <= before:
            with during():
                policy.cache.trim(before - length + 1)
        with during():
            logits.append(policy.step(text[:length]))
    return np.stack(logits)


def full_passes(gpt, text):
    limit = gpt.config.block_size
    return np.stack([forward_uncached(gpt, text[:length][-limit:])[-1] for length in LENGTHS])


def engine():
    """What stands at every place that a fault is put in."""
    return {place: resolve_name(f"model.{place}") for fault in FAULTS for place, _ in fault.patches}


def test_there_are_a_dozen_and_more_and_each_says_what_it_is_and_where_it_was_seen():
    assert len(FAULTS) >= 12
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", fault.name)
        assert re.fullmatch(r"[A-Z].*[.)]", fault.what)
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+: .*[^.]", fault.seen_in)


def test_without_a_fault_a_run_equals_full_passes(gpt, text, assert_close):
    assert_close(run(Recompute(gpt), text), full_passes(gpt, text), TOLERANCES[str(gpt.dtype)])


@each_fault
def test_a_fault_makes_the_numbers_of_a_run_wrong_and_no_more_than_that(gpt, text, fault):
    policy, expected = Recompute(gpt), full_passes(gpt, text)
    with fault.active():
        logits = run(policy, text)
        assert np.array_equal(full_passes(gpt, text), expected)  # which no fault reaches
    assert np.isfinite(logits).all()
    rounding = 1e-10 if gpt.dtype == "float64" else TOLERANCES["float32"]
    assert np.abs(logits - expected).max() > rounding * np.abs(expected).max()


@each_fault
def test_nothing_of_a_fault_is_left_in_a_model_or_in_its_decoder(odd_gpt, text, fault):
    policy, before, folded = Recompute(odd_gpt), engine(), odd_gpt.folded
    sound = run(policy, text)
    weights = [array.tobytes() for array in (folded.tokens, folded.positions, folded.head)]
    with fault.active():
        assert {place for place, stands in engine().items() if stands is not before[place]} == {
            place for place, _ in fault.patches
        }
        run(policy, text)
        run(Recompute(odd_gpt), text)
    assert all(stands is before[place] for place, stands in engine().items())
    assert odd_gpt.folded is folded
    assert policy.decoder.weights is folded
    assert [array.tobytes() for array in (folded.tokens, folded.positions, folded.head)] == weights
    assert np.array_equal(run(policy, text), sound)


@each_fault
def test_a_fault_can_be_put_in_for_one_call_at_a_time(odd_gpt, text, fault):
    with fault.active():
        throughout = run(Recompute(odd_gpt), text)
    assert np.array_equal(run(Recompute(odd_gpt), text, fault.active), throughout)


def test_faults_can_follow_one_another_and_be_in_at_the_same_time():
    before = engine()
    first, second = FAULTS[0], FAULTS[-1]
    for _ in range(2):
        for fault in (first, second):
            with fault.active():
                assert engine() != before
            assert engine() == before
    with first.active(), second.active(), first.active():
        pass
    assert engine() == before


@each_fault
def test_a_fault_is_taken_out_after_an_exception_too(fault):
    before = engine()
    with pytest.raises(KeyboardInterrupt), fault.active():
        raise KeyboardInterrupt
    assert engine() == before


@pytest.mark.parametrize(
    "bad",
    [
        ("decoder.Decoder.stride", lambda sound: sound),
        ("limit.recompute.Recompute.step", lambda sound: sound),  # which is its parent's
        ("nowhere.at_all", lambda sound: sound),
        ("cache.KVCache.reset", lambda sound: 1 / 0),
    ],
    ids=["unknown", "inherited", "no such module", "failing"],
)
def test_a_fault_goes_in_whole_or_not_at_all(bad):
    before = engine()
    fault = Fault("half-in", "", "", (*FAULTS[0].patches, bad))
    with pytest.raises((LookupError, ImportError, AttributeError, ZeroDivisionError)), fault.active():
        pytest.fail("it went in")
    assert engine() == before


def test_a_fault_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        FAULTS[0].patches = ()


# The checks of `kvtui verify`, by what they have in common.
ONE_GO = {"prefill in one go", "prefill in chunks of 16", "prefill in chunks of 100"}  # of 16 tokens
CHUNKS = {"prefill in chunks of 3"}
ONE_BY_ONE = {"prefill in chunks of 1", "forward token by token"}
DECODED = {"decoding at every step"}
BEHIND = {"prefill behind stored tokens"}
BESIDE_NAN = {"NaN in the room to spare"}
BACK_AGAIN = {"tokens of another text taken back"}
RESET = {"another text before, and a reset"}
TWO_TEXTS = {"two texts side by side"}
PAST_LIMIT = {"greedy text, past the limit too", "sampled text, past the limit too"}
OVERFLOW = {"overflow refused, cache untouched"}
RUNS = BACK_AGAIN | RESET | TWO_TEXTS | PAST_LIMIT
STEPS = DECODED | BEHIND | BESIDE_NAN | RUNS

NOTICED_BY = {
    "position-restarts": STEPS,
    "hole-after-prompt": RUNS,
    "counted-in-every-layer": CHUNKS | ONE_BY_ONE | STEPS,
    "mask-not-offset": CHUNKS | BEHIND | RUNS,
    "future-seen": ONE_GO | CHUNKS | BEHIND | BESIDE_NAN | RUNS,
    "evicted-before-seen": CHUNKS | ONE_BY_ONE | BEHIND | RUNS,
    "unwritten-entry-read": ONE_BY_ONE | STEPS,
    "keys-of-another-head": ONE_GO | CHUNKS | ONE_BY_ONE | STEPS,
    "shared-memory": CHUNKS | ONE_BY_ONE | STEPS,
    "half-precision": ONE_GO | CHUNKS | ONE_BY_ONE | STEPS,
    "room-not-checked": PAST_LIMIT | OVERFLOW,
    "reset-leaves-some": RUNS,
    "trim-does-nothing": BACK_AGAIN,
    "trims-one-too-many": BACK_AGAIN,
    "last-prompt-token-twice": RUNS,
    "one-too-many": PAST_LIMIT,
}


@each_fault
def test_every_fault_is_noticed_by_the_checks_whose_paths_it_is_on(gpt, monkeypatch, fault):
    monkeypatch.setattr(experiment, "PAST_LIMIT", 10)
    failed = {check.name for check in exactness(gpt, during=fault.active) if not check.passed}
    assert failed == NOTICED_BY[fault.name]
