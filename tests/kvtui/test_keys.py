"""The key bar keeps what matters at any width."""

import pytest

from kvtui.keys import KEYS, fitting


@pytest.mark.parametrize("width", range(0, 140, 7))
def test_help_and_quit_are_kept_at_any_width(width):
    shown, _ = fitting(list(KEYS), width)
    assert {"?", "q"} <= {key.shown for key, _ in shown}


@pytest.mark.parametrize("width", range(20, 140))
def test_what_is_shown_fits(width):
    shown, gap = fitting(list(KEYS), width)
    assert len((" " * gap).join(f"{key.shown} {label}" for key, label in shown)) <= width


def test_eighty_columns_hold_every_key_but_those_of_measuring_and_memory():
    shown, _ = fitting(list(KEYS), 78)
    assert [key.shown for key in KEYS if key not in [k for k, _ in shown]] == ["m", "c"]
