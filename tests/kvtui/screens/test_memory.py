"""The memory view: this run's figures, and a calculator that agrees with the command."""

import json

import pytest

from kvtui.screens.memory import CHOICE, ROWS, calculator, this_run
from kvtui.screens.rows import turned
from kvtui.session import Session
from kvtui.visual import Look
from model import GPTConfig
from model.tokenizer import CharTokenizer


def test_this_run_tells_where_the_cache_is_as_large_as_the_model(perturbed):
    config = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=5)
    gpt = perturbed(config)
    text = this_run(Session(gpt, CharTokenizer("abcde"), "abc").snapshot(), Look()).plain
    per_token = 2 * 2 * 8 * 8
    assert "2 (K, V) x 2 layers x 2 heads x 4 wide x 8 bytes" in text
    assert f"{3 * per_token:,} bytes" in text
    crossing = next(n for n in range(10**6) if n * per_token >= gpt.nbytes)
    assert f"A cache of {crossing} tokens" in text


@pytest.mark.parametrize("model", ROWS["model"])
def test_the_calculator_agrees_with_the_command(kvtui, model):
    choice = {"model": model, "context": 8192, "sequences": 16, "cache": "fp8"}
    options = ["--context", 8192, "--sequences", 16, "--kv-dtype", "fp8"]
    data = json.loads(kvtui("memory", "--json", "--preset", model, *options).out)
    text = calculator(choice, Look()).plain
    for key in ("bytes_per_token", "bytes_per_sequence", "total_bytes", "weights_bytes"):
        assert f"{data[key]:,} bytes" in text
    assert f"{data['sequences_that_outweigh_weights']:,} such sequences" in text


def test_it_says_where_a_model_was_not_made_for_so_many_positions():
    def said(model, context):
        return calculator(CHOICE | {"model": model, "context": context}, Look()).plain

    assert "no more than 4,096 positions" in said("llama-2-7b", 8192)
    assert "no more than" not in said("llama-2-7b", 4096)
    assert "keeps 4,096 tokens" in said("mistral-7b", 8192)


@pytest.mark.parametrize("values", ROWS.values(), ids=ROWS)
def test_a_row_goes_through_its_values_and_stays_at_the_ends(values):
    seen = [values[0]]
    for _ in range(20):
        seen.append(turned(values, seen[-1], 1))
    assert list(dict.fromkeys(seen)) == list(values)
    assert turned(values, values[0], -1) == values[0]
