"""The session steps both ways, and what it shows depends on the text alone."""

import dataclasses
import random

import numpy as np
import pytest

from kvtui.session import Session
from kvtui.snapshot import BaselineMode
from model import GPTConfig, forward_uncached
from model.faults import FAULTS
from model.limit import NaiveSlide
from model.sampling import make_sampler
from model.tokenizer import CharTokenizer

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
CHARACTERS = "abcdefgh [\n"


class Clock:
    """A second passes with every reading: whatever is timed takes exactly one."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture
def run(perturbed):
    """Makes sessions: a run from a prompt, n steps on."""

    def fresh(n=0, prompt="abc", mode=BaselineMode.OFF, **options):
        session = Session(perturbed(CONFIG), CharTokenizer(CHARACTERS), prompt, clock=Clock(), **options)
        session.set_baseline(mode)
        for _ in range(n):
            session.step()
        return session

    return fresh


def shown(session):
    """All that is shown, but for the record of which steps a baseline was measured at."""
    snapshot = session.snapshot()
    steps = [dataclasses.replace(step, baseline=None) for step in snapshot.steps]
    return dataclasses.replace(snapshot, steps=steps, went_back=False)


def test_a_step_appends_the_models_choice(run):
    session = run()
    chosen = next(c for c in session.snapshot().candidates if c.chosen)
    session.step()
    assert session.snapshot().generated == chosen.character
    assert session.snapshot().cache.stored == 4


def test_a_step_takes_the_time_between_two_readings_of_the_clock(run):
    session = run()
    session.set_baseline(BaselineMode.ALL)
    session.step()
    snapshot = session.snapshot()
    assert snapshot.prefill_seconds == snapshot.steps[0].seconds == snapshot.baseline.seconds == 1


def test_a_step_after_a_pause_is_rehearsed_and_one_right_after_another_is_not(run, monkeypatch):
    session = run()
    taken = []
    original = session._real.step
    monkeypatch.setattr(session._real, "step", lambda text: taken.append(len(text)) or original(text))
    session.step()
    assert taken == [4, 4]
    monkeypatch.setattr(session._rehearsal, "busy_until", session.clock() + 1)
    session.step()
    assert taken == [4, 4, 5]
    assert session.snapshot().cache.stored == 5


@pytest.mark.parametrize("prompt", ["a", "abc", "abcdefgh abc", "abcdefgh abcdefgh"])
@pytest.mark.parametrize("sampler", [None, make_sampler(1.0, seed=3)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("undo", [512, 3], ids=["undo from memory", "undo by replay"])
def test_after_any_sequence_everything_equals_a_fresh_run(prompt, sampler, undo, monkeypatch, run):
    monkeypatch.setattr(NaiveSlide, "UNDO_STEPS", undo)
    options = {"sampler": sampler} if sampler else {}
    choose = random.Random(prompt + str(undo))
    session, n = run(0, prompt, **options), 0
    for _ in range(60):
        move = choose.choice(["step", "step", "step", "back", "back", "baseline"])
        if move == "step":
            session.step()
            n += 1
        elif move == "back":
            assert session.back() == (n > 0)
            n = max(0, n - 1)
        else:
            session.set_baseline(session.baseline_mode.next)
        if choose.random() < 0.4:
            assert shown(session) == shown(run(n, prompt, session.baseline_mode, **options))
    while session.back():
        n -= 1
    assert n == 0
    assert shown(session) == shown(run(0, prompt, session.baseline_mode, **options))


@pytest.mark.parametrize(("n", "length"), [(30, 12), (30, 13), (30, 5), (5, 3), (5, 8), (5, 99), (5, 1)])
def test_back_to_a_length_is_as_many_steps_back(run, n, length):
    at_once, one_by_one = run(n), run(n)
    at_once.back_to(length)
    while 3 <= length < one_by_one.length:
        one_by_one.back()
    assert shown(at_once) == shown(one_by_one)


def test_going_back_across_the_limit_restores_the_cache_bit_by_bit(run):
    session = run(30)
    for _ in range(25):
        session.back()
    fresh = run(5)
    n = session._real.cache.offset
    assert n == fresh._real.cache.offset == 8
    for name in ("keys", "values"):
        ours, theirs = getattr(session._real.cache, name), getattr(fresh._real.cache, name)
        assert np.array_equal(ours[:, :, :n], theirs[:, :, :n])


def test_the_real_model_past_the_limit_is_the_full_pass_over_the_window(run):
    session = run(40)
    window = session._text[-CONFIG.block_size :]
    full = forward_uncached(session.gpt, window)[-1]
    assert np.abs(session._logits - full).max() <= 2e-14 * np.abs(full).max()


@pytest.mark.parametrize("mode", [BaselineMode.BLOCKED, BaselineMode.ALL])
def test_the_baseline_says_how_far_the_logits_are_from_the_full_pass(run, mode):
    session = run(5, mode=mode)
    full = forward_uncached(session.gpt, session._text, mode.block_rows)[-1]
    baseline = session.snapshot().baseline
    assert baseline.max_abs_diff == np.abs(session._logits - full).max()
    assert baseline.max_abs_logit == np.abs(full).max()
    assert baseline.max_abs_diff <= 2e-14 * baseline.max_abs_logit


def test_the_baseline_notices_logits_that_are_not_those_of_the_full_pass(run):
    session = run(5)
    session._logits = session._logits + 1e-3
    session.set_baseline(BaselineMode.ALL)
    assert session.snapshot().baseline.max_abs_diff == pytest.approx(1e-3)


def test_the_window_is_full_at_the_models_limit_and_one_step_later_it_is_recomputed(run):
    snapshot = run(9).snapshot()
    assert (snapshot.length, snapshot.cache.stored, snapshot.past_limit) == (12, 12, False)
    assert snapshot.beside == ()
    snapshot = run(10).snapshot()
    assert (snapshot.length, snapshot.cache.stored, snapshot.past_limit) == (13, 12, True)
    assert [step.recomputed for step in snapshot.steps] == [False] * 9 + [True]
    assert snapshot.slides == 1
    assert [state.name for state in snapshot.beside] == ["naive slide", "attention sinks", "refill"]
    assert all([c.position for c in state.comparisons] == [13] for state in snapshot.beside)


def test_a_prompt_longer_than_the_window_begins_past_it(run):
    snapshot = run(1, "abcdefgh abcdefgh").snapshot()
    assert snapshot.window_full_at == 17
    assert snapshot.slides == len(snapshot.beside[0].comparisons) == 1


def test_one_session_holds_nothing_of_a_prompt_before(run):
    session = run(25, "hgf")
    session.begin("abc")
    session.step()
    assert shown(session) == shown(run(1))


@pytest.mark.parametrize("prompt", ["", "xyz"])
def test_a_prompt_that_cannot_be_is_refused_and_changes_nothing(run, prompt):
    session = run(4)
    before = shown(session)
    with pytest.raises(ValueError, match=r"at least one id|does not know"):
        session.begin(prompt)
    assert shown(session) == before


def test_a_choice_from_far_down_is_among_the_candidates(run):
    session = run(sampler=lambda logits, position: int(logits.argmin()))
    assert sum(c.chosen for c in session.snapshot().candidates) == 1


def test_snapshots_do_not_change_when_the_session_goes_on(run):
    session = run(15)
    snapshot = session.snapshot()
    kept = [
        *(array for state in snapshot.beside for array in (state.cache.keys, state.comparisons.rows)),
        snapshot.steps.rows,
    ]
    copies = [array.copy() for array in kept]
    for _ in range(100):
        session.step()
    for _ in range(110):
        session.back()
    session.set_baseline(BaselineMode.BLOCKED)
    for _ in range(10):
        session.step()
    session.set_baseline(BaselineMode.ALL)
    assert len(snapshot.steps) == 15
    for array, copy in zip(kept, copies, strict=True):
        assert array.tobytes() == copy.tobytes()


@pytest.mark.parametrize(
    ("n", "model"),
    [
        (3, "real"),
        *((n, model) for n in (9, 14) for model in ("real", "naive slide", "attention sinks", "refill")),
    ],
)
def test_a_step_that_breaks_off_has_not_been_taken(run, monkeypatch, n, model):
    session = run(n)
    before = shown(session)
    faults = iter([ZeroDivisionError])
    policies = {"real": session._real} | {other.policy.name: other.policy for other in session._beside}
    step = policies[model].step
    monkeypatch.setattr(policies[model], "step", lambda text: fail_after(step, text, faults))
    with pytest.raises(ZeroDivisionError):
        session.step()
    assert shown(session) == before
    session.step()
    assert shown(session) == shown(run(n + 1))


def fail_after(step, text, faults):
    """Take a step, and break off behind it as long as there are faults."""
    logits = step(text)
    for fault in faults:
        raise fault
    return logits


def test_both_models_are_judged_by_the_choices_that_are_shown(run):
    session = run(20, sampler=make_sampler(1.5, seed=1))
    snapshot = session.snapshot()
    for state in snapshot.beside:
        last = state.comparisons[-1]
        for candidates, token in ((snapshot.candidates, last.real), (state.candidates, last.other)):
            assert [c.character for c in candidates if c.chosen] == [CHARACTERS[token]]


@pytest.mark.parametrize("go", ["stay", "back", "back_to"])
def test_after_another_sampler_the_verdict_is_on_the_choices_that_are_shown(run, go):
    changed = False
    for seed in range(30):
        session = run(14)
        session.watch_anatomy(True)
        session.set_sampler(make_sampler(3.0, seed=seed))
        session.step()
        session.step()
        if go == "stay":
            session.set_sampler(make_sampler(3.0, seed=seed + 100))
        elif go == "back":
            session.set_sampler(make_sampler(3.0, seed=seed + 100))
            session.back()
        else:
            session.set_sampler(make_sampler(3.0, seed=seed + 100))
            session.back_to(session.length - 2)
        snapshot = session.snapshot()
        real = next(c.character for c in snapshot.candidates if c.chosen)
        for state in snapshot.beside:
            other = next(c.character for c in state.candidates if c.chosen)
            assert state.comparisons[-1].agree == (real == other)
            assert CHARACTERS[state.comparisons[-1].real] == real
        before = make_sampler(3.0, seed=seed)(session._logits, session.length)
        changed |= CHARACTERS[before] != real
        naive_agrees = bool(snapshot.policy("naive slide").comparisons[-1].agree)
        assert snapshot.anatomy.rows["length"][-1] == session.length
        assert snapshot.anatomy.rows["naive_agree"][-1] == naive_agrees
    assert changed


@pytest.mark.parametrize("n", [4, 13])
def test_a_way_back_that_breaks_off_leaves_no_trace(run, n, monkeypatch):
    session, alone = run(n), run(n)
    session.set_fault(FAULTS[0])
    session.catch_up()
    with monkeypatch.context() as patch:
        patch.setattr(Session, "_replayed", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.back_to(session.length - 2)
    assert (session.behind, session.fault) == (0, None)
    for _ in range(3):
        session.step()
        alone.step()
        assert shown(session) == shown(alone)


def test_policies_that_fail_to_go_back_are_right_again_after_the_next_step(run, monkeypatch):
    session, alone = run(16), run(16)
    with monkeypatch.context() as patch:
        patch.setattr(NaiveSlide, "catch_up", lambda *_: 1 / 0)
        patch.setattr(NaiveSlide, "back", lambda _: False)
        with pytest.raises(ZeroDivisionError):
            session.back()
    alone.back()
    for _ in range(3):
        session.step()
        alone.step()
        assert shown(session).policy("naive slide") == shown(alone).policy("naive slide")


def test_a_baseline_that_cannot_be_measured_is_not_switched_on(run, monkeypatch):
    session = run(3)
    with monkeypatch.context() as patch:
        patch.setattr("kvtui.session.forward_uncached", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.set_baseline(BaselineMode.ALL)
        session.step()
    assert session.baseline_mode is BaselineMode.OFF
    assert session.length == 7
