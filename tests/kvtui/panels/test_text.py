"""The text is wrapped whole, and fits."""

import pytest
from rich.cells import cell_len

from kvtui.panels.text import wrapped

TEXTS = [
    "",
    "a",
    "a b",
    "\n",
    "\n\n",
    "one two three four",
    "x" * 30,
    "To be, or\nnot to be: that is\n",
    "日本語 text",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [1, 2, 5, 11, 80])
def test_no_character_is_lost_or_doubled(text, width):
    rows = wrapped(text, width)
    assert "".join(text[start:end] for start, end in rows) == text
    assert all(start < end for start, end in rows)


def test_lines_break_after_a_space_and_at_a_newline():
    text = "one two three\nfour"
    assert [text[a:b] for a, b in wrapped(text, 8)] == ["one two ", "three\n", "four"]


def test_a_word_longer_than_a_line_is_cut():
    assert wrapped("abcdefgh", 3) == [(0, 3), (3, 6), (6, 8)]


def test_wide_characters_take_two_cells():
    assert wrapped("日本語", 4) == [(0, 2), (2, 3)]


def test_what_belongs_to_one_sign_is_measured_as_one():
    text = "☁\ufe0f" * 6
    rows = wrapped(text, 4)
    assert all(cell_len(text[a:b]) <= 4 for a, b in rows)
    assert "".join(text[a:b] for a, b in rows) == text
