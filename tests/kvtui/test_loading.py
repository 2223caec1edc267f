"""A model that cannot be used is refused in one line that says why."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file


def rewrite(path, change):
    path.write_text(json.dumps(change(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")


def spoil(directory, name, number):
    """Write a number over one of a model's parameters."""
    arrays = load_file(directory / "model.safetensors")
    arrays[f"transformer.{name}"][:] = number
    save_file(arrays, directory / "model.safetensors")


COMMANDS = {"generate": ["--json", "generate", "abc"], "verify": ["--json", "verify"], "the screen": []}


@pytest.fixture(params=COMMANDS)
def command(request, monkeypatch):
    """What uses a model: a command's arguments, or none for the screen, which thinks it is in a browser."""
    monkeypatch.setenv("TEXTUAL_DRIVER", "a browser's")
    return COMMANDS[request.param]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers(refused, copied_model, command, number):
    spoil(copied_model, "ln_f.bias", number)
    assert "ln_f.bias holds NaN or infinite numbers" in refused(*command, "--model", copied_model)


def test_weights_that_overflow_in_computing(refused, copied_model, command):
    """In one line: NumPy's own warnings are not shown as well."""
    spoil(copied_model, "h.0.mlp.c_fc.bias", 1e38)
    spoil(copied_model, "h.0.mlp.c_proj.weight", 1e38)
    line = refused(*command, "--dtype", "float32", "--model", copied_model)
    assert "logits are not finite" in line
    assert "float64 has more room" in line


def test_a_refusal_is_not_endless(refused, copied_model):
    rewrite(copied_model / "config.json", lambda options: {**options, "n_layer": 10**4000})
    assert len(refused("verify", "--model", copied_model)) < 1000


def test_a_missing_directory(refused, tmp_path):
    line = refused("verify", "--model", tmp_path / "nowhere")
    assert "nowhere" in line
    assert "config.json and model.safetensors" in line


def test_a_file_in_place_of_a_directory(refused, model_dir):
    assert "README.md" in refused("verify", "--model", model_dir / "README.md")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file(refused, copied_model, name):
    (copied_model / name).unlink()
    assert name in refused("verify", "--model", copied_model)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.json"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe\x00", b"[1, 2]", b"{"])
def test_a_broken_file(refused, copied_model, name, content):
    (copied_model / name).write_bytes(content)
    assert name in refused("--json", "generate", "abc", "--model", copied_model)


def test_weights_cut_short(refused, copied_model):
    weights = copied_model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert "whole" in refused("verify", "--model", copied_model)


def test_weights_of_another_shape(refused, copied_model):
    rewrite(copied_model / "config.json", lambda options: {**options, "n_embd": 16})
    assert "shape" in refused("verify", "--model", copied_model)


def test_a_model_without_characters_writes_no_text(refused, copied_model):
    (copied_model / "vocab.json").unlink()
    for command in (["generate", "abc"], ["slide", "--prompt", "abc"]):
        assert "vocab.json" in refused(*command, "--model", copied_model)


def test_a_vocabulary_of_longer_pieces(refused, copied_model):
    rewrite(copied_model / "vocab.json", lambda ids: {f"{c}{c}": i for c, i in ids.items()})
    assert "BPE" in refused("generate", "abc", "--model", copied_model)


def test_a_vocabulary_of_another_model(refused, copied_model):
    rewrite(copied_model / "vocab.json", lambda ids: {**ids, "z": len(ids)})
    line = refused("generate", "abc", "--model", copied_model)
    assert "14 characters" in line
    assert "13" in line
