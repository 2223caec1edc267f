"""`kvtui bench`: tables with their method, or data."""

import csv
import io
import json

import pytest

from model.experiments import generations, memory, steps


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """One figure takes no longer than it must."""
    monkeypatch.setattr(steps, "SECONDS", 0.0)
    monkeypatch.setattr(steps.step_times, "__defaults__", (steps.CONTEXTS, steps.MOST_UNCACHED, 0.0))
    monkeypatch.setattr(steps.trained_and_random, "__defaults__", (0.0,))
    monkeypatch.setattr(memory.long_prefill, "__defaults__", (64, 16))


@pytest.fixture
def bench(kvtui, model_dir):
    def run(*argv):
        outcome = kvtui("bench", *argv, "--model", model_dir)
        assert outcome.status == 0
        return outcome

    return run


def test_steps_as_json(bench):
    data = json.loads(bench("steps", "--json", "--contexts", "4,12,20").out)
    assert data["blas_threads"] == data["machine"]["blas_threads"] == 1
    assert [row["context"] for row in data["rows"]] == [4, 12, 20]
    assert [row["random_weights"] for row in data["rows"]] == [False, False, True]
    for row in data["rows"]:
        for key in ("cached_ms", "uncached_all_ms", "uncached_blocked_ms"):
            assert list(row[key]) == ["best", "median", "runs"]
            assert 0 < row[key]["best"] <= row[key]["median"]
        assert row["speedup"] == pytest.approx(
            row["uncached_blocked_ms"]["median"] / row["cached_ms"]["median"]
        )
        assert row["multiply_add_ratio"] == row["context"]
    assert data["attention_equals_rest_at"] == 6 * 8


def test_a_baseline_that_was_not_run_is_null(bench, monkeypatch):
    monkeypatch.setattr(steps.step_times, "__defaults__", (steps.CONTEXTS, 8, 0.0))
    (row,) = json.loads(bench("steps", "--json", "--contexts", "9").out)["rows"]
    assert row["uncached_all_ms"] is row["uncached_blocked_ms"] is row["speedup"] is None


def test_every_table_says_how_it_was_measured(bench):
    for argv in (["steps", "--contexts", "4"], ["memory", "--contexts", "8"], ["generate", "-n", "3"]):
        if argv[0] == "generate":
            continue
        out = bench(*argv).out
        assert "with 1 thread" in out
        assert "warm-up left out" in out
        assert "float64" in out


def test_progress_is_told_on_standard_error(bench):
    assert "measuring context 4\nmeasuring context 8\n" in bench("steps", "--contexts", "4,8").err


def test_csv_has_a_column_for_each_figure(bench):
    out = bench("steps", "--csv", "--contexts", "4,8").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["context"] for row in rows] == ["4", "8"]
    assert float(rows[0]["cached_ms_best"]) <= float(rows[0]["cached_ms_median"])


def test_plot_draws_a_chart(bench):
    out = bench("steps", "--contexts", "4,8", "--plot").out
    assert "┌" in out
    assert "\x1b" not in out


def test_memory_as_json(bench):
    data = json.loads(bench("memory", "--json", "--contexts", "8,300").out)
    assert data["bytes_per_token"] == 2 * 2 * 2 * 4 * 8
    assert data["crossover_tokens"] == data["model_bytes"] // data["bytes_per_token"] + 1
    for row in data["rows"]:
        assert row["cache_bytes"] == row["context"] * data["bytes_per_token"]
    assert data["rows"][1]["uncached_blocked_peak_bytes"] < data["rows"][1]["uncached_all_peak_bytes"]


def test_generate_as_json(kvtui, tmp_path, perturbed):
    from model import GPTConfig
    from model.directory import write_model
    from model.tokenizer import CharTokenizer

    characters = "ROMEO:\n"
    tokenizer = CharTokenizer.of_text(characters)
    config = GPTConfig(1, 1, 4, 8, len(tokenizer.characters))
    write_model(tmp_path, config, perturbed(config, "float32").parameters, tokenizer, "card")
    outcome = kvtui("bench", "generate", "-n", "2,12", "--json", "--model", tmp_path)
    rows = json.loads(outcome.out)["rows"]
    assert [row["tokens"] for row in rows] == [2, 12]
    assert all(list(row) == ["tokens", "cached_s", "uncached_s", "autograd_s"] for row in rows)


def test_an_interruption_prints_what_was_measured_so_far(bench, monkeypatch):
    original = steps.step_times

    def interrupted(*args, **options):
        yield next(original(*args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "step_times", interrupted)
    outcome = bench("steps", "--json", "--contexts", "4,8,12")
    assert [row["context"] for row in json.loads(outcome.out)["rows"]] == [4]
    assert "so far" in outcome.err


@pytest.mark.parametrize(
    "argv",
    [[], ["nothing"], ["steps", "--contexts", "0"], ["steps", "--contexts", "a,b"], ["generate", "-n", ""]],
)
def test_bad_calls_are_refused_in_one_line(refused, argv):
    refused("bench", *argv)


def test_the_lengths_are_those_of_the_claim():
    assert generations.LENGTHS == (100, 300)
