"""The ladder: every policy on the same texts, its figures by their definitions."""

import math
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from model.comparison import bits_per_character
from model.experiments.policies import (
    Spread,
    given_texts,
    policy_rows,
    text_length,
    written_texts,
)
from model.generate import generate
from model.limit import POLICIES, NaiveSlide, Recompute, Refill, Stop
from model.sampling import make_sampler

LIMIT, STEPS = 16, 7
ENDLESS = [policy for policy in POLICIES if policy is not Stop]


@pytest.fixture
def texts(gpt, text_of):
    return [text_of(gpt.config, LIMIT + STEPS + 1, seed) for seed in range(3)]


def distribution(logits):
    weights = [math.exp(u) for u in logits]
    return [w / sum(weights) for w in weights]


def distributions(policy, text):
    """After each token behind the window but the last: what the policy thinks is next."""
    policy.start(text[:LIMIT])
    return [distribution(policy.step(text[:n])) for n in range(LIMIT + 1, len(text))]


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def plain_figures(gpt, policy, text):
    """Agreement, mean and largest KL, and bits, of one text, in plain Python."""
    real, other = distributions(Recompute(gpt), text), distributions(policy(gpt), text)
    kls = list(map(kl, real, other))
    same = [p.index(max(p)) == q.index(max(q)) for p, q in zip(real, other, strict=True)]
    bits = [-math.log2(q[token]) for q, token in zip(other, text[LIMIT + 1 :], strict=True)]
    assert len(same) == len(bits) == STEPS
    return sum(same) / STEPS, sum(kls) / STEPS, max(kls), sum(bits) / STEPS


@pytest.mark.parametrize("policy", ENDLESS)
def test_the_figures_are_what_they_are_called(gpt, policy, texts):
    (row,) = policy_rows(gpt, texts, [policy])
    agreement, mean_kl, max_kl, bits = zip(*(plain_figures(gpt, policy, t) for t in texts), strict=True)
    assert (row.name, row.cache_bytes) == (policy.name, policy(gpt).cache.nbytes)
    assert row.max_kl == pytest.approx(max(max_kl), rel=1e-9, abs=1e-15)
    for spread, figures in (
        (row.agreement, agreement),
        (row.mean_kl, mean_kl),
        (row.bits_per_character, bits),
    ):
        expected = (sum(figures) / 3, min(figures), max(figures))
        assert (spread.mean, spread.low, spread.high) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_the_real_model_is_the_measure(gpt, texts):
    (row,) = policy_rows(gpt, texts, [Recompute])
    assert (row.agreement, row.mean_kl, row.max_kl) == (Spread(1, 1, 1), Spread(0, 0, 0), 0)


def test_policies_that_differ_are_seen_to_differ(gpt, texts):
    rows = policy_rows(gpt, texts, ENDLESS)
    assert len({row.bits_per_character.mean for row in rows}) == len(ENDLESS)
    assert all(row.mean_kl.low > 1e-4 for row in rows[1:])


def test_a_policy_that_ends_has_a_cache_and_no_figures(gpt, texts):
    (row,) = policy_rows(gpt, texts, [Stop])
    assert row.cache_bytes == Stop(gpt).cache.nbytes > 0
    figures = row.agreement, row.mean_kl, row.max_kl, row.bits_per_character, row.seconds_per_step
    assert figures == (None,) * 5
    assert row.step_seconds == []


def test_a_row_for_each_policy_in_the_order_asked_for(gpt, texts):
    assert [row.name for row in policy_rows(gpt, iter(texts[:1]))] == [p.name for p in POLICIES]
    asked = [Refill, Stop, Recompute]
    assert [row.name for row in policy_rows(gpt, texts[:1], asked)] == [p.name for p in asked]


def test_even_predictions_cost_the_logarithm_of_the_vocabulary(text_of, gpt):
    V = gpt.config.vocab_size
    assert bits_per_character(np.full((3, V), 7.0), [0, 1, V - 1]) == pytest.approx(math.log2(V))


# Times


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr("model.generate.time", clock)
    return clock


