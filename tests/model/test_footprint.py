"""The memory of published models is what their publishers say."""

import json

import pytest

from model import GPT, GPTConfig, KVCache
from model.config_json import config_json
from model.footprint import read_shape, sequences_that_outweigh
from model.presets import PRESETS

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "hidden_size": 32,
    "intermediate_size": 48,
    "vocab_size": 11,
    "max_position_embeddings": 64,
}


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [
        # The totals that the Hugging Face Hub shows for each repository.
        ("gpt2", 124_439_808),
        ("llama-2-7b", 6_738_415_616),
        ("llama-2-70b", 68_976_648_192),
        ("llama-3.1-8b", 8_030_261_248),
        ("mistral-7b", 7_241_732_096),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen3-8b", 8_190_735_360),
        ("gemma-7b", 8_537_680_896),
    ],
)
def test_a_preset_has_the_parameters_that_were_published(preset, parameters):
    assert read_shape(PRESETS[preset]).n_parameters == parameters


def test_grouped_heads_share_their_keys_and_values():
    assert read_shape(PRESETS["llama-2-7b"]).bytes_per_token("fp16") == 524_288
    assert read_shape(PRESETS["llama-2-70b"]).bytes_per_token("fp16") == 327_680


def test_an_explicit_head_dim_counts_and_not_the_width_over_the_heads():
    shape = read_shape(PRESETS["gemma-7b"])
    assert shape.head_dim == 256 != 3072 // 16
    assert shape.bytes_per_token("bf16") == 2 * 28 * 16 * 256 * 2


@pytest.mark.parametrize(
    ("dtype", "bits"), [("fp32", 32), ("fp16", 16), ("bf16", 16), ("fp8", 8), ("int8", 8), ("int4", 4)]
)
def test_a_type_takes_its_bits(dtype, bits):
    assert read_shape(LLAMA).bytes_per_token(dtype) * 8 == 2 * 2 * 4 * 8 * bits


def test_our_own_models_are_counted_as_they_are():
    config = GPTConfig(2, 3, 15, 16, 11, n_inner=22)

    shape = read_shape(json.loads(config_json(config)))
    gpt = GPT.random(config, dtype="float32")
    assert shape.weights_bytes("fp32") == gpt.nbytes
    assert shape.bytes_per_sequence(16, "fp32") == KVCache(config, dtype="float32").nbytes


def test_a_sliding_window_bounds_the_layers_that_have_one():
    kinds = ["sliding_attention", "full_attention"]
    shape = read_shape(LLAMA | {"sliding_window": 10, "layer_types": kinds})
    per_layer = shape.bytes_per_token("fp16") // 2
    assert shape.bytes_per_sequence(50, "fp16") == (10 + 50) * per_layer
    assert read_shape(LLAMA | {"sliding_window": 10}).bytes_per_sequence(50, "fp16") == 20 * per_layer
    unused = LLAMA | {"sliding_window": 10, "use_sliding_window": False}
    assert read_shape(unused).bytes_per_sequence(50, "fp16") == 100 * per_layer


@pytest.mark.parametrize(("weights", "one", "n"), [(99, 10, 10), (100, 10, 11), (5, 10, 1)])
def test_sequences_outweigh_the_weights_only_when_they_take_more(weights, one, n):
    assert sequences_that_outweigh(weights, one) == n
    assert n * one > weights >= (n - 1) * one


def test_weights_of_an_unknown_family_are_not_guessed():
    shape = read_shape(LLAMA | {"model_type": "mixtral"})
    assert shape.weights_bytes("fp16") is None
    assert shape.bytes_per_token("fp16") == read_shape(LLAMA).bytes_per_token("fp16")


def test_the_language_half_of_a_multimodal_model_counts():
    assert read_shape({"model_type": "llava", "text_config": LLAMA}) == read_shape(LLAMA)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers is None"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_attention_heads": "4"}, "num_attention_heads is '4'"),
        ({"num_attention_heads": True}, "num_attention_heads is True"),
        ({"hidden_size": 33}, "33 is no multiple of 4"),
        ({"kv_lora_rank": 512}, "compressed latent"),
        ({"layer_types": ["linear_attention"] * 2}, "linear_attention"),
        ({"layer_types": ["full_attention"]}, "2 layers"),
    ],
)
def test_what_cannot_be_is_refused_by_name(change, wrong):
    with pytest.raises(ValueError, match=wrong):
        read_shape(LLAMA | change)


def test_a_missing_size_is_named():
    with pytest.raises(ValueError, match="num_hidden_layers is missing"):
        read_shape({"model_type": "llama"})
