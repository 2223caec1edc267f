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
