"""What is shown is safe to show."""

import pytest

from kvtui.errors import explain, one_line
from kvtui.output import finite, write
from kvtui.visual import visible


@pytest.mark.parametrize(
    ("character", "shown"),
    [(" ", "␣"), ("\n", "⏎"), ("\t", "⇥"), ("\x1b", "\\x1b"), ("é", "é"), ("[", "[")],
)
def test_every_character_can_be_seen(character, shown):
    assert visible(character) == shown


def test_a_terminal_is_given_no_control_characters_and_a_file_what_there_is(capsys, monkeypatch):
    write("a\x1b[2J\tb\r\n")
    assert capsys.readouterr().out == "a\x1b[2J\tb\r\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    write("a\x1b[2J\tb\r\n")
    assert capsys.readouterr().out == "a\\x1b[2J\tb\\r\n"


@pytest.mark.parametrize("text", ["dix\xa0heures\u202f!", "全角\u3000空白", "क्\u200dष", "\U0001fae9"])
def test_what_only_looks_odd_is_shown_as_it_is(capsys, monkeypatch, text):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    write(text)
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("character", "\x07\x9b\u2028\u202e\u2066")
def test_what_controls_or_turns_is_spelled_out(capsys, monkeypatch, character):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    write(character)
    assert capsys.readouterr().out == repr(character)[1:-1]


def test_a_line_stays_a_line():
    assert one_line("a\nb\r\x1b[2J\udc80 é") == "a\\nb\\r\\x1b[2J\\udc80 é"


def test_an_os_error_names_its_file_where_it_has_one():
    assert explain(FileNotFoundError(2, "No such file", "a.txt")) == "a.txt: No such file"
    assert explain(OSError(28, "No space left on device")) == "No space left on device"
    assert explain(OSError("whatever")) == "whatever"


def test_json_has_no_nan():
    assert [finite(x) for x in (1.5, float("nan"), float("inf"), -float("inf"))] == [1.5, None, None, None]
