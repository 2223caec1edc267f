"""Training a GPT on the characters of a text: AdamW, warm-up and cosine, checkpoints.

The data of step i are drawn by a generator seeded with (seed, i), so a run that resumes from a
checkpoint does exactly what an uninterrupted one does: parameters, moments and the step number are
its whole state.
"""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from model.autograd import Tensor, cross_entropy
from model.autograd_gpt import Dropout, autograd_logits
from model.config import GPTConfig
from model.files import write_safetensors
from model.weights import random_parameters

CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class TrainingPlan:
    """Everything, beside the text, that decides what a training run results in."""

    config: GPTConfig
    steps: int = 5000
    batch_size: int = 32  # sequences of block_size tokens in a step
    learning_rate: float = 2e-3  # at its peak, after the warm-up
    final_learning_rate: float = 2e-4
    warmup_steps: int = 100
    weight_decay: float = 0.1  # on matrices; vectors (biases, layer-norm gains) have none
    dropout: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)
    clip_norm: float = 1.0
    seed: int = 1337

    def learning_rate_at(self, step: int) -> float:
        """Linear warm-up, then half a cosine down to the final rate; steps count from 0."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        return float(self.final_learning_rate + cosine * (self.learning_rate - self.final_learning_rate))


class AdamW:
    """Adam with decoupled weight decay, Loshchilov & Hutter 2019."""

    def __init__(self, parameters: dict[str, Tensor], plan: TrainingPlan) -> None:
        self.parameters, self.plan = parameters, plan
        self.first = {name: np.zeros_like(p.data) for name, p in parameters.items()}
        self.second = {name: np.zeros_like(p.data) for name, p in parameters.items()}

    def update(self, step: int) -> None:
        """Move every parameter by its gradient, and clear the gradients; steps count from 0."""
        beta1, beta2 = self.plan.betas
        rate = self.plan.learning_rate_at(step)
        shrink = self._clip_factor()
        for name, parameter in self.parameters.items():
            assert parameter.grad is not None
            grad = parameter.grad * parameter.grad.dtype.type(shrink)
            first, second = self.first[name], self.second[name]
            first += (1 - beta1) * (grad - first)
            second += (1 - beta2) * (grad * grad - second)
            direction = (first / (1 - beta1 ** (step + 1))) / (
                np.sqrt(second / (1 - beta2 ** (step + 1))) + 1e-8
            )
            if parameter.data.ndim == 2:
                direction += self.plan.weight_decay * parameter.data
            parameter.data -= rate * direction
            parameter.grad = None

    def _clip_factor(self) -> float:
        """What scales the whole gradient down to at most `clip_norm`."""
        grads = [p.grad for p in self.parameters.values() if p.grad is not None]
        squares = sum(float((g * g).sum()) for g in grads)
        return min(1.0, self.plan.clip_norm / (math.sqrt(squares) + 1e-6))


@dataclass
class Training:
    """A run in progress: the plan, the two parts of the text, and what has been learned so far."""

    plan: TrainingPlan
    train_tokens: np.ndarray
    val_tokens: np.ndarray
    step: int = 0  # steps done
    optimizer: AdamW = field(init=False)

    def __post_init__(self) -> None:
        parameters = random_parameters(self.plan.config, self.plan.seed, np.dtype(np.float32))
        self.optimizer = AdamW({name: Tensor(p) for name, p in parameters.items()}, self.plan)

    @property
    def parameters(self) -> dict[str, Tensor]:
        return self.optimizer.parameters

    def train_step(self) -> float:
        """One batch forward, back, and into the parameters. Returns its loss in nats per token."""
        plan, T = self.plan, self.plan.config.block_size
        # SFC64 is the fastest of NumPy's generators, and dropout draws millions of numbers a step.
        rng = np.random.Generator(np.random.SFC64([plan.seed, self.step]))
        starts = rng.integers(0, len(self.train_tokens) - T, plan.batch_size)
        windows = self.train_tokens[starts[:, None] + np.arange(T + 1)]
        dropout = Dropout(plan.dropout, rng) if plan.dropout else None
        loss = self._loss(windows, dropout)
        loss.backward()
        self.optimizer.update(self.step)
        self.step += 1
        return float(loss.data)

    def validation_loss(self) -> float:
        """Mean loss over the validation text in consecutive windows of block_size, in nats."""
        T = self.plan.config.block_size
        count = (len(self.val_tokens) - 1) // T
        windows = self.val_tokens[np.arange(count)[:, None] * T + np.arange(T + 1)]
        total = 0.0
        for start in range(0, count, self.plan.batch_size):
            batch = windows[start : start + self.plan.batch_size]
            total += float(self._loss(batch, None).data) * len(batch)
        return total / count

    def _loss(self, windows: np.ndarray, dropout: Dropout | None) -> Tensor:
        """Of sequences (B, T + 1), each token but the first being predicted from those before."""
        logits = autograd_logits(self.plan.config, self.parameters, windows[:, :-1], dropout)
        return cross_entropy(logits, windows[:, 1:].reshape(-1))

    def save(self, path: Path) -> None:
        """Write a checkpoint: whole or not at all."""
        arrays = {}
        for name, parameter in self.parameters.items():
            arrays["parameter." + name] = parameter.data
            arrays["first." + name] = self.optimizer.first[name]
            arrays["second." + name] = self.optimizer.second[name]
        metadata = {"step": str(self.step), "run": self._fingerprint()}
        write_safetensors(path, arrays, metadata)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint. Raises ValueError if it is of another plan or text, or broken."""
        try:
            with safe_open(path, framework="np") as file:
                metadata = file.metadata() or {}
                if metadata.get("run") != self._fingerprint():
                    raise ValueError(
                        f"{path} is of a run with other options or another text; "
                        "repeat the command that began it, or delete it to begin anew"
                    )
                for name, parameter in self.parameters.items():
                    parameter.data[:] = file.get_tensor("parameter." + name)
                    self.optimizer.first[name][:] = file.get_tensor("first." + name)
                    self.optimizer.second[name][:] = file.get_tensor("second." + name)
                self.step = int(metadata["step"])
        except SafetensorError as error:
            raise ValueError(
                f"{path} is not a whole checkpoint ({error}); delete it to begin anew"
            ) from None

    def _fingerprint(self) -> str:
        """Names the run that a checkpoint belongs to: its plan and its text."""
        texts = (self.train_tokens, self.val_tokens)
        digests = [hashlib.sha256(t.astype("<i8").tobytes()).hexdigest() for t in texts]
        return json.dumps({**asdict(self.plan), "texts": digests})
