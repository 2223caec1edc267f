import errno
import math
import os
from dataclasses import replace

import numpy as np
import pytest

from model import GPTConfig
from model.autograd import Tensor
from model.train import AdamW, Training, TrainingPlan

CONFIG = GPTConfig(n_layer=1, n_head=2, n_embd=8, block_size=8, vocab_size=4)
PLAN = TrainingPlan(CONFIG, steps=12, batch_size=3, learning_rate=1e-2, warmup_steps=3)
RATES = TrainingPlan(CONFIG, steps=50, learning_rate=0.4, final_learning_rate=0.1, warmup_steps=10)

TRAIN = np.tile([0, 1, 2, 3, 2, 1], 30)
VAL = np.tile([0, 1, 2, 3, 2, 1], 5)


def run(training, steps):
    return [training.train_step() for _ in range(steps)]


def state(training):
    """All that a run has learned, in bytes."""
    arrays = {name: tensor.data for name, tensor in training.parameters.items()}
    moments = training.optimizer.first, training.optimizer.second
    return training.step, [{n: a.tobytes() for n, a in each.items()} for each in (arrays, *moments)]


def test_the_rate_rises_in_equal_steps_to_its_peak():
    assert [RATES.learning_rate_at(step) for step in range(10)] == pytest.approx(
        [0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4]
    )


def test_the_rate_falls_along_half_a_cosine_to_its_end():
    assert RATES.learning_rate_at(10) == pytest.approx(0.4)
    assert RATES.learning_rate_at(20) == pytest.approx(0.25 + 0.15 * math.cos(math.pi / 4))
    assert RATES.learning_rate_at(30) == pytest.approx(0.25)
    assert RATES.learning_rate_at(50) == pytest.approx(0.1)
    rates = [RATES.learning_rate_at(step) for step in range(10, 50)]
    assert rates == sorted(rates, reverse=True)


def test_a_run_without_warm_up_begins_at_the_peak():
    assert replace(RATES, warmup_steps=0).learning_rate_at(0) == pytest.approx(0.4)


def test_a_run_of_nothing_but_warm_up_has_its_rates():
    plan = replace(RATES, steps=10)
    assert plan.learning_rate_at(9) == pytest.approx(0.4)
    assert plan.learning_rate_at(10) == pytest.approx(0.4)


@pytest.mark.parametrize("scale", [0.01, 100.0], ids=["small gradients", "clipped gradients"])
def test_adamw_moves_every_number_as_its_formula_says(scale):
    beta1, beta2, decay = 0.8, 0.95, 0.3
    plan = TrainingPlan(
        CONFIG,
        steps=20,
        learning_rate=0.05,
        warmup_steps=2,
        weight_decay=decay,
        betas=(beta1, beta2),
        clip_norm=2.0,
    )
    rng = np.random.default_rng(0)
    start = {"matrix": rng.standard_normal((2, 3)), "vector": rng.standard_normal(3)}
    tensors = {name: Tensor(array.copy()) for name, array in start.items()}
    optimizer = AdamW(tensors, plan)
    # (parameter, first moment, second moment) of every single number
    numbers = {(n, i): (float(start[n][i]), 0.0, 0.0) for n in start for i in np.ndindex(start[n].shape)}
    for step in range(5):
        grads = {name: rng.standard_normal(array.shape) * scale for name, array in start.items()}
        for name, tensor in tensors.items():
            tensor.grad = grads[name].copy()
        norm = math.sqrt(sum(float(g) ** 2 for grad in grads.values() for g in grad.flat))
        assert (norm > plan.clip_norm) == (scale > 1)
        for (name, i), (p, first, second) in numbers.items():
            g = float(grads[name][i]) * min(1, plan.clip_norm / norm)
            first = beta1 * first + (1 - beta1) * g
            second = beta2 * second + (1 - beta2) * g * g
            unbiased = first / (1 - beta1 ** (step + 1)), second / (1 - beta2 ** (step + 1))
            p -= plan.learning_rate_at(step) * decay * p * (name == "matrix")
            p -= plan.learning_rate_at(step) * unbiased[0] / (math.sqrt(unbiased[1]) + 1e-8)
            numbers[name, i] = p, first, second
        optimizer.update(step)
        for (name, i), (p, _, _) in numbers.items():
            assert tensors[name].data[i] == pytest.approx(p, rel=1e-6)
        assert all(tensor.grad is None for tensor in tensors.values())


def test_the_loss_begins_at_that_of_guessing_and_falls():
    training = Training(replace(PLAN, steps=60, dropout=0.0), TRAIN, VAL)
    guessing = math.log(CONFIG.vocab_size)
    assert training.validation_loss() == pytest.approx(guessing, rel=0.1)
    losses = run(training, 60)
    assert losses[0] == pytest.approx(guessing, rel=0.1)
    assert losses[-1] < 0.5 * guessing
    assert training.validation_loss() < 0.5 * guessing


