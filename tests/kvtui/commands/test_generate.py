"""`kvtui generate`: the text that the model writes, and what each part took."""

import json

import pytest

from model import GPT
from model.generate import Uncached, generate
from model.sampling import make_sampler
from model.tokenizer import CharTokenizer

LONG = "abc [abd]\n-" * 3  # longer than the model's 12 positions


@pytest.fixture
def write(kvtui, model_dir):
    """The JSON object of a call that succeeds."""

    def run(*argv):
        status, out, err = kvtui("generate", "--json", "--model", model_dir, *argv)
        assert (status, err) == (0, "")
        assert out.count("\n") == 1
        return json.loads(out)

    return run


def test_the_json_object_has_exactly_these_keys(write):
    data = write("abc", "-n", "5")
    assert list(data) == ["prompt", "text", "tokens", "prefill_ms", "step_ms"]
    assert data["prompt"] == "abc"
    assert len(data["text"]) == len(data["tokens"]) == len(data["step_ms"]) == 5
    assert data["prefill_ms"] > 0
    assert all(ms > 0 for ms in data["step_ms"])


@pytest.mark.parametrize("prompt", ["a", LONG])
@pytest.mark.parametrize("options", [[], ["--temperature", "1.5", "--seed", "4", "--top-k", "5"]])
def test_with_and_without_a_cache_the_text_is_the_same(write, prompt, options):
    argv = [prompt, "-n", "40", *options]
    cached, uncached = write(*argv), write(*argv, "--no-cache")
    assert cached["text"] == uncached["text"]
    assert cached["tokens"] == uncached["tokens"]


def test_it_is_the_text_that_full_forward_passes_write(write, model_dir):
    gpt, tokenizer = GPT.load(model_dir), CharTokenizer.load(model_dir / "vocab.json")
    sampler = make_sampler(0.8, top_k=4, seed=9)
    expected = [g.token for g in generate(Uncached(gpt), tokenizer.encode(LONG), 30, sampler)]
    data = write(LONG, "-n", "30", "--temperature", "0.8", "--top-k", "4", "--seed", "9")
    assert data["tokens"] == expected
    assert data["text"] == tokenizer.decode(expected)


def test_the_same_call_writes_the_same_text_and_another_seed_another(write):
    texts = [write("a", "-n", "30", "--temperature", "2", "--seed", seed)["text"] for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_no_characters_are_a_prefill_alone(write):
    data = write("abc", "-n", "0")
    assert (data["text"], data["tokens"], data["step_ms"]) == ("", [], [])
    assert data["prefill_ms"] > 0


def test_people_get_the_prompt_and_the_text_and_the_times_beside_it(kvtui, write, model_dir):
    status, out, err = kvtui("generate", "abc", "-n", "20", "--model", model_dir)
    assert status == 0
    assert out == "abc" + write("abc", "-n", "20")["text"] + "\n"
    assert err.startswith("prefill ")
    assert "9 cached steps, median" in err  # 12 positions
    assert "11 uncached steps, median" in err
    assert err.count("\n") == 1


def test_people_can_ask_for_no_characters(kvtui, model_dir):
    status, out, err = kvtui("generate", "abc", "-n", "0", "--model", model_dir)
    assert (status, out) == (0, "abc\n")
    assert "prefill" in err


@pytest.mark.parametrize("prompt", ["-ab", "--ab", "-", "-h"])
def test_a_prompt_may_begin_with_a_dash(write, prompt):
    assert write("-n", "1", "--", prompt)["prompt"] == prompt


def test_an_unknown_character_is_named_beside_the_known_ones(refused, model_dir):
    line = refused("generate", "abcé", "--model", model_dir)
    assert "'é'" in line
    assert "newline space - a b c" in line


def test_an_empty_prompt_is_refused(refused, model_dir):
    assert "empty" in refused("generate", "", "--model", model_dir)


def test_the_first_calls_are_not_timed(kvtui, model_dir, monkeypatch):
    """Whatever is counted comes after a prefill and a step that are not."""
    from kvtui.commands import generate as command

    calls = []

    class Recorded(command.Recompute):
        def start(self, text):
            calls.append("prefill")
            return super().start(text)

        def step(self, text):
            calls.append("step")
            return super().step(text)

    class Timed(command.Timed):
        def __init__(self, model):
            calls.append("clock")
            super().__init__(model)

    monkeypatch.setattr(command, "Recompute", Recorded)
    monkeypatch.setattr(command, "Timed", Timed)
    assert kvtui("generate", "abc", "-n", "2", "--model", model_dir).status == 0
    assert calls == ["prefill", "step", "clock", "prefill", "step", "step"]
