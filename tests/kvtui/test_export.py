"""A run as files says what the screen says."""

import csv
import errno
import json
import os

import pytest

from kvtui.export import STEP_KEYS, export_run
from kvtui.session import Session
from kvtui.snapshot import BaselineMode
from model import GPTConfig
from model.tokenizer import CharTokenizer

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=8, vocab_size=5)


@pytest.fixture
def session(perturbed):
    session = Session(perturbed(CONFIG), CharTokenizer('a"\n,é'), "a\n")
    for mode in (BaselineMode.OFF, BaselineMode.BLOCKED):
        session.set_baseline(mode)
        for _ in range(5):
            session.step()
    session.back()
    session.step(rank=2)
    return session


def test_the_files_hold_every_step(session, tmp_path):
    snapshot = session.snapshot()
    export_run(snapshot, session.tokenizer.characters, "greedy", "<svg/>", tmp_path / "run.1")
    run = json.loads((tmp_path / "run.1.json").read_text(encoding="utf-8"))
    with open(tmp_path / "run.1.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert (tmp_path / "run.1.svg").read_text() == "<svg/>"
    assert run["text"] == snapshot.prompt + snapshot.generated
    assert len(run["steps"]) == len(table) == 10
    assert [row["character"] for row in table] == list(snapshot.generated)
    for row, step in zip(run["steps"], snapshot.steps, strict=True):
        assert tuple(row) == STEP_KEYS
        assert row["taken"] == (step.position == 12)
        assert row["ms"] == step.seconds * 1e3
        assert (row["uncached_ms"] is None) == (step.baseline is None)
    past = run["steps"][6:]
    assert [row["agree"] for row in past] == [c.agree for c in snapshot.policy("naive slide").comparisons]
    assert all(row["agree"] == (row["real"] == row["naive"]) for row in past)
    assert all(row["kl"] is None for row in run["steps"][:6])


def test_the_json_file_has_every_policy_and_how_characters_were_chosen(session, tmp_path):
    snapshot, characters = session.snapshot(), session.tokenizer.characters
    export_run(snapshot, characters, "drawn", "", tmp_path / "run")
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert run["sampling_now"] == "drawn"
    assert [entry["name"] for entry in run["policies"]] == ["naive slide", "attention sinks", "refill"]
    for entry, state in zip(run["policies"], snapshot.beside, strict=True):
        comparisons = state.comparisons
        assert (entry["agree"], entry["mean_kl"], entry["max_kl"]) == (
            comparisons.agreed,
            comparisons.mean_kl,
            comparisons.max_kl,
        )
        rows = entry["per_step"]
        assert [row["position"] for row in rows] == [9, 10, 11, 12]
        assert [row["other"] for row in rows] == [characters[c.other] for c in comparisons]
        assert [row["kl"] for row in rows] == [c.kl for c in comparisons]
        assert [row["ms"] for row in rows] == [s * 1e3 for s in comparisons.seconds.tolist()]
        assert rows[0]["bits"] is None
        assert [row["bits"] for row in rows[1:]] == comparisons.bits[1:].tolist()


def test_where_there_is_no_folder_nothing_is_written(session, tmp_path):
    with pytest.raises(OSError, match="missing"):
        export_run(
            session.snapshot(), session.tokenizer.characters, "greedy", "", tmp_path / "missing" / "run"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("written", [0, 1, 2])
def test_all_files_are_written_or_none(session, tmp_path, monkeypatch, written, error):
    def fail(descriptor, left=[None] * written):
        if not left:
            raise error
        left.pop()

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        export_run(session.snapshot(), session.tokenizer.characters, "greedy", "", tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
