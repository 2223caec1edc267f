"""Only the cells that differ are painted."""

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from kvtui.panels.panel import changed, cut, joined

RED, BLUE = Style.parse("red"), Style.parse("blue")


def strip(*parts):
    return Strip([Segment(text, style) for text, style in parts])


@pytest.mark.parametrize(
    ("before", "after", "span"),
    [
        ([("abc", RED)], [("abc", RED)], (0, 0)),
        ([("abc", RED)], [("a", RED), ("bc", RED)], (0, 0)),
        ([("abc", RED)], [("abc", BLUE)], (0, 3)),
        ([("abc", RED)], [("a", RED), ("b", BLUE), ("c", RED)], (1, 1)),
        ([("abcdef", RED)], [("aXcdYf", RED)], (1, 4)),
        ([("日本x", RED)], [("日本y", RED)], (0, 5)),
        ([("日x", RED)], [("axy", RED)], (0, 3)),
        ([("e   ", RED)], [("e\u0301   ", RED)], (0, 4)),
        ([("一\u0301x ", RED)], [("一\u0301y ", RED)], (0, 4)),
        ([("☁  ", RED)], [("☁\ufe0f ", RED)], (0, 3)),
    ],
)
def test_the_cells_that_differ(before, after, span):
    assert changed(strip(*before), strip(*after)) == span


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日 …"),
        ("abc", 1, "…"),
    ],
)
def test_a_line_that_is_cut_says_so(text, width, shown):
    assert cut(Content(text), width, "…").plain == shown


def test_neighbours_of_one_style_are_one_span():
    content = joined([("a", "red"), ("b", "red"), ("c", "blue")])
    assert content.plain == "abc"
    assert len(content.spans) == 2
