import errno
import json
import os
import re
import struct
import tracemalloc

import numpy as np
import pytest

from model import GPT, KVCache
from model.config import GPTConfig, parameter_shapes
from model.config_json import config_json
from model.weights import random_parameters, write_parameters

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=4, block_size=6, vocab_size=5, n_inner=3)
SHAPES = parameter_shapes(CONFIG)

NUMPY_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "U8": "|u1"}


def safetensors_bytes(tensors):
    """A safetensors file by its specification; tensors: name -> (type, array), a BF16 as its bits."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (kind, array) in tensors.items():
        raw = np.ascontiguousarray(array, NUMPY_TYPES[kind]).tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def stored_arrays(data):
    """The metadata and the arrays of a safetensors file, read by its specification."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data[8 + length :][begin:end], NUMPY_TYPES[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"])
    return metadata, arrays


def parameters(seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}


def as_type(kind, arrays):
    return {name: (kind, array) for name, array in arrays.items()}


@pytest.fixture
def directory(tmp_path):
    """Writes a model directory by hand: files are name -> tensors, as `safetensors_bytes` takes them."""

    def write(files, weight_map=None):
        (tmp_path / "config.json").write_text(config_json(CONFIG))
        for name, tensors in files.items():
            (tmp_path / name).write_bytes(
                tensors if isinstance(tensors, bytes) else safetensors_bytes(tensors)
            )
        if weight_map is not None:
            index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
            (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
        return tmp_path

    return write


@pytest.fixture
def single(directory):
    """Writes a model directory with one file of weights."""
    return lambda tensors: directory({"model.safetensors": tensors})


def assert_loads(path, expected, dtype="float64"):
    loaded = GPT.load(path, dtype)
    assert loaded.config == CONFIG
    assert loaded.dtype == dtype
    assert set(loaded.parameters) == set(SHAPES)
    for name, parameter in loaded.parameters.items():
        assert parameter.dtype == dtype
        assert np.array_equal(parameter, expected[name].astype(dtype)), name


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_names_may_have_the_prefix_of_a_language_model(single, prefix, dtype):
    arrays = parameters()
    path = single(as_type("F64", {prefix + name: array for name, array in arrays.items()}))
    assert_loads(path, arrays, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["F64", "F32", "F16"])
def test_every_float_type_is_read_as_the_numbers_it_holds(single, kind, dtype):
    arrays = {name: array.astype(NUMPY_TYPES[kind]) for name, array in parameters().items()}
    assert_loads(single(as_type(kind, arrays)), arrays, dtype)


def bfloat16(arrays):
    """Bits of bfloat16 for some arrays, and the numbers that these bits stand for."""
    bits, numbers = {}, {}
    for name, array in arrays.items():
        upper = [struct.pack("<f", u)[2:] for u in array.flat]
        bits[name] = np.array([struct.unpack("<H", b)[0] for b in upper]).reshape(array.shape)
        numbers[name] = np.array([struct.unpack("<f", b"\0\0" + b)[0] for b in upper]).reshape(array.shape)
    return bits, numbers


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bfloat16_is_the_upper_half_of_a_float32(single, dtype):
    bits, numbers = bfloat16(parameters())
    assert_loads(single(as_type("BF16", bits)), numbers, dtype)


def test_types_may_differ_within_a_file(single):
    arrays = parameters()
    bits, numbers = bfloat16(arrays)
    tensors, expected = {}, {}
    for i, name in enumerate(arrays):
        kind = ("F64", "BF16", "F32", "F16")[i % 4]
        if kind == "BF16":
            tensors[name], expected[name] = (kind, bits[name]), numbers[name]
        else:
            expected[name] = arrays[name].astype(NUMPY_TYPES[kind])
            tensors[name] = kind, expected[name]
    assert_loads(single(tensors), expected)


def test_the_masks_of_old_files_are_left_aside(single):
    arrays = parameters()
    masks = {
        "h.0.attn.bias": ("U8", np.ones((1, 1, 6, 6))),
        "h.1.attn.bias": ("F32", np.ones((1, 1, 6, 6))),
        "h.0.attn.masked_bias": ("F32", np.array(-np.inf)),
    }
    assert_loads(single(masks | as_type("F32", arrays)), {n: a.astype("f4") for n, a in arrays.items()})


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("first", [True, False], ids=["head first", "head last"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_output_head_that_equals_the_embedding_is_accepted(single, prefix, first, dtype):
    arrays = parameters()
    tensors = as_type("F64", {prefix + name: array for name, array in arrays.items()})
    head = {"lm_head.weight": ("F64", arrays["wte.weight"])}
    assert_loads(single(head | tensors if first else tensors | head), arrays, dtype)


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("first", [True, False], ids=["head first", "head last"])
def test_an_output_head_of_its_own_is_refused(single, prefix, first):
    arrays = parameters()
    other = arrays["wte.weight"].copy()
    other[-1, -1] += 1e-3
    tensors = as_type("F64", {prefix + name: array for name, array in arrays.items()})
    head = {"lm_head.weight": ("F64", other)}
    path = single(head | tensors if first else tensors | head)
    with pytest.raises(ValueError, match=r"model\.safetensors: lm_head\.weight differs from wte\.weight"):
        GPT.load(path)


def in_two(tensors, first_part):
    """The files and the index of weights that were split; the first part holds the names given."""
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    files = {name: {} for name in names}
    weight_map = {}
    for name, tensor in tensors.items():
        weight_map[name] = names[name not in first_part]
        files[weight_map[name]][name] = tensor
    return files, weight_map


def test_weights_may_be_split_over_files(directory):
    arrays = parameters()
    files, weight_map = in_two(as_type("F64", arrays), list(SHAPES)[:9])
    assert_loads(directory(files, weight_map), arrays)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("embedding", ["wte.weight", "lm_head.weight"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_output_head_is_held_against_an_embedding_in_another_file(directory, dtype, embedding, tied):
    arrays = parameters()
    head = arrays["wte.weight"] if tied else arrays["wte.weight"] + 1
    path = directory(*in_two(as_type("F64", arrays | {"lm_head.weight": head}), [embedding]))
    if tied:
        assert_loads(path, arrays, dtype)
    else:
        with pytest.raises(ValueError, match=r"lm_head\.weight differs from wte\.weight"):
            GPT.load(path, dtype)


def replaced(name, array, kind="F64"):
    return lambda tensors: tensors | {name: (kind, array)}


def without(tensors, n):
    return {name: tensors[name] for name in list(SHAPES)[n:]}


def spoilt(name, number):
    """The same weights with one number replaced."""

    def change(tensors):
        array = tensors[name][1].copy()
        array.flat[-1] = number
        return tensors | {name: ("F64", array)}

    return change


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda t: {n: t[n] for n in t if n != "h.1.ln_2.bias"}, r"no weights for h\.1\.ln_2\.bias$"),
        (lambda t: without(t, 3), r"no weights for wte\.weight, wpe\.weight, h\.0\.ln_1\.weight$"),
        (lambda t: without(t, 4), r"no weights for wte\.weight, .*\.ln_1\.weight and 1 more$"),
        (lambda t: {}, r"no weights for wte\.weight, wpe\.weight, h\.0\.ln_1\.weight and 25 more"),
        (replaced("h.2.ln_1.bias", np.zeros(4)), r"model\.safetensors holds h\.2\.ln_1\.bias"),
        (replaced("score.weight", np.zeros(4)), r"model\.safetensors holds score\.weight"),
        (replaced("wte.weight", np.zeros((4, 5))), r"model\.safetensors: wte\.weight has shape \(4, 5\)"),
        (replaced("ln_f.bias", np.zeros(5)), r"model\.safetensors: ln_f\.bias has shape \(5,\)"),
        (replaced("ln_f.bias", np.zeros((1, 4))), r"model\.safetensors: ln_f\.bias has shape \(1, 4\)"),
        (replaced("lm_head.weight", np.zeros((4, 5))), r"model\.safetensors: lm_head\.weight has shape"),
        (replaced("ln_f.bias", np.zeros(4), "I64"), r"model\.safetensors: ln_f\.bias is stored as I64"),
        (spoilt("h.0.mlp.c_fc.weight", np.nan), r"model\.safetensors: h\.0\.mlp\.c_fc\.weight holds NaN"),
        (spoilt("wte.weight", -np.inf), r"model\.safetensors: wte\.weight holds NaN or infinite"),
        (replaced("ln_f.bias", np.full(4, 0x7FC0), "BF16"), r"model\.safetensors: ln_f\.bias holds NaN"),
        (replaced("transformer.ln_f.bias", np.zeros(4)), r"model\.safetensors.*ln_f\.bias"),
    ],
    ids=[
        "missing", "three missing", "four missing", "all missing", "a layer too many", "unknown",
        "transposed", "too long", "2-d", "head", "integers", "NaN", "infinite", "NaN in BF16", "twice",
    ],
)  # fmt: skip
def test_weights_that_are_not_those_of_the_config_are_refused_by_name(single, change, wrong):
    path = single(change(as_type("F64", parameters())))
    with pytest.raises(ValueError, match=wrong) as refused:
        GPT.load(path)
    assert str(path) in str(refused.value)


def test_a_number_beyond_the_float_type_asked_for_is_refused(single):
    path = single(spoilt("ln_f.bias", 1e300)(as_type("F64", parameters())))
    assert GPT.load(path, "float64").parameters["ln_f.bias"][-1] == 1e300
    with pytest.raises(ValueError, match=r"model\.safetensors.*ln_f\.bias"):
        GPT.load(path, "float32")


WHOLE = safetensors_bytes(as_type("F32", parameters()))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        b"\0" * 64,
        b"\xff" * 64,
        WHOLE[:-1],
        WHOLE[: len(WHOLE) // 2],
        WHOLE[:100],
        WHOLE + b"\0",
    ],
    ids=[
        "empty",
        "short",
        "zeros",
        "ones",
        "cut by one",
        "cut in half",
        "cut in the header",
        "one too many",
    ],
)
def test_a_broken_file_is_refused_and_named(single, data):
    path = single(data)
    with pytest.raises(ValueError, match=re.escape(str(path / "model.safetensors"))):
        GPT.load(path)


def tampered(change):
    """The whole file with another header: `change` takes the entries of two tensors of equal size."""
    (length,) = struct.unpack("<Q", WHOLE[:8])
    header = json.loads(WHOLE[8 : 8 + length])
    change(header["ln_f.weight"], header["ln_f.bias"])
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + WHOLE[8 + length :]


END = len(WHOLE) - 8 - struct.unpack("<Q", WHOLE[:8])[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda gain, bias: bias.update(data_offsets=gain["data_offsets"]),
        lambda gain, bias: bias.update(data_offsets=[n + 4 for n in bias["data_offsets"]]),
        lambda gain, bias: bias.update(data_offsets=[END, END + 16]),
        lambda gain, bias: bias.update(data_offsets=[END - 16, END + 2**40], shape=[2**38 + 4]),
        lambda gain, bias: bias.update(data_offsets=bias["data_offsets"][::-1]),
        lambda gain, bias: bias.update(shape=[2**40, 2**40]),
        lambda gain, bias: bias.update(shape=[-4]),
        lambda gain, bias: bias.update(shape=[2**64, 0]),
    ],
    ids=["overlap", "gap", "behind the end", "over the end", "backwards", "2**80", "negative", "2**64"],
)
def test_a_header_that_does_not_fit_its_file_is_refused_and_named(single, change):
    assert_loads(single(tampered(lambda gain, bias: None)), stored_arrays(WHOLE)[1])
    path = single(tampered(change))
    with pytest.raises(ValueError, match=r"model\.safetensors is not a whole safetensors file"):
        GPT.load(path)


