"""`kvtui memory`: the cache of any model."""

import json

import pytest


@pytest.fixture
def memory(kvtui):
    def run(*argv):
        status, out, err = kvtui("memory", "--json", *argv)
        assert (status, err) == (0, "")
        return json.loads(out)

    return run


def test_the_json_object_has_the_keys_that_were_promised(memory):
    data = memory("--preset", "llama-2-7b", "--context", "4096", "--sequences", "8")
    assert data["bytes_per_token"] == 524_288
    assert data["bytes_per_sequence"] == 2 * 2**30
    assert data["total_bytes"] == 16 * 2**30
    assert data["weights_bytes"] == 2 * 6_738_415_616
    assert data["total_bytes"] > data["weights_bytes"]
    assert data["sequences_that_outweigh_weights"] == 7


def test_the_cache_may_be_of_another_type_than_the_weights(memory):
    data = memory("--preset", "llama-2-70b", "--kv-dtype", "fp8")
    assert (data["kv_dtype"], data["weights_dtype"]) == ("fp8", "fp16")
    assert data["bytes_per_token"] == 327_680 // 2


def test_a_config_file_is_read(memory, model_dir):
    data = memory("--config", model_dir / "config.json")
    assert data["bytes_per_token"] == 2 * 2 * 2 * 4 * 4
    assert data["context"] == 12


def test_for_people_sizes_are_binary_and_weights_beside_the_cache(kvtui):
    status, out, _ = kvtui("memory", "--preset", "llama-2-7b", "--sequences", "8")
    assert status == 0
    assert "524,288 bytes    512 KiB" in out
    assert "2 GiB  of 4,096 tokens" in out
    assert "7 such sequences outweigh the weights" in out


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{", "config.json"),
        ("[]", "JSON object"),
        ("{}", "num_hidden_layers is missing"),
        ('{"num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 8}', "give --context"),
    ],
)
def test_a_config_that_cannot_be_is_refused_in_one_line(refused, tmp_path, text, wrong):
    path = tmp_path / "config.json"
    path.write_text(text)
    assert wrong in refused("memory", "--config", path)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--preset", "nothing"],
        ["--preset", "gpt2", "--config", "x"],
        ["--config", "nowhere.json"],
        ["--preset", "gpt2", "--context", "0"],
        ["--preset", "gpt2", "--kv-dtype", "fp12"],
    ],
)
def test_bad_calls_are_refused_in_one_line(refused, argv):
    refused("memory", *argv)


def test_what_is_no_file_or_has_no_end_is_refused(refused, tmp_path):
    for path in ("/dev/zero", tmp_path):
        assert "must be a file, not a folder, a pipe or a device" in refused("memory", "--config", path)
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    assert "is not JSON" in refused("memory", "--config", deep)
