"""The measured curves are kept as long as they hold."""

import json

import pytest

from kvtui import curves
from kvtui.curves import KINDS, Curves, CurveStore


def row(context, ms=1.0, uncached=True):
    timing = {"best": ms / 2, "median": ms, "runs": 3}
    return {"context": context} | {
        kind: timing if uncached or kind == "cached_ms" else None for kind in KINDS
    }


@pytest.fixture
def store(tmp_path):
    return CurveStore(tmp_path / "kvtui", None, "float64")


def test_a_curve_is_sorted_and_leaves_out_what_was_not_measured():
    measured = Curves().with_row(row(512, 3.0, uncached=False)).with_row(row(16, 1.0))
    assert measured.points("cached_ms") == [(16, 1.0), (512, 3.0)]
    assert measured.points("uncached_all_ms") == [(16, 1.0)]


def test_a_new_row_takes_the_place_of_an_older_one():
    measured = Curves().with_row(row(16, 1.0)).with_row(row(16, 2.0))
    assert measured.points("cached_ms") == [(16, 2.0)]


def test_what_is_kept_is_there_at_the_next_start(store):
    store.save(Curves((row(16),)))
    again = CurveStore(store.path.parent, None, "float64")
    assert again.load() == Curves((row(16),))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: CurveStore(folder, None, "float32"),
        lambda folder: CurveStore(folder, folder, "float64"),
    ],
)
def test_curves_of_another_model_or_type_do_not_hold(store, change):
    store.save(Curves((row(16),)))
    other = change(store.path.parent)
    assert other.load() == Curves()
    other.save(Curves((row(64),)))
    assert store.load() == Curves((row(16),)), "and each has a file of its own"


def test_curves_of_another_version_or_machine_do_not_hold(store, monkeypatch):
    store.save(Curves((row(16),)))
    monkeypatch.setattr(curves, "__version__", "another")
    assert CurveStore(store.path.parent, None, "float64").load() == Curves()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"key": "", "rows": 3}', '{"key": 1, "rows": [{}]}']
)
def test_a_broken_file_is_as_good_as_none(store, text):
    store.path.parent.mkdir()
    store.path.write_text(text)
    assert store.load() == Curves()


async def test_rows_come_from_the_command_line_in_a_process_of_its_own(store, monkeypatch, model_dir):
    store.model_directory = model_dir
    rows = [measured async for measured in store.measure((4, 8), 0.001)]
    assert [measured["context"] for measured in rows] == [4, 8]
    assert all(measured["cached_ms"]["median"] > 0 for measured in rows)


async def test_a_process_that_fails_is_an_error_in_its_own_words(store, tmp_path):
    store.model_directory = tmp_path / "nowhere"
    with pytest.raises(OSError, match="nowhere"):
        [measured async for measured in store.measure((4,), 0.001)]


def test_the_file_is_json(store):
    store.save(Curves((row(16),)))
    assert set(json.loads(store.path.read_text())) == {"key", "rows"}
