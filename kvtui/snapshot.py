"""What the screen shows: one immutable value that the session makes and the panels read."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from model.comparison import Comparison


@dataclass(frozen=True, slots=True)
class ModelFacts:
    name: str
    n_layer: int
    n_head: int
    head_dim: int
    block_size: int
    dtype: str
    nbytes: int  # of the parameters
    bytes_per_token: int  # in the cache
    blas_threads: int | None  # None where the BLAS does not tell


class BaselineMode(Enum):
    """What is measured at every step beside the model: nothing, or a full forward pass."""

    OFF = "off"
    BLOCKED = "128 rows at a time"
    ALL = "all scores at once"

    @property
    def block_rows(self) -> int | None:
        """As `forward_uncached` takes it."""
        return 128 if self is BaselineMode.BLOCKED else None

    @property
    def next(self) -> "BaselineMode":
        modes = list(BaselineMode)
        return modes[(modes.index(self) + 1) % len(modes)]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The full forward pass over the same window, and how far the shown logits are from its own."""

    mode: BaselineMode
    seconds: float
    max_abs_diff: float
    max_abs_logit: float


@dataclass(frozen=True, slots=True)
class Step:
    """One character taken in by the real model."""

    position: int  # characters in the text, this one included
    seconds: float  # the model's own work
    recomputed: bool  # past the limit: the whole window, instead of one position
    baseline: Baseline | None


@dataclass(frozen=True, slots=True)
class Candidate:
    character: str
    probability: float
    chosen: bool


@dataclass(frozen=True, slots=True, eq=False)
class CacheContent:
    """Norms of the stored vectors, (n_layer, offset): one key and one value per layer and position."""

    keys: np.ndarray
    values: np.ndarray

    @property
    def stored(self) -> int:
        return int(self.keys.shape[1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CacheContent):
            return NotImplemented
        return np.array_equal(self.keys, other.keys) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class NaiveState:
    """The naive slide, once the text is longer than the window: its cache and its predictions."""

    slides: int  # entries dropped so far
    cache: CacheContent
    candidates: tuple[Candidate, ...]
    comparisons: tuple[Comparison, ...]  # of every step past the limit
    step_seconds: tuple[float, ...]  # measured: the naive model's own work in these steps

    @property
    def agreed(self) -> int:
        return sum(c.agree for c in self.comparisons)

    @property
    def mean_kl(self) -> float:
        return sum(c.kl for c in self.comparisons) / len(self.comparisons)

    @property
    def first_difference(self) -> int | None:
        return next((c.position for c in self.comparisons if not c.agree), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    model: ModelFacts
    prompt: str
    generated: str
    candidates: tuple[Candidate, ...]  # of the real model, most likely first
    cache: CacheContent  # of the real model
    window_full_at: int  # length of the text at which the next character no longer fits
    naive: NaiveState | None  # None until the text is longer than that
    went_back: bool  # the last action undid a step
    baseline_mode: BaselineMode
    # Measured:
    prefill_seconds: float
    baseline: Baseline | None  # of this step
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        return self.prompt + self.generated

    @property
    def length(self) -> int:
        """Characters in the text."""
        return len(self.prompt) + len(self.generated)

    def step_seconds(self, recomputed: bool) -> list[float]:
        """What the cached steps took, or those that recomputed the window."""
        return [step.seconds for step in self.steps if step.recomputed is recomputed]

    @property
    def visible(self) -> int:
        """Characters at the end of the text that the model sees."""
        return min(self.length, self.model.block_size)

    @property
    def past_limit(self) -> bool:
        return self.length > self.window_full_at
