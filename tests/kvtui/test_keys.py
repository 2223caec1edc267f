"""The key bar keeps what matters at any width."""

import pytest

from kvtui.keys import KEYS, fitting

BAR = [key for key in KEYS if key.label]


@pytest.mark.parametrize("width", range(0, 140, 7))
def test_help_and_quit_are_kept_at_any_width(width):
    shown, _ = fitting(BAR, width)
    assert {"?", "q"} <= {key.shown for key, _ in shown}


@pytest.mark.parametrize("width", range(20, 140))
def test_what_is_shown_fits(width):
    shown, gap = fitting(BAR, width)
    assert len((" " * gap).join(f"{key.shown} {label}" for key, label in shown)) <= width


def test_eighty_columns_hold_the_keys_that_a_newcomer_needs():
    shown, _ = fitting(BAR, 78)
    assert [key.shown for key in BAR if key not in [k for k, _ in shown]] == list("idfpcszm")
