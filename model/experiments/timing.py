"""How times are measured: warm-up left out, best and median and number of runs said."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds that a call took: the best of its runs, their median, and how many there were."""

    best: float
    median: float
    runs: int


def timings(
    calls: Sequence[Callable[[], object]],
    seconds: float,
    min_runs: int = 3,
    max_runs: int = 1000,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timing]:
    """Time some calls in turns, for about so many seconds altogether after one warm-up of each.

    In turns, so that what slows the machine for a while slows all of them.
    """
    taken: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    begin = clock()
    while len(taken[0]) < max_runs and (len(taken[0]) < min_runs or clock() - begin < seconds):
        for call, runs in zip(calls, taken, strict=True):
            start = clock()
            call()
            runs.append(clock() - start)
    return [Timing(min(runs), statistics.median(runs), len(runs)) for runs in taken]
