"""Times are taken in turns, without the warm-up, by a clock that a test can set."""

from model.experiments.timing import Timing, timings


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_the_warm_up_is_left_out_and_the_figures_are_best_and_median():
    clock = Clock()
    costs = iter([100.0, 3.0, 1.0, 2.0])

    def call():
        clock.now += next(costs)

    assert timings([call], seconds=0, min_runs=3, clock=clock) == [Timing(1.0, 2.0, 3)]


def test_calls_take_turns():
    order = []
    timings([lambda: order.append("a"), lambda: order.append("b")], 0, min_runs=2, clock=Clock())
    assert order == ["a", "b", "a", "b", "a", "b"]


def test_it_stops_when_its_seconds_are_over_or_its_runs():
    clock = Clock()

    def call():
        clock.now += 1.0

    assert timings([call], seconds=5, clock=clock)[0].runs == 5
    assert timings([call], seconds=100, max_runs=7, clock=clock)[0].runs == 7