def test_times_are_the_steps_alone_and_a_costly_one_counts(gpt, clock, texts):
    costs = count(1)

    class Slow(NaiveSlide):
        warming_up = True

        def start(self, text):
            clock.now += 1000
            return super().start(text)

        def step(self, text):
            clock.now += 100 if self.warming_up else next(costs) ** 2
            return super().step(text)

        def catch_up(self, text, full_at):
            logits = super().catch_up(text, full_at)
            self.warming_up = False
            return logits

    row, _ = policy_rows(gpt, texts, [Slow, Refill])
    squares = [n**2 for n in range(1, 3 * STEPS + 1)]
    assert row.step_seconds == squares[:STEPS]
    assert row.seconds_per_step == sum(squares) / len(squares)


def test_each_kind_of_step_was_taken_before_one_is_timed(gpt, clock, texts):
    log = []

    class Noted(Refill):
        def start(self, text):
            log.append("prefill")
            return super().start(text)

        def step(self, text):
            log.append("step")
            return super().step(text)

    clock.perf_counter = lambda: log.append("clock") or 0.0
    policy_rows(gpt, texts[:1], [Noted])
    assert log[: log.index("clock")] == ["prefill", "step"]


def test_the_real_model_takes_no_step_twice(gpt, texts, monkeypatch):
    taken = []
    step = Recompute.step
    monkeypatch.setattr(Recompute, "step", lambda self, text: taken.append(len(text)) or step(self, text))
    policy_rows(gpt, texts[:1], [NaiveSlide, Recompute])
    assert taken == list(range(LIMIT + 1, LIMIT + STEPS + 1))


# Texts


def test_a_text_without_a_step_is_refused(gpt, text_of):
    with pytest.raises(ValueError, match="at least 18 tokens, not 17"):
        policy_rows(gpt, [text_of(gpt.config, LIMIT + 1)], [NaiveSlide])
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        text_length(gpt, 0)


@pytest.mark.parametrize(
    ("tokens", "starts", "begins"),
    [
        (20, 1, [0]),
        (20, 5, [0]),
        (39, 5, [0]),
        (40, 5, [0, 20]),
        (99, 4, [0, 24, 49, 74]),
        (1000, 4, [0, 250, 500, 750]),
    ],
)
def test_parts_of_a_text_are_spread_evenly_and_do_not_overlap(odd_gpt, tokens, starts, begins):
    parts = given_texts(odd_gpt, range(tokens), starts, steps=3)
    assert [list(part) for part in parts] == [list(range(begin, begin + 20)) for begin in begins]


def test_a_text_that_is_too_short_is_told_what_is_needed(odd_gpt):
    with pytest.raises(ValueError, match=r"has 19 characters.* need 20"):
        given_texts(odd_gpt, range(19), 1, steps=3)


@pytest.mark.parametrize("n", [3, LIMIT, 30])
def test_the_real_model_writes_a_text_with_each_seed(odd_gpt, n, text_of):
    prompt = text_of(odd_gpt.config, n)
    texts = list(written_texts(odd_gpt, prompt, starts=3, steps=STEPS, seed=5))
    begun = prompt[-LIMIT:]
    assert len({tuple(text) for text in texts}) == 3
    for seed, text in zip((5, 6, 7), texts, strict=True):
        sampler = make_sampler(1.0, seed=seed)
        written = generate(Recompute(odd_gpt), begun, LIMIT + STEPS + 1 - len(begun), sampler)
        assert text == [*begun, *(step.token for step in written)]


def test_a_text_is_not_written_before_it_is_asked_for(odd_gpt, monkeypatch):
    written = []
    monkeypatch.setattr("model.experiments.policies.generate", lambda *args: written.append(args) or [])
    texts = written_texts(odd_gpt, [1], starts=10**9, steps=1)
    assert not written
    next(texts)
    assert len(written) == 1


def test_what_cannot_be_read_from_or_written_is_refused_at_once(odd_gpt):
    for starts, steps, wrong in ((0, 1, "starts"), (1, 0, "steps")):
        with pytest.raises(ValueError, match=f"{wrong} must be at least 1, not 0"):
            written_texts(odd_gpt, [1], starts, steps)
        with pytest.raises(ValueError, match=f"{wrong} must be at least 1, not 0"):
            given_texts(odd_gpt, [1] * 50, starts, steps)
    with pytest.raises(ValueError, match="at least one id"):
        written_texts(odd_gpt, [], 1, 1)