@pytest.mark.parametrize(
    ("size", "number", "wrong"),
    [
        ("n_positions", 10**12, r"wpe\.weight has shape \(6, 4\), config\.json says \(1000000000000, 4\)"),
        ("vocab_size", 10**12, r"wte\.weight has shape \(5, 4\), config\.json says \(1000000000000, 4\)"),
        ("n_embd", 10**12, r"has shape .*, config\.json says"),
        ("n_layer", 10**4, r"no weights for h\.2\.ln_1\.weight"),
        ("n_layer", 10**9, r"n_layer = 1,000,000,000 is more than 10,000"),
    ],
)
def test_what_a_config_claims_is_not_allocated(single, size, number, wrong):
    path = single(WHOLE)
    options = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(options | {size: number}))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=wrong):
            GPT.load(path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_that_may_not_be_read_is_named(single, name, monkeypatch):
    path = single(WHOLE)

    def refuse(file, mode):
        if file.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return file.open(mode)

    monkeypatch.setattr("model.files.open", refuse, raising=False)
    with pytest.raises(PermissionError) as refused:
        GPT.load(path)
    assert refused.value.filename == str(path / name)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "model.safetensors.index.json"])
def test_a_folder_in_place_of_a_file_is_named(directory, name):
    path = directory({})
    (path / name).unlink(missing_ok=True)
    (path / name).mkdir()
    with pytest.raises(OSError, match="must be a file, not a folder") as refused:
        GPT.load(path)
    assert refused.value.filename == str(path / name)


