"""What the laboratory shows can be had without a screen, and is the same."""

import json

import numpy as np
import pytest

from kvtui.app import KvtuiApp
from kvtui.session import Session
from model.faults import FAULTS
from model.gpt import GPT
from model.tokenizer import CharTokenizer

PROMPT, LIMIT = "abc", 12  # the limit of the model in the fixture


@pytest.fixture
def app(model_dir):
    gpt, tokenizer = GPT.load(model_dir), CharTokenizer.load(model_dir / "vocab.json")
    return KvtuiApp(Session(gpt, tokenizer, PROMPT))


@pytest.fixture
def command(kvtui, model_dir):
    """The JSON of a command line on the same model."""

    def run(*argv):
        outcome = kvtui(*argv, "--model", model_dir, "--json")
        assert outcome.status == 0, outcome.err
        return json.loads(outcome.out)

    return run


async def test_the_table_of_policies(app, command, tmp_path, press):
    steps = 7
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "d", *["space"] * (steps + 1))
        snapshot = app.snapshot
    (tmp_path / "text.txt").write_text(snapshot.text, newline="")
    options = ["--text", tmp_path / "text.txt", "--starts", 1, "--steps", steps]
    policies = {row["name"]: row for row in command("slide", "--policies", "all", *options)["policies"]}
    assert set(policies) == {"recompute", "stop", *(state.name for state in snapshot.beside)}
    for state in snapshot.beside:
        row, shown = policies[state.name], state.comparisons.rows[:steps]
        assert row["agreement"] == (shown["real"] == shown["other"]).mean()
        assert row["mean_kl"] == pytest.approx(shown["kl"].mean(), rel=1e-5)
        assert row["max_kl"] == pytest.approx(shown["kl"].max(), rel=1e-5)
        assert row["bits_per_character"] == pytest.approx(state.comparisons.bits[1:].mean(), rel=1e-5)
        assert row["cache_bytes"] == LIMIT * snapshot.model.bytes_per_token
    bits = snapshot.steps.bits[snapshot.steps.cached + 1 :].mean()
    assert policies["recompute"]["bits_per_character"] == pytest.approx(bits, rel=1e-5)


async def test_the_anatomy_of_the_error(app, command, press):
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "d", "l", *["space"] * 6)
        rows, naive = app.snapshot.anatomy.rows, app.snapshot.policy("naive slide")
        text = app.snapshot.text
    data = command("slide", "--anatomy", "--prompt", PROMPT, "--steps", 6)
    assert rows["length"].tolist() == [step["position"] for step in data["anatomy"]["per_step"]]
    for row, step in zip(rows, data["anatomy"]["per_step"], strict=True):
        for pair in ("positions_only", "naive", "stale"):
            assert step[pair]["kl"] == pytest.approx(row[f"{pair}_kl"], rel=1e-5, abs=1e-12)
            assert step[pair]["agree"] == row[f"{pair}_agree"]
    assert [entry["baked_position"] for entry in data["entries"]] == naive.cache.positions.tolist()
    assert [entry["rightful_position"] for entry in data["entries"]] == list(range(LIMIT))
    assert "".join(entry["character"] for entry in data["entries"]) == text[-LIMIT:]


@pytest.mark.parametrize(("n", "policy"), [(4, "recompute"), (14, "recompute"), (14, "naive-slide")])
async def test_the_inspector(app, command, n, policy, press):
    async with app.run_test(size=(120, 40)) as pilot:
        slid = ["n"] if policy == "naive-slide" else []
        await press(app, pilot, *["space"] * n, *slid, "i", "up", "h", "left", "left")
        shown = app.snapshot.inspection
    options = ["--layer", 1, "--head", 1, "--entry", shown.entry, "--policy", policy]
    data = command("inspect", "--prompt", PROMPT, "-n", n, *options)
    assert data["policy"] == shown.cursor.policy == policy.replace("-", " ")
    assert [entry["character"] for entry in data["entries"]] == list(shown.characters)
    assert [entry["computed_at"] for entry in data["entries"]] == shown.positions.tolist()
    for name in ("attention", "key", "value"):
        assert np.array_equal(data[name], getattr(shown, name))
    assert data["key_norm"] == pytest.approx(np.linalg.norm(shown.key))
    assert [layer["max_abs_dk"] for layer in data["layers"]] == shown.key_differences.tolist()
    assert [layer["max_abs_dv"] for layer in data["layers"]] == shown.value_differences.tolist()
    assert [layer["exact"] for layer in data["layers"]] == list(shown.exact)
    assert data["logits"]["max_abs_diff"] == shown.logit_difference
    assert data["logits"]["exact"] == shown.logits_exact == (policy == "recompute")


@pytest.mark.parametrize("number", [0, 9, len(FAULTS) - 1])
async def test_a_run_with_a_fault(app, command, number, press):
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "f", *["down"] * number, "enter", *["space"] * 14)
        shown, sound = app.snapshot.faulty, app.snapshot.generated
    data = command("faults", FAULTS[number].name, "--prompt", PROMPT, "-n", 14)
    assert data["fault"] == {key: getattr(shown.fault, key) for key in ("name", "what", "seen_in")}
    assert (data["text"], data["sound_text"]) == (shown.generated, sound)
    assert data["differs_at"] == shown.differs_at
    assert [tuple(meter.values()) for meter in data["meters"]] == [
        (meter.name, meter.reading, meter.notices) for meter in shown.meters
    ]
