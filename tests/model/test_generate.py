from dataclasses import FrozenInstanceError
from itertools import islice

import numpy as np
import pytest

from model.generate import Timed, Uncached, generate
from model.limit import NaiveSlide, Recompute
from model.sampling import greedy, make_sampler


class Recorder:
    """Predicts the token one above the last, and notes what it is shown."""

    def __init__(self):
        self.calls = []

    def start(self, text):
        self.calls.append(("start", list(text)))
        return np.eye(10)[text[-1] + 1]

    def step(self, text):
        self.calls.append(("step", list(text)))
        return np.eye(10)[text[-1] + 1]


def test_the_prompt_enters_once_and_then_every_token_by_itself():
    model = Recorder()
    tokens = [step.token for step in generate(model, [7, 1], 3, greedy)]
    assert tokens == [2, 3, 4]
    assert model.calls[:3] == [("start", [7, 1]), ("step", [7, 1, 2]), ("step", [7, 1, 2, 3])]
    assert model.calls[3:] == [("step", [7, 1, 2, 3, 4])]


@pytest.mark.parametrize("policy", [Recompute, NaiveSlide])
def test_the_cache_holds_each_token_of_prompt_and_text_once(gpt, policy, text_of, assert_close):
    prompt = text_of(gpt.config, 5)
    model = policy(gpt)
    text = prompt + [step.token for step in generate(model, prompt, 4, greedy)]
    assert model.cache.offset == len(text) == 9
    alone = policy(gpt)
    alone.start(text)
    assert_close(model.cache.keys[:, :, :9], alone.cache.keys[:, :, :9], 1e-13)


def test_a_token_is_yielded_before_the_model_takes_it_in():
    model = Recorder()
    running = generate(model, [0], 5, greedy)
    assert model.calls == []
    for n in range(1, 4):
        assert next(running).token == n
        assert [len(text) for _, text in model.calls] == list(range(1, n + 1))


def test_greedy_text_is_that_of_the_plain_model(gpt, plain, text_of, assert_close):
    prompt = text_of(gpt.config, 3)
    text, expected = list(prompt), []
    for _ in range(20):
        expected.append(plain(gpt).logits(text[-16:])[-1])
        text.append(int(np.argmax(expected[-1])))
    for model in (Recompute(gpt), Uncached(gpt), Uncached(gpt, block_rows=5)):
        steps = list(generate(model, prompt, 20, greedy))
        assert prompt + [step.token for step in steps] == text
        assert_close(np.array([step.logits for step in steps]), np.array(expected), 1e-13)


def test_with_and_without_a_cache_the_same_text_is_drawn(gpt, text_of):
    texts = [
        [step.token for step in generate(model, text_of(gpt.config, 3), 40, make_sampler(1.0, seed=5))]
        for model in (Recompute(gpt), Uncached(gpt))
    ]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 1


def test_a_token_is_drawn_from_its_logits_at_its_place_in_the_text():
    seen = []

    def sampler(logits, position):
        seen.append((int(logits.argmax()), position))
        return 4

    steps = list(generate(Recorder(), [0, 2, 6], 3, sampler))
    assert seen == [(7, 3), (5, 4), (5, 5)]
    assert [(step.token, int(step.logits.argmax())) for step in steps] == [(4, 7), (4, 5), (4, 5)]


def test_the_callers_prompt_does_not_grow(gpt):
    prompt = [1, 2]
    list(generate(Recompute(gpt), prompt, 3, greedy))
    assert prompt == [1, 2]


def test_no_tokens_may_be_asked_for(gpt):
    assert list(generate(Recompute(gpt), [1], 0, greedy)) == []


@pytest.mark.parametrize("model", [Recompute, NaiveSlide, Uncached])
@pytest.mark.parametrize("n", [0, 3])
def test_an_empty_prompt_is_refused(odd_gpt, model, n):
    with pytest.raises(ValueError, match="at least one id"):
        list(generate(model(odd_gpt), [], n, greedy))


def test_less_than_no_tokens_are_refused(odd_gpt):
    with pytest.raises(ValueError, match="at least 0, not -1"):
        list(generate(Recompute(odd_gpt), [1], -1, greedy))


def test_without_a_cache_all_rows_are_one_block_unless_told_otherwise(odd_gpt, monkeypatch):
    monkeypatch.setattr("model.generate.forward_uncached", lambda gpt, text, block_rows: [block_rows])
    assert Uncached(odd_gpt).start([1, 2]) is None
    assert Uncached(odd_gpt, 5).start([1, 2]) == 5


def test_what_was_generated_stays_as_it_was():
    (step,) = generate(Recorder(), [0], 1, greedy)
    with pytest.raises(FrozenInstanceError):
        step.token = 2


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("model.generate.time", clock)
    return clock


class Slow(Recorder):
    """Takes 5 seconds for a prompt and 1, 2, 3, ... for the steps that follow."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def start(self, text):
        self.clock.now += 5
        return super().start(text)

    def step(self, text):
        self.clock.now += len(self.calls)
        return super().step(text)


def slow_sampler(clock):
    def sampler(logits, position):
        clock.now += 1000
        return greedy(logits, position)

    return sampler


def test_prefill_and_steps_are_timed_apart_and_without_the_sampler(clock):
    timed = Timed(Slow(clock))
    steps = list(generate(timed, [0], 3, slow_sampler(clock)))
    assert timed.prefill_seconds == 5
    assert timed.step_seconds == [1, 2, 3]
    assert [step.token for step in steps] == [1, 2, 3]


def test_before_the_start_no_time_has_passed():
    timed = Timed(Recorder())
    assert (timed.prefill_seconds, timed.step_seconds) == (0, [])


def test_a_new_start_is_timed_anew(clock):
    timed = Timed(Slow(clock))
    list(generate(timed, [0], 3, greedy))
    list(islice(generate(timed, [0], 3, greedy), 1))
    assert (timed.prefill_seconds, timed.step_seconds) == (5, [])