def test_the_validation_loss_is_that_of_consecutive_windows(perturbed, plain):
    training = Training(PLAN, TRAIN, VAL[:29])
    model = perturbed(CONFIG, "float32")
    for name, parameter in model.parameters.items():
        training.parameters[name].data[:] = parameter
    losses = []
    for start in (0, 8, 16):  # a fourth window would need 33 tokens
        window = VAL[start : start + 9].tolist()
        for logits, target in zip(plain(model).logits(window[:-1]), window[1:], strict=True):
            losses.append(math.log(sum(map(math.exp, logits))) - logits[target])
    assert training.validation_loss() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_validating_changes_nothing():
    training = Training(PLAN, TRAIN, VAL)
    run(training, 2)
    before = state(training)
    assert training.validation_loss() == training.validation_loss()
    assert state(training) == before


def test_a_run_is_decided_by_its_plan_and_its_text():
    runs = [Training(PLAN, TRAIN, VAL) for _ in range(2)]
    assert run(runs[0], 4) == run(runs[1], 4)
    assert state(runs[0]) == state(runs[1])
    other = Training(replace(PLAN, seed=1), TRAIN, VAL)
    assert run(other, 4) != run(Training(PLAN, TRAIN, VAL), 4)


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path, stop):
    whole = Training(PLAN, TRAIN, VAL)
    losses = run(whole, PLAN.steps)
    first = Training(PLAN, TRAIN, VAL)
    run(first, stop)
    first.save(tmp_path / "checkpoint")
    second = Training(PLAN, TRAIN, VAL)
    run(second, 2)
    second.resume(tmp_path / "checkpoint")
    assert state(second) == state(first)
    assert run(second, PLAN.steps - stop) == losses[stop:]
    assert state(second) == state(whole)
    assert second.validation_loss() == whole.validation_loss()


def swapped(tokens, i, j):
    tokens = tokens.copy()
    tokens[[i, j]] = tokens[[j, i]]
    return tokens


@pytest.mark.parametrize(
    ("changes", "train", "val"),
    [
        ({"seed": 2}, TRAIN, VAL),
        ({"learning_rate": 2e-2}, TRAIN, VAL),
        ({"steps": 13}, TRAIN, VAL),
        ({"dropout": 0.2}, TRAIN, VAL),
        ({"betas": (0.9, 0.999)}, TRAIN, VAL),
        ({"config": replace(CONFIG, n_layer=2)}, TRAIN, VAL),
        ({"config": replace(CONFIG, n_head=1)}, TRAIN, VAL),
        ({}, TRAIN[:-1], VAL),
        ({}, np.where(np.arange(len(TRAIN)) == 7, 3, TRAIN), VAL),
        ({}, swapped(TRAIN, 0, 1), VAL),
        ({}, TRAIN, swapped(VAL, 0, 1)),
        ({}, TRAIN, np.append(VAL, 0)),
    ],
    ids=[
        "seed", "rate", "steps", "dropout", "betas", "layers", "heads",
        "shorter text", "other text", "text in another order", "validation in another order",
        "longer validation",
    ],
)  # fmt: skip
def test_the_checkpoint_of_another_run_is_refused(tmp_path, changes, train, val):
    path = tmp_path / "checkpoint"
    other = Training(PLAN, TRAIN, VAL)
    run(other, 1)
    other.save(path)
    training = Training(replace(PLAN, **changes), train, val)
    before = state(training)
    with pytest.raises(ValueError, match="checkpoint is of a run with other options or another text"):
        training.resume(path)
    assert state(training) == before


def test_a_broken_checkpoint_is_refused_and_named(tmp_path):
    path = tmp_path / "checkpoint"
    training = Training(PLAN, TRAIN, VAL)
    training.save(path)
    path.write_bytes(path.read_bytes()[:-1])
    before = state(training)
    with pytest.raises(ValueError, match="checkpoint"):
        training.resume(path)
    assert state(training) == before


def test_a_missing_checkpoint_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="checkpoint"):
        Training(PLAN, TRAIN, VAL).resume(tmp_path / "checkpoint")


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    training = Training(PLAN, TRAIN, VAL)

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="no space"):
            training.save(path)
    assert list(tmp_path.iterdir()) == []
    training.save(path)
    before = path.read_bytes()
    run(training, 1)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        training.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]
    assert path.read_bytes() == before


def test_a_batch_may_reach_the_last_token_of_the_text_and_no_further():
    shortest = TRAIN[: CONFIG.block_size + 1]
    assert all(map(math.isfinite, run(Training(PLAN, shortest, VAL), 2)))


def test_parameters_and_moments_stay_float32():
    training = Training(PLAN, TRAIN, VAL)
    run(training, 2)
    moments = [*training.optimizer.first.values(), *training.optimizer.second.values()]
    arrays = [*moments, *(tensor.data for tensor in training.parameters.values())]
    assert {array.dtype for array in arrays} == {np.dtype("float32")}
