"""`kvtui inspect`."""

import json

import numpy as np
import pytest


def test_attention_sums_to_one_and_every_layer_is_exact(kvtui, model_dir):
    data = json.loads(kvtui("inspect", "--model", model_dir, "-n", 5, "--json").out)
    attention = np.array(data["attention"])
    assert attention.shape == (2, len(data["entries"]))
    assert np.abs(attention.sum(axis=1) - 1).max() < 1e-14
    assert all(layer["exact"] for layer in data["layers"])
    assert data["entry"] == len(data["entries"]) - 1


def test_in_words_a_slid_cache_is_wrong_in_every_layer(kvtui, model_dir):
    out = kvtui("inspect", "--model", model_dir, "-n", 15, "--policy", "naive-slide").out
    assert out.startswith("naive slide, layer 0")
    assert out.count("WRONG") == 3
    sound = kvtui("inspect", "--model", model_dir, "-n", 15).out
    assert sound.count("rounding") == 3


@pytest.mark.parametrize(("option", "last"), [("--layer", 1), ("--head", 1), ("--entry", 11)])
def test_a_place_that_the_model_does_not_have_is_refused(refused, model_dir, option, last):
    assert f"{option} must be from 0 to {last}" in refused(
        "inspect", "--model", model_dir, option, last + 1
    )


def test_a_policy_that_has_not_parted_from_the_real_model_is_refused(kvtui, refused, model_dir):
    argv = ["inspect", "--model", model_dir, "--prompt", "abc", "--policy", "naive-slide", "-n"]
    assert "give -n at least 10, not 9" in refused(*argv, 9)
    assert kvtui(*argv, 10).out.startswith("naive slide")


def test_a_prompt_that_cannot_be_is_refused(refused, model_dir):
    assert "does not know" in refused("inspect", "--model", model_dir, "--prompt", "XYZ")


def test_an_entry_that_is_not_stored_yet_is_refused(refused, model_dir):
    options = ["--prompt", "abc", "-n", 2, "--entry", 5]
    assert "there are 0 to 4" in refused("inspect", "--model", model_dir, *options)