def test_a_broken_part_is_refused_and_named(directory):
    files, weight_map = in_two(as_type("F64", parameters()), ["wte.weight"])
    files["model-00002-of-00002.safetensors"] = b"broken"
    with pytest.raises(ValueError, match=r"model-00002-of-00002\.safetensors"):
        GPT.load(directory(files, weight_map))


def test_numbers_that_are_none_are_refused_with_the_part_that_holds_them(directory):
    tensors = spoilt("ln_f.bias", np.nan)(as_type("F64", parameters()))
    files, weight_map = in_two(tensors, ["wte.weight"])
    with pytest.raises(ValueError, match=r"model-00002-of-00002\.safetensors: ln_f\.bias holds NaN"):
        GPT.load(directory(files, weight_map))


@pytest.mark.parametrize(
    "name", ["../elsewhere.safetensors", "/elsewhere.safetensors", "sub/model.safetensors", "."]
)
def test_an_index_that_leads_out_of_the_directory_is_refused(directory, name):
    path = directory({}, {"wte.weight": name})
    with pytest.raises(ValueError, match=r"model\.safetensors\.index\.json names files outside"):
        GPT.load(path)


@pytest.mark.parametrize("name", ["..", ""])
def test_an_index_that_names_a_directory_is_refused(directory, name):
    with pytest.raises((ValueError, OSError)):
        GPT.load(directory({}, {"wte.weight": name}))


