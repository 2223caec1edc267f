from contextlib import contextmanager
from itertools import islice

import numpy as np
import pytest

from model import GPT, CacheOverflow, Decoder, KVCache
from model.comparison import TOLERANCES
from model.experiments import exactness as module
from model.experiments.exactness import exactness

GENERATED = ["greedy text, past the limit too", "sampled text, past the limit too"]
# Caches that had something else to do, from the end of a prompt of half the text on.
USED = [
    "NaN in the room to spare",
    "tokens of another text taken back",
    "another text before, and a reset",
    "two texts side by side",
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_sound_engine_passes_every_check(gpt, dtype, perturbed):
    checks = list(exactness(perturbed(gpt.config, dtype)))
    assert [check.name for check in checks if not check.passed] == []
    for check in checks:
        assert 0 <= check.max_abs_diff <= TOLERANCES[dtype] * check.max_abs_logit
        assert check.max_abs_logit > 0.1


def test_every_path_is_held_against_the_full_pass_as_many_steps_as_it_says(odd_gpt):
    steps = {check.name: check.steps for check in exactness(odd_gpt)}
    whole = ["autograd engine", "forward token by token", "decoding at every step"]
    whole += [f"uncached, {rows} rows at a time" for rows in (1, 48, 128)]
    assert {name: steps.pop(name) for name in whole} == dict.fromkeys(whole, 16)
    assert {name: steps.pop(name) for name in GENERATED} == dict.fromkeys(GENERATED, 16 + 50)
    assert {name: steps.pop(name) for name in USED} == dict.fromkeys(USED, 16 - 7)
    assert steps.pop("overflow refused, cache untouched") == 3
    assert {name: n for name, n in steps.items() if name.startswith("prefill ")} == steps
    assert set(steps.values()) == {1}


def test_the_same_seed_gives_the_same_figures(odd_gpt):
    same, again, other = (list(islice(exactness(odd_gpt, seed), 6)) for seed in (3, 3, 4))
    assert same == again
    assert same != other


ORIGINAL_RUN, ORIGINAL_APPEND, ORIGINAL_STEP = GPT.run, KVCache.append, Decoder.step
ORIGINAL_ROOM = KVCache.require_room


def restart_positions(self, tokens, positions, attend):
    return ORIGINAL_RUN(self, tokens, positions * (len(tokens) > 1), attend)


def forget_the_oldest(self, layer, k, v):
    keys, values = ORIGINAL_APPEND(self, layer, k, v)
    return (keys[:, 1:], values[:, 1:]) if self.offset else (keys, values)


def mix_up_keys_and_values(self, layer, k, v):
    return ORIGINAL_APPEND(self, layer, v, k)


def store_a_little_more(self, layer, k, v):
    return ORIGINAL_APPEND(self, layer, k * (1 + 1e-9), v)


def step_a_little_off(self, token):
    return ORIGINAL_STEP(self, token) * (1 + 1e-9)


def step_to_nan(self, token):
    return ORIGINAL_STEP(self, token) * np.nan


def step_without_refusing(self, token):
    full = self.cache.offset == self.cache.max_seq_len
    return np.zeros(self.gpt.config.vocab_size) if full else ORIGINAL_STEP(self, token)


def never_refuse(self, n):
    pass


def scribble_before_refusing(self, n):
    if self.offset + n > self.max_seq_len:
        self.values[0, 0, 0, 0] += 1
    ORIGINAL_ROOM(self, n)


def move_on_before_refusing(self, n):
    try:
        ORIGINAL_ROOM(self, n)
    except CacheOverflow:
        self.offset += 1
        raise


@pytest.mark.parametrize(
    ("owner", "name", "fault", "failing"),
    [
        (GPT, "run", restart_positions, "forward token by token"),
        (KVCache, "append", forget_the_oldest, "prefill in chunks of 3"),
        (KVCache, "append", mix_up_keys_and_values, "prefill in one go"),
        (KVCache, "append", store_a_little_more, "forward token by token"),
        (Decoder, "step", step_a_little_off, "decoding at every step"),
        (Decoder, "step", step_to_nan, "decoding at every step"),
        (KVCache, "require_room", scribble_before_refusing, "overflow refused, cache untouched"),
        (KVCache, "require_room", move_on_before_refusing, "overflow refused, cache untouched"),
        (Decoder, "step", step_without_refusing, "overflow refused, cache untouched"),
        (KVCache, "require_room", never_refuse, "overflow refused, cache untouched"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_broken_engine_fails_its_check(odd_gpt, monkeypatch, owner, name, fault, failing):
    monkeypatch.setattr(owner, name, fault)
    for check in exactness(odd_gpt):
        if check.name == failing:
            assert not check.passed
            break
    else:
        pytest.fail(f"there is no check {failing!r}")


def test_what_a_path_is_held_against_is_computed_outside_of_what_it_is_walked_in(odd_gpt, monkeypatch):
    @contextmanager
    def every_pass_off():
        with monkeypatch.context() as patch:
            patch.setattr(GPT, "run", lambda *args: ORIGINAL_RUN(*args) + 1)
            yield
        assert GPT.run is ORIGINAL_RUN

    # Of these paths no logits come from `GPT.run`.
    spared = ["autograd engine", "decoding at every step", "tokens of another text taken back"]
    spared += ["overflow refused, cache untouched"]
    assert [check.name for check in exactness(odd_gpt, during=every_pass_off) if check.passed] == spared
    assert [check.name for check in exactness(odd_gpt) if not check.passed] == []


def test_a_path_that_refuses_what_there_is_room_for_fails(odd_gpt, monkeypatch):
    def room_for_five(cache, n):
        ORIGINAL_ROOM(cache, n + cache.max_seq_len - 5)

    @contextmanager
    def little_room():
        with monkeypatch.context() as patch:
            patch.setattr(KVCache, "require_room", room_for_five)
            yield

    checks = {check.name: check for check in exactness(odd_gpt, during=little_room)}
    assert not checks["decoding at every step"].passed
    assert np.isnan(checks["decoding at every step"].max_abs_diff)
    assert checks["autograd engine"].passed


def test_a_slow_path_that_is_off_fails_too(odd_gpt, monkeypatch):
    autograd_logits = module.autograd_logits

    def nan_at_the_end(*args):
        out = autograd_logits(*args)
        out.data[-1, -1] = np.nan
        return out

    monkeypatch.setattr(module, "autograd_logits", nan_at_the_end)
    check = next(exactness(odd_gpt))
    assert check.name == "autograd engine"
    assert not check.passed


def test_texts_that_differ_fail_even_where_the_logits_agree(odd_gpt, monkeypatch):
    generate = module.generate

    def other_tokens(model, prompt, n, sampler):
        for step in generate(model, prompt, n, sampler):
            if isinstance(model, module.Recompute):
                yield type(step)(**(vars(step) | {"token": step.token + 1}))
            else:
                yield step

    monkeypatch.setattr(module, "generate", other_tokens)
    failed = [check.name for check in exactness(odd_gpt) if not check.passed]
    assert failed == GENERATED
