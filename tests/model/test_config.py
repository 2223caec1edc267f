import math
from dataclasses import FrozenInstanceError

import pytest

from model.config import GPTConfig, parameter_shapes

SIZES = {"n_layer": 2, "n_head": 3, "n_embd": 15, "block_size": 16, "vocab_size": 11}
GPT2_SMALL = GPTConfig(n_layer=12, n_head=12, n_embd=768, block_size=1024, vocab_size=50257)


def test_a_head_takes_its_share_of_the_width():
    assert GPTConfig(**SIZES).head_dim == 5


@pytest.mark.parametrize(("n_inner", "width"), [(None, 60), (22, 22)])
def test_the_mlp_is_four_times_as_wide_unless_said_otherwise(n_inner, width):
    assert GPTConfig(**SIZES, n_inner=n_inner).mlp_width == width


@pytest.mark.parametrize("name", [*SIZES, "n_inner"])
@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2"])
def test_a_size_that_is_not_a_whole_number_of_at_least_1_is_refused_by_name(name, size):
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        GPTConfig(**(SIZES | {name: size}))


def test_only_the_mlp_width_may_be_left_to_the_default():
    with pytest.raises(ValueError, match="n_layer"):
        GPTConfig(**(SIZES | {"n_layer": None}))


def test_a_width_that_heads_cannot_share_is_refused():
    with pytest.raises(ValueError, match="15 is not one of 4"):
        GPTConfig(**(SIZES | {"n_head": 4}))


@pytest.mark.parametrize("epsilon", [0, 1, -1e-5, math.nan, "1e-5", None, True])
def test_an_epsilon_outside_0_to_1_is_refused(epsilon):
    with pytest.raises(ValueError, match="layer_norm_epsilon must lie between 0 and 1"):
        GPTConfig(**SIZES, layer_norm_epsilon=epsilon)


def test_sizes_do_not_change_under_a_model():
    config = GPTConfig(**SIZES)
    with pytest.raises(FrozenInstanceError):
        config.n_layer = 3


def test_one_token_of_gpt2_takes_36_kib_of_a_half_precision_cache():
    assert GPT2_SMALL.bytes_per_token(itemsize=2) == 36 * 1024


def test_the_parameters_of_gpt2_number_124_million():
    # 124,439,808 is the published size of "gpt2", its output head tied.
    assert sum(math.prod(shape) for shape in parameter_shapes(GPT2_SMALL).values()) == 124_439_808


def test_matrices_lead_from_their_input_width_to_their_output_width():
    shapes = parameter_shapes(GPTConfig(**SIZES, n_inner=22))
    assert shapes["wte.weight"] == (11, 15)
    assert shapes["wpe.weight"] == (16, 15)
    assert shapes["h.1.attn.c_attn.weight"] == (15, 45)
    assert shapes["h.1.mlp.c_fc.weight"] == (15, 22)
    assert shapes["h.1.mlp.c_proj.weight"] == (22, 15)
    assert "h.2.ln_1.weight" not in shapes
