import math

import numpy as np
import pytest

from model.experiments.slide import slide

LIMIT = 16


def plain_slide(model, prompt, steps):
    """The experiment by its definition: the window recomputed, and a naive cache of Python lists."""
    text = list(prompt)[-LIMIT:]
    while len(text) < LIMIT:
        text.append(int(np.argmax(model.logits(text)[-1])))
    memory = model.new_memory()
    for position, token in enumerate(text):
        model.step(token, position, memory)
    found = []
    for _ in range(steps):
        text.append(int(np.argmax(model.logits(text[-LIMIT:])[-1])))
        for keys, values in memory:
            del keys[0], values[0]
        naive = model.step(text[-1], LIMIT - 1, memory)
        real = model.logits(text[-LIMIT:])[-1]
        P, Q = ([math.exp(u) / sum(map(math.exp, logits)) for u in logits] for logits in (real, naive))
        kl = sum(p * math.log(p / q) for p, q in zip(P, Q, strict=True))
        found.append((len(text), int(np.argmax(real)), int(np.argmax(naive)), kl))
    return found


@pytest.mark.parametrize("length", [5, 16, 23])
def test_it_is_the_naive_slide_beside_the_recomputed_window_on_one_text(gpt, length, plain, text_of):
    prompt = text_of(gpt.config, length)
    found = list(slide(gpt, prompt, steps=6))
    expected = plain_slide(plain(gpt), prompt, 6)
    assert [(c.position, c.real, c.other) for c in found] == [row[:3] for row in expected]
    assert [c.kl for c in found] == pytest.approx([row[3] for row in expected], rel=1e-9)
    assert [c.position for c in found] == list(range(LIMIT + 1, LIMIT + 7))


def test_two_models_that_differ_are_seen_to_differ(gpt, text_of):
    assert all(comparison.kl > 1e-6 for comparison in slide(gpt, text_of(gpt.config, 3), steps=20))


def test_the_prompt_may_be_any_sequence_and_does_not_grow(gpt):
    prompt = [1, 2, 3]
    assert list(slide(gpt, prompt, 2)) == list(slide(gpt, (1, 2, 3), 2))
    assert prompt == [1, 2, 3]


def test_no_steps_may_be_asked_for(gpt):
    assert list(slide(gpt, [1], 0)) == []


def test_less_than_no_steps_are_refused(odd_gpt):
    with pytest.raises(ValueError, match="steps must be at least 0, not -1"):
        list(slide(odd_gpt, [1], -1))


def test_an_empty_prompt_is_refused(odd_gpt):
    with pytest.raises(ValueError, match="at least one id"):
        list(slide(odd_gpt, [], 3))
