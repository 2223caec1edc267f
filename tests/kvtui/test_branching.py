"""Another character is taken: the cache is trimmed, not rebuilt, and what follows is as in a fresh run."""

import random

import numpy as np
import pytest

from kvtui.session import Session
from model import GPTConfig
from model.limit import Recompute
from model.tokenizer import CharTokenizer

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
CHARACTERS = "abcdefgh [\n"


@pytest.fixture
def session(perturbed):
    return Session(perturbed(CONFIG), CharTokenizer(CHARACTERS), "abc")


def check_as_fresh(session, gpt):
    """Cache and logits are those of the engine that takes in this text alone."""
    fresh, text = Recompute(gpt), session._text
    logits = fresh.start(text[:3])
    for n in range(4, len(text) + 1):
        logits = fresh.step(text[:n])
    cache, stored = session._real.cache, fresh.cache.offset
    assert cache.offset == stored
    assert np.array_equal(session._logits, logits)
    assert np.array_equal(cache.keys[:, :, :stored], fresh.cache.keys[:, :, :stored])
    assert np.array_equal(cache.values[:, :, :stored], fresh.cache.values[:, :, :stored])


@pytest.mark.parametrize("seed", range(5))
def test_a_branch_equals_a_fresh_run(session, perturbed, seed):
    choose = random.Random(seed)
    for _ in range(40):
        move = choose.random()
        if move < 0.35:
            session.back()
        else:
            session.step(choose.randrange(5) if move < 0.7 else None)
        check_as_fresh(session, perturbed(CONFIG))


def test_within_the_window_the_cache_is_trimmed_and_not_rebuilt(session, monkeypatch):
    for _ in range(6):
        session.step()
    written = []
    append_one = type(session._real.decoder).step
    monkeypatch.setattr(
        type(session._real.decoder),
        "step",
        lambda decoder, token: written.append(decoder.cache.offset) or append_one(decoder, token),
    )
    monkeypatch.setattr(Recompute, "start", lambda *_: pytest.fail("the cache was filled anew"))
    monkeypatch.setattr("kvtui.rehearsal.REHEARSAL_SECONDS", 0)
    for _ in range(3):
        session.back()
    session.step(1)
    assert set(written) <= {5, 6, 7, 8}, "no entry of those before the branch was written again"


def test_a_candidate_is_taken_by_its_rank(session):
    for rank in (4, 0, 2):
        taken = session.snapshot().candidates[rank].character
        session.step(rank)
        assert session.snapshot().generated[-1] == taken
