"""The key bar keeps what matters at any width."""

import pytest

from kvtui.app import KvtuiApp
from kvtui.keys import KEYS, fitting


@pytest.mark.parametrize("width", range(0, 140, 7))
def test_help_and_quit_are_kept_at_any_width(width):
    shown, _ = fitting(list(KEYS), width)
    assert {"?", "q"} <= {key.key for key, _ in shown}


@pytest.mark.parametrize("width", range(20, 140))
def test_what_is_shown_fits(width):
    shown, gap = fitting(list(KEYS), width)
    assert len((" " * gap).join(f"{key.key} {label}" for key, label in shown)) <= width


def test_eighty_columns_hold_every_key_but_the_one_for_long_contexts():
    shown, _ = fitting(list(KEYS), 78)
    assert [key.key for key in KEYS if key not in [k for k, _ in shown]] == ["m"]


def test_every_key_of_the_bar_is_bound_to_its_action():
    bound = {key: b.action for b in KvtuiApp.BINDINGS for key in b.key.split(",")}
    names = {"?": "question_mark"}
    assert {k.key: bound[names.get(k.key, k.key)] for k in KEYS} == {
        k.key: k.action.removeprefix("app.") for k in KEYS
    }
