"""`kvtui faults`: the list of what `kvtui verify --with-fault` takes."""

import json

import pytest

from model.faults import FAULTS


def test_the_json_object_has_every_fault_and_where_it_was_seen(kvtui):
    status, out, err = kvtui("faults", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "faults": [{"name": fault.name, "what": fault.what, "seen_in": fault.seen_in} for fault in FAULTS]
    }


@pytest.mark.parametrize("width", [60, 80, 132])
def test_people_get_it_as_wide_as_their_terminal(kvtui, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    status, out, err = kvtui("faults")
    assert (status, err) == (0, "")
    assert width - 20 < max(map(len, out.splitlines())) <= width
    paragraphs = ["".join(paragraph.split()) for paragraph in out.split("\n\n")]
    texts = [f"{fault.name} {fault.what} Seen in {fault.seen_in}" for fault in FAULTS]
    assert paragraphs == ["".join(text.split()) for text in texts]


def test_in_a_very_narrow_terminal_lines_are_as_long_as_they_must_be(kvtui, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    status, out, _ = kvtui("faults")
    assert status == 0
    assert max(map(len, out.splitlines())) < 60


def test_a_run_with_a_fault_says_what_notices_it(kvtui, model_dir):
    out = kvtui("faults", FAULTS[0].name, "--model", model_dir, "-n", 6).out
    assert FAULTS[0].name in out
    assert "NOTICES" in out


def test_options_of_a_run_without_a_fault_are_refused(refused):
    for option in (["--prompt", "abc"], ["-n", 3]):
        assert "give its NAME" in refused("faults", *option)
