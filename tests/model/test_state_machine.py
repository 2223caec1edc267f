"""Calls on one cache in any order, beside a plain list of the tokens that it must hold."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from model import Decoder, GPTConfig, forward_uncached, prefill

CONFIGS = [
    GPTConfig(n_layer=3, n_head=2, n_embd=8, block_size=12, vocab_size=13),
    GPTConfig(n_layer=2, n_head=3, n_embd=15, block_size=11, vocab_size=11, n_inner=22),
    GPTConfig(n_layer=1, n_head=1, n_embd=7, block_size=9, vocab_size=8, n_inner=3),
    GPTConfig(n_layer=2, n_head=6, n_embd=6, block_size=10, vocab_size=7),
]
NOT_IDS = [-1, 13, 2**63, 2**70, 1.0, float("nan"), "a", None, [1]]

SETTINGS = settings(
    max_examples=60,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)

has_room = precondition(lambda machine: machine.room > 0)
step_sizes = st.integers(1, 13)


class CacheMachine(RuleBasedStateMachine):
    """Tokens that are taken in on every path, trimmed, forgotten and refused."""

    def __init__(self, models, cache_with, unchanged, assert_close):
        super().__init__()
        self.models, self.cache_with = models, cache_with
        self.unchanged, self.assert_close = unchanged, assert_close

    @initialize(which=st.integers(0, len(CONFIGS) - 1), spare=st.sampled_from([0, -3, 2]))
    def begin(self, which, spare):
        self.gpt = self.models[which]
        self.positions = self.gpt.config.block_size
        self.cache = self.cache_with(self.gpt, max_seq_len=self.positions + spare)
        self.decoder = Decoder(self.gpt, self.cache)
        self.tokens = []
        self.logits = {}  # position -> what a call returned for it, (V,)

    @property
    def room(self):
        return min(self.cache.max_seq_len, self.positions) - len(self.tokens)

    def draw_text(self, data, least, most):
        ids = st.integers(0, self.gpt.config.vocab_size - 1)
        length = data.draw(st.integers(least, most))
        return data.draw(st.lists(ids, min_size=length, max_size=length))

    def taken(self, text, logits):
        self.tokens += text
        rows = np.atleast_2d(logits)
        end = len(self.tokens)
        self.logits |= zip(range(end - len(rows), end), rows, strict=True)

    def refused(self, reason, call, *args):
        with self.unchanged(self.cache), pytest.raises(ValueError, match=reason):
            call(*args)

    @has_room
    @rule(data=st.data())
    def forward(self, data):
        text = self.draw_text(data, 1, self.room)
        self.taken(text, self.gpt.forward(text, self.cache))

    @has_room
    @rule(data=st.data(), step_size=step_sizes)
    def prefill(self, data, step_size):
        text = self.draw_text(data, 1, self.room)
        self.taken(text, prefill(self.gpt, text, self.cache, step_size))

    @has_room
    @rule(data=st.data())
    def step(self, data):
        text = self.draw_text(data, 1, 1)
        self.taken(text, self.decoder.step(*text))

    @rule(data=st.data())
    def trim(self, data):
        stored = len(self.tokens)
        self.refused("cannot trim", self.cache.trim, stored + 1)
        self.refused("cannot trim", self.cache.trim, -1)
        kept = data.draw(st.integers(0, stored))
        self.cache.trim(stored - kept)
        self.tokens = self.tokens[:kept]
        self.logits = {at: row for at, row in self.logits.items() if at < kept}

    @rule()
    def reset(self):
        self.cache.reset()
        self.tokens, self.logits = [], {}

    @rule(data=st.data(), step_size=step_sizes)
    def a_token_too_many(self, data, step_size):
        text = self.draw_text(data, self.room + 1, self.room + 3)
        self.refused("fit|positions", self.gpt.forward, text, self.cache)
        self.refused("fit|positions", prefill, self.gpt, text, self.cache, step_size)
        if not self.room:
            self.refused("fit|positions", self.decoder.step, text[0])

    @rule(data=st.data(), step_size=step_sizes, wrong=st.sampled_from(NOT_IDS))
    def what_is_not_an_id(self, data, step_size, wrong):
        text = [*self.draw_text(data, 0, 3), wrong, *self.draw_text(data, 0, 1)]
        self.refused("token|sequence", self.gpt.forward, text, self.cache)
        self.refused("token|sequence", prefill, self.gpt, text, self.cache, step_size)
        self.refused("token", self.decoder.step, wrong)

    @invariant()
    def the_cache_counts_the_tokens_of_the_list(self):
        assert self.cache.offset == len(self.tokens)

    @invariant()
    def all_logits_are_those_of_a_full_pass(self):
        if self.logits:
            full = forward_uncached(self.gpt, self.tokens)
            self.assert_close(np.stack(list(self.logits.values())), full[list(self.logits)], 2e-14)


def test_whatever_the_order_of_calls_the_logits_are_those_of_the_tokens_in_the_cache(
    perturbed, cache_with, unchanged, assert_close
):
    models = [perturbed(config) for config in CONFIGS]
    run_state_machine_as_test(
        lambda: CacheMachine(models, cache_with, unchanged, assert_close), settings=SETTINGS
    )
