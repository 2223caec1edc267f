"""A table that grows and shrinks, and never under the hands of those who read it."""

import random

import numpy as np

from kvtui.records import Records

PAIR = np.dtype([("a", "i4"), ("b", "f8")])


def test_rows_are_what_was_appended_and_not_taken_back(monkeypatch):
    monkeypatch.setattr("kvtui.records.ROOM", 4)
    choose, records, expected = random.Random(1), Records(PAIR), []
    views = []
    for i in range(2000):
        if choose.random() < 0.55:
            records.append(i, i / 2)
            expected.append((i, i / 2))
        else:
            n = max(0, len(expected) - choose.randrange(3))
            records.keep(n)
            del expected[n:]
        assert len(records) == len(expected)
        if choose.random() < 0.1:
            views.append((records.rows, list(expected)))
    for rows, as_it_was in views:
        assert rows.tolist() == as_it_was
        assert not rows.flags.writeable


def test_to_keep_more_than_there_is_keeps_all():
    records = Records(PAIR)
    records.append(1, 2.0)
    records.keep(5)
    assert records.rows.tolist() == [(1, 2.0)]