@pytest.mark.parametrize(
    "weight_map", [{"wte.weight": 5}, {"wte.weight": None}, {"wte.weight": ["a"]}, ["a"], 3]
)
def test_an_index_that_is_none_is_refused(directory, weight_map):
    with pytest.raises(ValueError, match=r"model\.safetensors\.index\.json"):
        GPT.load(directory({}, weight_map))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"3", b"{}", b"\xff", pytest.param(b"[" * 100_000, id="too deep")]
)
def test_an_index_without_a_weight_map_is_refused(directory, data):
    path = directory({"model.safetensors.index.json": data})
    with pytest.raises(ValueError, match=r"model\.safetensors\.index\.json must map"):
        GPT.load(path)


def test_a_missing_part_is_reported_as_missing(directory):
    files, weight_map = in_two(as_type("F64", parameters()), ["wte.weight"])
    del files["model-00002-of-00002.safetensors"]
    with pytest.raises(FileNotFoundError, match=r"model-00002-of-00002\.safetensors"):
        GPT.load(directory(files, weight_map))


def test_of_several_missing_parts_the_first_is_reported(directory):
    path = directory({}, {str(i): f"part-{i:02}.safetensors" for i in reversed(range(30))})
    with pytest.raises(FileNotFoundError, match=r"part-00\.safetensors"):
        GPT.load(path)


def test_a_directory_without_weights_is_reported_as_such(directory):
    with pytest.raises(FileNotFoundError, match=r"has no model\.safetensors"):
        GPT.load(directory({}))


def test_a_directory_that_is_not_there_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere"):
        GPT.load(tmp_path / "nowhere")


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_weights_are_not_loaded_into_a_type_that_is_not_computed_in(single, dtype):
    path = single(as_type("F32", parameters()))
    with pytest.raises(ValueError, match="must be float64 or float32"):
        GPT.load(path, dtype)


def test_what_is_written_has_the_names_that_a_language_model_saves(tmp_path):
    arrays = {name: array.astype("f4") for name, array in parameters().items()}
    write_parameters(tmp_path / "model.safetensors", arrays)
    metadata, stored = stored_arrays((tmp_path / "model.safetensors").read_bytes())
    assert metadata == {"format": "pt"}  # old transformers refuse a file without it
    assert set(stored) == {f"transformer.{name}" for name in SHAPES}
    assert all(np.array_equal(stored[f"transformer.{name}"], arrays[name]) for name in SHAPES)
    assert {array.dtype for array in stored.values()} == {np.dtype("float32")}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_model_that_was_written_computes_the_same(directory, perturbed, dtype):
    model = perturbed(CONFIG, dtype)
    path = directory({})
    write_parameters(path / "model.safetensors", model.parameters)
    loaded = GPT.load(path, dtype)
    logits = [m.forward([1, 2, 3], KVCache(CONFIG, dtype=dtype)) for m in (model, loaded)]
    assert np.array_equal(*logits)


def test_writing_leaves_the_old_weights_where_the_disk_fails(single, monkeypatch):
    path = single(WHOLE)

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        write_parameters(path / "model.safetensors", parameters())
    assert (path / "model.safetensors").read_bytes() == WHOLE
    assert sorted(file.name for file in path.iterdir()) == ["config.json", "model.safetensors"]


def test_initial_weights_are_gpt2s():
    config = GPTConfig(n_layer=8, n_head=2, n_embd=64, block_size=64, vocab_size=128)
    for name, array in random_parameters(config, 0, np.dtype("float64")).items():
        if array.ndim == 1:
            assert set(array) == ({1.0} if name.endswith("weight") else {0.0})
            continue
        # Radford et al. 2019: 0.02, and by 1 / sqrt(residual layers) less where the stream is written to.
        expected = 0.02 / 4 if name.endswith("c_proj.weight") else 0.02
        # 4096 numbers at least: the standard error of their deviation is 1.1 %.
        assert array.std() == pytest.approx(expected, rel=0.06)
        assert abs(array.mean()) < 5 * expected / np.sqrt(array.size)
