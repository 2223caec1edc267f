"""How a training run is getting on, told on standard error: as lines, or as a bar on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from kvtui.output import say
from model.train import TrainingPlan

LINE_EVERY = 100  # steps
SMOOTHING = 0.98  # share of the past in a smoothed figure: about the last 50 steps


class TrainingReport:
    """Keeps the figures of a run, and says them in a line every 100 steps."""

    def __init__(self, plan: TrainingPlan, done: int) -> None:
        self.plan, self.done = plan, done
        self.loss: float | None = None  # smoothed
        self.step_seconds: float | None = None  # smoothed
        self.validation_loss: float | None = None

    def stepped(self, loss: float, seconds: float) -> None:
        self.done += 1
        self.loss = _smoothed(self.loss, loss)
        self.step_seconds = _smoothed(self.step_seconds, seconds)
        self.show()

    def validated(self, loss: float) -> None:
        self.validation_loss = loss

    def show(self) -> None:
        if self.done % LINE_EVERY == 0 or self.done == self.plan.steps:
            say(f"step {self.done:,} of {self.plan.steps:,} · {self.figures()}")

    def figures(self) -> str:
        parts = []
        if self.loss is not None:
            parts.append(f"loss {self.loss:.3f}")
        if self.validation_loss is not None:
            parts.append(f"validation {self.validation_loss:.3f}")
        if self.step_seconds:
            tokens = self.plan.batch_size * self.plan.config.block_size
            parts.append(f"{tokens / self.step_seconds:,.0f} tokens/s")
            parts.append(f"{_clock(self.step_seconds * (self.plan.steps - self.done))} left")
        return " · ".join(parts)


class _Bar(TrainingReport):
    """The same figures behind a bar."""

    def __init__(self, plan: TrainingPlan, done: int, progress: Progress) -> None:
        super().__init__(plan, done)
        self.progress = progress
        self.task = progress.add_task("", total=plan.steps, completed=done)

    def show(self) -> None:
        self.progress.update(self.task, completed=self.done, description=self.figures())


@contextmanager
def training_report(plan: TrainingPlan, done: int) -> Iterator[TrainingReport]:
    """A report of the kind that standard error is made for, on a run of which `done` steps are done."""
    if not sys.stderr.isatty():
        yield TrainingReport(plan, done)
        return
    columns = (BarColumn(None), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), expand=True) as progress:
        yield _Bar(plan, done, progress)


def _smoothed(past: float | None, new: float) -> float:
    return new if past is None else SMOOTHING * past + (1 - SMOOTHING) * new


def _clock(seconds: float) -> str:
    """1:02:03, or 2:03 below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
