import json

import pytest

from model import GPTConfig
from model.config_json import config_json, read_config

GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_head": 3, "n_embd": 15, "n_positions": 16, "vocab_size": 11}


@pytest.fixture
def config_file(tmp_path):
    """Writes options, or raw bytes, to a config.json and returns its path."""

    def write(content):
        path = tmp_path / "config.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(n_layer=2, n_head=3, n_embd=15, block_size=16, vocab_size=11),
        GPTConfig(1, 1, 8, 4, 2, n_inner=22, layer_norm_epsilon=1e-6),
    ],
)
def test_a_config_comes_back_as_it_was_written(config, config_file):
    assert read_config(config_file(config_json(config).encode())) == config


def test_what_is_written_names_everything_that_makes_the_model():
    options = json.loads(config_json(GPTConfig(2, 3, 15, 16, 11, n_inner=22, layer_norm_epsilon=1e-6)))
    expected = GPT2 | {
        "n_inner": 22,
        "layer_norm_epsilon": 1e-6,
        "activation_function": "gelu_new",
        "tie_word_embeddings": True,
        "architectures": ["GPT2LMHeadModel"],
    }
    assert {name: options.get(name) for name in expected} == expected


def test_what_is_left_out_is_gpt2_small(config_file):
    config = read_config(config_file({"model_type": "gpt2"}))
    assert config == GPTConfig(
        n_layer=12, n_head=12, n_embd=768, block_size=1024, vocab_size=50257, layer_norm_epsilon=1e-5
    )


@pytest.mark.parametrize(
    "option",
    [
        {"activation_function": "gelu_pytorch_tanh"},
        {"scale_attn_weights": True},
        {"tie_word_embeddings": True},
        {"resid_pdrop": 0.5},
        {"task_specific_params": {"text-generation": {"max_length": 50}}},
        {"torch_dtype": "float16"},
        {"pruned_heads": {}},
    ],
    ids=lambda option: next(iter(option)),
)
def test_an_option_that_does_not_change_the_forward_pass_is_accepted(option, config_file):
    assert read_config(config_file(GPT2 | option)) == read_config(config_file(GPT2))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "llama"),
        ("activation_function", "relu"),
        ("activation_function", "gelu"),
        ("scale_attn_weights", False),
        ("scale_attn_weights", 1),
        ("scale_attn_by_inverse_layer_idx", True),
        ("reorder_and_upcast_attn", True),
        ("add_cross_attention", True),
        ("tie_word_embeddings", False),
        ("pruned_heads", {"0": [1]}),
        ("quantization_config", {"bits": 4}),
    ],
)
def test_an_option_that_changes_the_forward_pass_is_refused_by_name(name, value, config_file):
    with pytest.raises(ValueError, match=rf"config\.json: {name} = .* is not implemented"):
        read_config(config_file(GPT2 | {name: value}))


def test_an_unknown_option_is_refused_by_name(config_file):
    with pytest.raises(ValueError, match=r"config\.json: the option rope_theta"):
        read_config(config_file(GPT2 | {"rope_theta": 10000.0}))


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"{", "not JSON in UTF-8"),
        (b'{"model_type": "\xff"}', "not JSON in UTF-8"),
        (b"", "not JSON in UTF-8"),
        ([GPT2], "must hold a JSON object, not a list"),
        ({"n_layer": 2}, "names no model_type"),
        (GPT2 | {"n_layer": "2"}, "n_layer must be a whole number"),
        (GPT2 | {"n_positions": 0}, "block_size must be a whole number"),
        (GPT2 | {"n_head": 4}, "n_embd must be a multiple of n_head"),
        (GPT2 | {"layer_norm_epsilon": 0}, "layer_norm_epsilon must lie"),
    ],
)
def test_a_file_that_is_no_gpt2_config_is_refused_and_named(content, wrong, config_file):
    with pytest.raises(ValueError, match=rf"config\.json.* {wrong}"):
        read_config(config_file(content))


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        read_config(tmp_path / "config.json")


def test_nesting_without_end_and_layers_without_number_are_refused(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("[" * 200_000)
    with pytest.raises(ValueError, match="not JSON"):
        read_config(path)
    path.write_text('{"model_type": "gpt2", "n_layer": 100000000}')
    with pytest.raises(ValueError, match="n_layer = 100,000,000 is more than 10,000"):
        read_config(path)


LONG, NESTED = '"' + "x" * 10**6 + '"', "[" * 900 + "]" * 900


@pytest.mark.parametrize("value", [LONG, NESTED], ids=["long", "nested"])
@pytest.mark.parametrize("name", ["activation_function", "n_head", "layer_norm_epsilon"])
def test_a_refusal_quotes_little_of_what_is_long(config_file, name, value):
    text = json.dumps(GPT2 | {name: "?"}).replace('"?"', value)
    with pytest.raises(ValueError, match=rf"config\.json: {name}") as refused:
        read_config(config_file(text.encode()))
    assert len(str(refused.value)) < 500


def test_a_refusal_quotes_little_of_a_long_name(config_file):
    with pytest.raises(ValueError, match=r"the option x+\.\.\. is not one of GPT-2's") as refused:
        read_config(config_file(GPT2 | {"x" * 10**6: 1}))
    assert len(str(refused.value)) < 500
