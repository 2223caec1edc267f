"""The chart draws what can be drawn."""

import math

import pytest

from kvtui.chart import Series, chart, without_colours
from kvtui.visual import Look

WIDTH, HEIGHT = 60, 12


def drawn(points, limit=128, width=WIDTH, height=HEIGHT, **options):
    series = [Series(1, points), Series(2, points, curve=True)]
    return list(map(without_colours, chart(series, limit, width, height, **options)))


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(16, 0.3)],
        [(16, 0.3), (16, 0.3)],
        [(1, 0.0)],
        [(1, -1.0), (0, 3.0), (2, math.inf), (3, math.nan)],
        [(128, 1e-9), (128, 1e9)],
    ],
    ids=["none", "one", "equal", "zero", "not drawable", "far apart"],
)
@pytest.mark.parametrize("limit", [1, 2, 128, 16384])
def test_any_points_give_a_chart_of_the_asked_size(points, limit):
    lines = drawn(points, limit=limit)
    assert len(lines) == HEIGHT
    assert all(len(line) <= WIDTH for line in lines)


@pytest.mark.parametrize("width", [30, 79, 300])
def test_a_chart_is_as_wide_as_its_panel(width):
    lines = drawn([(8, 0.3), (64, 0.4)], width=width, height=70)
    assert (max(map(len, lines)), len(lines)) == (width, 70)


def test_drawing_twice_gives_the_same():
    points = [(8, 0.3), (64, 0.4), (128, 0.9)]
    assert drawn(points) == drawn(points)


def test_the_axes_are_logarithmic():
    """Equal ratios are equal distances: three points a factor of 4 and a factor of 10 apart."""
    points = [(2, 0.1), (8, 1.0), (32, 10.0)]
    lines = [
        *map(
            without_colours,
            chart([Series(1, [point]) for point in points], 128, WIDTH, HEIGHT, look=Look(ascii=True)),
        )
    ]
    found = [(x, y) for y, line in enumerate(lines) for x, c in enumerate(line) if c == "*"]
    (x1, y1), (x2, y2), (x3, y3) = sorted(found)
    assert abs((x3 - x2) - (x2 - x1)) <= 1
    assert abs((y3 - y2) - (y2 - y1)) <= 1
    assert y1 > y2 > y3


def test_the_limit_is_named_on_the_axis():
    assert "128" in drawn([(8, 0.3)])[-1]
