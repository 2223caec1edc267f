"""A run that can be stepped both ways: the real model, and past the limit other policies beside it.

Nothing here knows a terminal. The state is the text; everything else follows from it, so that going
back is exact: the cache is trimmed, or filled again the way that it was filled the first time.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from kvtui.beside import Beside
from kvtui.faulty import FaultyRun, FaultyState
from kvtui.inspecting import Cursor, Inspection, inspect
from kvtui.machine import blas_threads_in_use
from kvtui.records import Records
from kvtui.rehearsal import Rehearsal, warm_up
from kvtui.snapshot import (
    ANATOMY,
    STEP,
    Anatomies,
    Baseline,
    BaselineMode,
    CacheContent,
    Candidate,
    ModelFacts,
    PolicyState,
    Snapshot,
    Steps,
)
from model.comparison import bits_per_character
from model.experiments.anatomy import PAIRS, take_apart
from model.gpt import GPT
from model.limit import POLICIES, LimitPolicy, NaiveSlide, Recompute
from model.ops import softmax
from model.sampling import Sampler, greedy
from model.tokenizer import CharTokenizer
from model.uncached import forward_uncached

if TYPE_CHECKING:  # the first picture need not wait for it
    from model.faults import Fault

CANDIDATES = 20  # most likely characters in a snapshot


class Session:
    """Steps a text forward and back, and says what there is to see. Not thread-safe.

    `clock` gives seconds; only the model's own work lies between two readings.
    """

    def __init__(
        self,
        gpt: GPT,
        tokenizer: CharTokenizer,
        prompt: str,
        name: str = "model",
        sampler: Sampler = greedy,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.gpt, self.tokenizer, self.sampler, self.clock = gpt, tokenizer, sampler, clock
        self.baseline_mode = BaselineMode.OFF
        self._warmed_up: set[BaselineMode] = set()
        self._real = Recompute(gpt)
        self._naive = NaiveSlide(gpt)
        others = [policy(gpt) for policy in POLICIES if policy not in (Recompute, NaiveSlide)]
        self._beside = [Beside(policy, clock) for policy in (self._naive, *others) if policy.goes_on]
        config = gpt.config
        self.facts = ModelFacts(
            name,
            config.n_layer,
            config.n_head,
            config.head_dim,
            config.block_size,
            str(gpt.dtype),
            gpt.nbytes,
            self._real.cache.bytes_per_token,
            blas_threads_in_use(),
        )
        self._baseline: Baseline | None = None
        self._cursor: Cursor | None = None
        self._anatomy_watched = False
        self._faulty: FaultyRun | None = None
        warm_up(self.gpt)
        self.begin(prompt)

    def begin(self, prompt: str) -> None:
        """Start anew with a prompt. Raises ValueError, and changes nothing, for one that cannot be."""
        tokens = self.tokenizer.encode(prompt)
        self.gpt.checked(tokens)
        real, rehearsal = Recompute(self.gpt), Rehearsal(self.clock)
        logits, seconds = rehearsal.prefill(real, tokens)
        choice = self.sampler(logits, len(tokens))
        baseline = self._measured_baseline(tokens, logits)
        faulty = FaultyRun(self.gpt, self.fault, tokens) if self.fault else None
        # Nothing has changed so far, whatever failed.
        self._text, self._prompt_length, self._choosers = tokens, len(tokens), list[Sampler]()
        self._real, self._logits, self._choice, self._faulty = real, logits, choice, faulty
        self._baseline, self._went_back = baseline, False
        self._prefill_seconds, self._rehearsal, self._sampled_since = seconds, rehearsal, 0
        self._records, self._anatomy = Records(STEP), Records(ANATOMY)
        for other in self._beside:
            other.begin(self.window_full_at)

    @property
    def length(self) -> int:
        """Characters in the text."""
        return len(self._text)

    @property
    def window_full_at(self) -> int:
        """The length of the text at which the window is full, and another character does not fit."""
        return max(self.gpt.config.block_size, self._prompt_length)

    def step(self, rank: int | None = None) -> None:
        """Append the model's choice to the text, and take it in: whole, or where that fails not at all.

        With a `rank`, the so-manieth likeliest character is appended instead, 0 the likeliest of all.
        """
        before, baseline, went_back = self.length, self._baseline, self._went_back
        token = self._choice if rank is None else int(_likeliest(self._logits)[rank])
        try:
            self._step(token, taken=rank is not None)
        except BaseException:
            self._baseline, self._went_back = baseline, went_back
            self._return_to(before)
            raise
        self.catch_up(0)
        self._rehearsal.busy_until = self.clock()

    def _step(self, token: int, taken: bool) -> None:
        """`taken`: by the user, whatever the sampler says."""
        self._went_back = False
        bits = bits_per_character(self._logits[None], [token])
        self._text.append(token)
        self._choosers.append((lambda logits, position: token) if taken else self.sampler)
        recomputed = self.length > self.window_full_at
        if not recomputed:
            self._rehearsal.before_step(self._real, self._text, self._records.rows["seconds"])
        begin = self.clock()
        logits = self._real.step(self._text)
        seconds = self.clock() - begin
        self._take(logits)
        self._measure_baseline()
        self._records.append(*Steps.row(seconds, bits, taken, self._baseline))
        if recomputed:
            for other in self._beside:
                other.step(self._text, logits, self.sampler)
            if self._anatomy_watched:
                self._anatomy.append(*self._taken_apart())

    def _take(self, logits: np.ndarray) -> None:
        """What the model expects next, and what is chosen of it. Raises LogitsNotFinite."""
        self._choice = self.sampler(logits, self.length)
        self._logits = logits

    def _return_to(self, length: int) -> None:
        """Drop what comes behind so many characters, and fill the caches again from the text."""
        with self._or_without_fault():
            text, real = self._text[:length], Recompute(self.gpt)
            logits = self._replayed(real, text)
            choice = self.sampler(logits, length)
        self._real, self._logits, self._choice = real, logits, choice
        del self._text[length:]
        del self._choosers[length - self._prompt_length :]
        self._records.keep(length - self._prompt_length)
        self._forget_anatomy()
        self._lead_back()
        for other in self._beside:
            other.return_to(self._text)
        self._choose_anew()

    def back(self) -> bool:
        """Undo the last step exactly; False at the prompt, where there is nothing to undo."""
        if self.length == self._prompt_length:
            return False
        shorter = self.length - 1
        try:
            self._undo_step()
        except BaseException:
            self._baseline, self._went_back = None, True
            self._return_to(shorter)
            raise
        self._went_back = True
        self._choose_anew()
        self._lead_back()
        return True

    def _undo_step(self) -> None:
        was_past_limit = self.length > self.window_full_at
        self._text.pop()
        self._choosers.pop()
        self._records.keep(len(self._records) - 1)
        self._forget_anatomy()
        if was_past_limit:
            for other in self._beside:
                other.back(self._text)
        self._take(self._replayed(self._real, self._text) if was_past_limit else self._trimmed())
        self._measure_baseline()

    def _lead_back(self) -> None:
        """Take the faulty run back, too, where it is longer than this one."""
        with self._or_without_fault():
            if self._faulty:
                self._faulty.back_to(self.length)

    def back_to(self, length: int) -> None:
        """Undo all steps behind so many characters, at once, and as exactly as `back` does."""
        if self._prompt_length <= length < self.length:
            self._baseline, self._went_back = None, True
            self._return_to(length)
            self._measure_baseline()

    @property
    def prompt(self) -> list[int]:
        return self._text[: self._prompt_length]

    @property
    def baseline(self) -> Baseline | None:
        """The full forward pass over the present window, if one is asked for."""
        return self._baseline

    def set_sampler(self, sampler: Sampler) -> None:
        """Choose otherwise from here on; what was written stays."""
        self._choice, self.sampler = sampler(self._logits, self.length), sampler
        self._sampled_since = self.length + 1
        self._choose_anew()

    def _choose_anew(self) -> None:
        """Hold the choices after the present text against each other by the sampler of now.

        `_sampled_since` is the length of the text from which on they are; those before were by others.
        """
        if self.length >= self._sampled_since:
            return
        self._sampled_since = self.length
        for other in self._beside:
            other.choose_anew(self._text, self._logits, self.sampler)
        if self.length in self._anatomy.rows["length"][-1:]:
            self._anatomy.replace_last(*self._taken_apart())

    def inspect(self, cursor: Cursor | None) -> None:
        """Look into a cache with every snapshot, or with None no longer."""
        self._cursor = cursor

    def set_fault(self, fault: "Fault | None") -> None:
        """Have a second run beside this one that has a fault; or with None, no longer.

        It begins with the prompt: see `catch_up`.
        """
        self._faulty = FaultyRun(self.gpt, fault, self.prompt) if fault else None

    @property
    def fault(self) -> "Fault | None":
        """What the second run has, where there is one."""
        return self._faulty.fault if self._faulty else None

    @property
    def behind(self) -> int:
        """Characters that the faulty run has yet to write, to be as long as this one."""
        return max(0, self.length - len(self._faulty.text)) if self._faulty else 0

    def catch_up(self, seconds: float = math.inf) -> None:
        """Let the faulty run follow: by a step, and by more as long as there is time.

        It chooses as this run did: by the sampler of the time, and where the user chose, the same.
        Where it cannot go on, it is switched off, and this run stays as it is.
        """
        end = time.perf_counter() + seconds
        with self._or_without_fault():
            while self._faulty and self.behind:
                self._faulty.step(self._choosers[-self.behind])
                if time.perf_counter() >= end:
                    return

    @contextmanager
    def _or_without_fault(self) -> Iterator[None]:
        """Where the faulty run breaks off, it is switched off: half a step would be judged falsely."""
        try:
            yield
        except BaseException:
            self._faulty = None
            raise

    def watch_anatomy(self, watched: bool) -> None:
        """Tell apart what is wrong with the naive slide, from the present step on, or no longer.

        It takes another full pass a step.
        """
        self._anatomy_watched = watched
        looked_at = self._anatomy.rows["length"][-1:]
        if watched and self.length > self.window_full_at and self.length not in looked_at:
            self._anatomy.append(*self._taken_apart())

    def _forget_anatomy(self) -> None:
        """Of steps that were taken back."""
        self._anatomy.keep(int(np.searchsorted(self._anatomy.rows["length"], self.length, side="right")))

    def set_baseline(self, mode: BaselineMode) -> None:
        """Measure a full forward pass at every step from this one on, or stop doing so."""
        before, self.baseline_mode = (self.baseline_mode, self._baseline), mode
        try:
            self._measure_baseline()
        except BaseException:
            self.baseline_mode, self._baseline = before
            raise
        if self._baseline and len(self._records):  # the last step has one now, too
            seconds, bits, taken, *_ = self._records.rows[-1]
            self._records.replace_last(*Steps.row(seconds, bits, taken, self._baseline))

    def snapshot(self) -> Snapshot:
        text = self.tokenizer.decode(self._text)
        return Snapshot(
            model=self.facts,
            prompt=text[: self._prompt_length],
            generated=text[self._prompt_length :],
            candidates=self._candidates(self._logits, self._choice),
            cache=_content(self._real),
            window_full_at=self.window_full_at,
            beside=tuple(map(self._state, self._beside)) if self.length > self.window_full_at else (),
            went_back=self._went_back,
            baseline_mode=self.baseline_mode,
            prefill_seconds=self._prefill_seconds,
            baseline=self._baseline,
            inspection=self._inspection(),
            faulty=self._faulty_state(),
            anatomy=Anatomies(self._anatomy.rows),
            steps=Steps(self._records.rows, self._prompt_length + 1, self.window_full_at),
        )

    # The real model

    def _trimmed(self) -> np.ndarray:
        """Logits after the last step was taken off the text, with the cache trimmed to it."""
        cache = self._real.cache
        if self.length == self._prompt_length:
            return self._real.start(self._text)
        cache.trim(2)
        return self._real.decoder.step(self._text[-1])

    def _replayed(self, real: Recompute, text: Sequence[int]) -> np.ndarray:
        """Logits of the text, by the same calls that a run from the prompt would have made.

        Past the limit one call depends on nothing before it. Within the window the cache that the
        re-computation overwrote is filled again: the prompt at once, then character by character.
        """
        if len(text) > self.window_full_at:
            return real.catch_up(text, self.window_full_at)
        return real.replay(text, self._prompt_length)

    def _inspection(self) -> Inspection | None:
        """Until the text is past the limit, every policy is the real model."""
        if self._cursor is None:
            return None
        characters = self.tokenizer.characters
        for other in self._beside:
            if other.policy.name == self._cursor.policy and self.length > self.window_full_at:
                return inspect(other.policy, self._text, other.logits, self._cursor, characters)
        return inspect(self._real, self._text, self._logits, self._cursor, characters)

    def _faulty_state(self) -> FaultyState | None:
        if self._faulty is None:
            return None
        return FaultyState(
            self._faulty.fault,
            self.tokenizer.decode(self._faulty.text[self._prompt_length :]),
            self.behind,
            self._faulty.differs_at(self._text),
            self._faulty.meters(self._text),
        )

    def _taken_apart(self) -> Sequence[float]:
        """The fields of ANATOMY for the present step."""
        anatomy = take_apart(self._naive, self._text, self._logits, self._beside[0].logits, self.sampler)
        pairs = (getattr(anatomy, pair) for pair in PAIRS)
        return [self.length, *(figure for pair in pairs for figure in (pair.kl, pair.agree))]

    def _state(self, other: Beside) -> PolicyState:
        chosen = self.sampler(other.logits, self.length)
        candidates = self._candidates(other.logits, chosen)
        return PolicyState(other.policy.name, _content(other.policy), candidates, other.comparisons)

    # Measuring

    def _measure_baseline(self) -> None:
        """Hold the present logits against a full forward pass, if one is asked for."""
        self._baseline = None
        self._baseline = self._measured_baseline(self._text, self._logits)

    def _measured_baseline(self, text: Sequence[int], shown: np.ndarray) -> Baseline | None:
        """For the logits (V,) that are shown for a text."""
        mode = self.baseline_mode
        if mode is BaselineMode.OFF:
            return None
        window = text[-self.gpt.config.block_size :]
        if mode not in self._warmed_up:
            forward_uncached(self.gpt, window, mode.block_rows)
            self._warmed_up.add(mode)
        begin = self.clock()
        logits = forward_uncached(self.gpt, window, mode.block_rows)[-1]
        seconds = self.clock() - begin
        diff = float(np.abs(logits - shown).max())
        return Baseline(mode, seconds, diff, float(np.abs(logits).max()))

    def _candidates(self, logits: np.ndarray, chosen: int) -> tuple[Candidate, ...]:
        probabilities = softmax(logits)
        order = list(_likeliest(logits)[:CANDIDATES])
        if chosen not in order:  # drawn from further down, at a high temperature
            order[-1] = chosen
        characters = self.tokenizer.characters
        return tuple(Candidate(characters[i], float(probabilities[i]), i == chosen) for i in order)


def _likeliest(logits: np.ndarray) -> np.ndarray:
    """Tokens (V,), the likeliest first."""
    return np.argsort(-logits, kind="stable")


def _content(policy: LimitPolicy) -> CacheContent:
    """Norms over heads and head_dim of every stored key and value."""
    cache = policy.cache

    def norms(stored: np.ndarray) -> np.ndarray:
        used = stored[:, :, : cache.offset]
        return np.sqrt(np.einsum("lhsd,lhsd->ls", used, used))

    return CacheContent(norms(cache.keys), norms(cache.values), policy.positions)
