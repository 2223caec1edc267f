"""`kvtui` without a command: opens the screen on a terminal, and says so where there is none."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture
def opened(monkeypatch):
    """Calls of the screen, which is not really opened."""
    calls = []
    start = SimpleNamespace(run_screen=lambda *args: calls.append(args) or 7)
    monkeypatch.setitem(sys.modules, "kvtui.start", start)
    return calls


@pytest.mark.parametrize("piped", [["stdin"], ["stdout"], ["stderr"], ["stdin", "stdout"]])
def test_without_a_terminal_the_headless_command_is_named(refused, opened, monkeypatch, piped):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda name=name: name not in piped)
    assert "kvtui generate" in refused()
    assert opened == []


def test_on_a_terminal_the_screen_opens(kvtui, opened, monkeypatch):
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    options = ["--model", "somewhere", "--dtype", "float32", "--prompt", "abc", "--seed", "5", "--ascii"]
    options += ["--temperature", "0.5", "--top-k", "3"]
    assert kvtui().status == kvtui(*options).status == 7
    names = ("model", "dtype", "screen_prompt", "seed", "screen_ascii", "temperature", "top_k")
    assert [tuple(getattr(args, name) for name in names) for (args,) in opened] == [
        (None, "float64", None, None, False, 0.0, None),
        (Path("somewhere"), "float32", "abc", 5, True, 0.5, 3),
    ]


def test_in_a_browser_it_opens_without_a_terminal(kvtui, opened, monkeypatch):
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert kvtui().status == 7


def test_the_screen_has_no_json(refused, opened):
    assert "generate" in refused("--json")
    assert opened == []
