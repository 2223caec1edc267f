"""What the screen shows: one immutable value that the session makes and the panels read."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar, overload

import numpy as np

from kvtui.faulty import FaultyState
from kvtui.inspecting import Inspection
from model.comparison import Comparison
from model.experiments.anatomy import PAIRS
from model.limit import POLICIES

Item = TypeVar("Item")


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
    taken: bool  # the character was the user's choice, not the model's
    recomputed: bool  # past the limit: the whole window, instead of one position
    baseline: Baseline | None


# A row of each: what was measured at one step of the real model, and at one of a policy beside it. Single
# precision is enough for what is only shown, and a long run is small.
STEP = np.dtype(
    [
        ("seconds", "f8"), ("bits", "f4"), ("taken", "?"),
        ("mode", "u1"), ("baseline", "f8"), ("max_abs_diff", "f8"), ("max_abs_logit", "f8"),
    ]
)  # fmt: skip
COMPARISON = np.dtype([("real", "i4"), ("other", "i4"), ("kl", "f4"), ("bits", "f4"), ("seconds", "f4")])
# The length of the text, and KL and agreement of each pair of models in model.experiments.anatomy.
ANATOMY = np.dtype(
    [("length", "i4"), *((f"{pair}_{what}", "f4") for pair in PAIRS for what in ("kl", "agree"))]
)


class Rows(Sequence[Item]):
    """A sequence of values that are kept as rows of a table, and made when one is asked for."""

    def __init__(self, rows: np.ndarray, first: int = 0) -> None:
        """Where there is a row for every step, the first made the text `first` characters long."""
        self.rows, self._first = rows, first

    @abstractmethod
    def item(self, i: int) -> Item: ...

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, i: int) -> Item: ...
    @overload
    def __getitem__(self, i: slice) -> list[Item]: ...
    def __getitem__(self, i: int | slice) -> Item | list[Item]:
        if isinstance(i, slice):
            return [self.item(j) for j in range(*i.indices(len(self)))]
        return self.item(range(len(self))[i])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        return self._first == other._first and self.rows.tobytes() == other.rows.tobytes()

    __hash__ = None  # type: ignore[assignment]


class Steps(Rows[Step]):
    """The steps of the real model."""

    def __init__(self, rows: np.ndarray, first: int, window_full_at: int) -> None:
        super().__init__(rows, first)
        self._window_full_at = window_full_at

    @staticmethod
    def row(seconds: float, bits: float, taken: bool, baseline: Baseline | None) -> tuple[float, ...]:
        """The fields of STEP; `bits` is the surprise of the character that was appended."""
        if baseline is None:
            return seconds, bits, taken, 0, 0.0, 0.0, 0.0
        mode = list(BaselineMode).index(baseline.mode)
        return seconds, bits, taken, mode, baseline.seconds, baseline.max_abs_diff, baseline.max_abs_logit

    def item(self, i: int) -> Step:
        seconds, _, taken, mode, baseline, diff, logit = self.rows[i].item()
        measured = Baseline(list(BaselineMode)[mode], baseline, diff, logit) if mode else None
        return Step(self._first + i, seconds, taken, i >= self.cached, measured)

    @property
    def cached(self) -> int:
        """How many of them went through the cache: those before the window was full."""
        return min(len(self), self._window_full_at + 1 - self._first)

    @property
    def bits(self) -> np.ndarray:
        """-log2 p of each character that was appended, as the model predicted it."""
        return self.rows["bits"]

    def seconds(self, recomputed: bool) -> np.ndarray:
        """What the cached steps took, or those that recomputed the window."""
        seconds: np.ndarray = self.rows["seconds"]
        return seconds[self.cached :] if recomputed else seconds[: self.cached]


class Comparisons(Rows[Comparison]):
    """A policy's predictions beside the real model's."""

    def item(self, i: int) -> Comparison:
        real, other, kl, *_ = self.rows[i].item()
        return Comparison(self._first + i, real, other, kl)

    @property
    def seconds(self) -> np.ndarray:
        """Measured: the policy's own work in each step."""
        return self.rows["seconds"]

    @property
    def bits(self) -> np.ndarray:
        """-log2 p of each character that was appended; NaN for the first, which all predicted alike."""
        return self.rows["bits"]

    @property
    def agreed(self) -> int:
        return int((self.rows["real"] == self.rows["other"]).sum())

    @property
    def mean_kl(self) -> float:
        return float(self.rows["kl"].mean())

    @property
    def max_kl(self) -> float:
        return float(self.rows["kl"].max())

    @property
    def first_difference(self) -> int | None:
        differing = np.flatnonzero(self.rows["real"] != self.rows["other"])
        return self._first + int(differing[0]) if len(differing) else None


class Anatomies(Rows[tuple[float, ...]]):
    """What is wrong with the naive slide, at the steps past the limit at which somebody looked."""

    def item(self, i: int) -> tuple[float, ...]:
        fields: tuple[float, ...] = self.rows[i].item()
        return fields


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
    positions: np.ndarray  # (offset,), those that the entries were computed at

    @property
    def stored(self) -> int:
        return int(self.keys.shape[1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CacheContent):
            return NotImplemented
        names = ("keys", "values", "positions")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class PolicyState:
    """A limit policy beside the real model, once the text is longer than the window."""

    name: str
    cache: CacheContent
    candidates: tuple[Candidate, ...]
    comparisons: Comparisons  # of every step past the limit


@dataclass(frozen=True, slots=True)
class Snapshot:
    model: ModelFacts
    prompt: str
    generated: str
    candidates: tuple[Candidate, ...]  # of the real model, most likely first
    cache: CacheContent  # of the real model
    window_full_at: int  # length of the text at which the next character no longer fits
    beside: tuple[PolicyState, ...]  # the other policies, once the text is longer than that
    went_back: bool  # the last action undid a step
    inspection: Inspection | None  # of a cache, where one is looked into
    anatomy: Anatomies
    faulty: FaultyState | None  # the run with a fault, where there is one
    baseline_mode: BaselineMode
    # Measured:
    prefill_seconds: float
    baseline: Baseline | None  # of this step
    steps: Steps

    @property
    def text(self) -> str:
        return self.prompt + self.generated

    @property
    def length(self) -> int:
        """Characters in the text."""
        return len(self.prompt) + len(self.generated)

    @property
    def slides(self) -> int:
        """Characters past the limit: how often a policy made room."""
        return max(0, self.length - self.window_full_at)

    @property
    def ended(self) -> set[str]:
        """The policies whose text has ended."""
        return {policy.name for policy in POLICIES if not policy.goes_on} if self.past_limit else set()

    def policy(self, name: str) -> PolicyState | None:
        return next((state for state in self.beside if state.name == name), None)

    @property
    def visible(self) -> int:
        """Characters at the end of the text that the model sees."""
        return min(self.length, self.model.block_size)

    @property
    def past_limit(self) -> bool:
        return self.length > self.window_full_at
