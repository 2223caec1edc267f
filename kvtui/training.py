"""A training run: begun or gone on with, kept in checkpoints, stopped by Ctrl-C between two steps."""

import math
import time
from pathlib import Path

import numpy as np

from kvtui.errors import CommandError
from kvtui.interrupts import interrupts_held_back
from kvtui.output import say
from kvtui.training_report import TrainingReport, training_report
from model.train import Training


def train_to_end(training: Training, checkpoint: Path, checkpoint_every: int, validate_every: int) -> float:
    """Do the steps that are left, and return the validation loss in nats per token.

    Ctrl-C leaves a checkpoint of the steps that are done, from which another call goes on.
    """
    _begin(training, checkpoint)
    try:
        with np.errstate(all="ignore"):  # what overflows ends as a loss that is no number; that is said
            _do_steps(training, checkpoint, checkpoint_every, validate_every)
            say("validating")
            return _finite(training.validation_loss())
    except KeyboardInterrupt:
        training.save(checkpoint)
        raise KeyboardInterrupt(
            f"stopped after {training.step:,} of {training.plan.steps:,} steps; "
            "run the same command again to go on"
        ) from None


def _begin(training: Training, checkpoint: Path) -> None:
    """Go on from a checkpoint, or write a first one: whether it can be written shows at once."""
    if not checkpoint.exists():
        training.save(checkpoint)
        return
    try:
        training.resume(checkpoint)
    except ValueError as error:
        raise CommandError(str(error)) from None
    say(f"going on after step {training.step:,}, from {checkpoint}")


def _do_steps(training: Training, checkpoint: Path, checkpoint_every: int, validate_every: int) -> None:
    steps = training.plan.steps
    with training_report(training.plan, training.step) as report:
        while training.step < steps:
            _step(training, report)
            if training.step % checkpoint_every == 0 or training.step == steps:
                training.save(checkpoint)
            if training.step % validate_every == 0 and training.step < steps:
                report.validated(training.validation_loss())


def _step(training: Training, report: TrainingReport) -> None:
    begin = time.perf_counter()
    with interrupts_held_back():  # parameters updated in part would make a checkpoint of no step at all
        loss = training.train_step()
    report.stepped(_finite(loss), time.perf_counter() - begin)


def _finite(loss: float) -> float:
    if not math.isfinite(loss):
        raise CommandError(f"the loss is {loss}; delete the checkpoint and try a lower --learning-rate")
    return loss
