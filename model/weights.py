"""The parameters of a GPT-2: made at random, or read from and written to a model directory."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open

from model.config import GPTConfig, parameter_shapes
from model.files import open_file, read_json, write_safetensors

WEIGHTS = "model.safetensors"
HEAD = "lm_head.weight"
INDEX = "model.safetensors.index.json"  # names the files of weights that were split

# Masks that old versions of transformers stored among the weights.
BUFFERS = (".attn.bias", ".attn.masked_bias")


def random_parameters(config: GPTConfig, seed: int, dtype: np.dtype) -> dict[str, np.ndarray]:
    """GPT-2's initial values: matrices normal with deviation 0.02, gains 1, biases 0.

    What is added to the residual stream is scaled by 1 / sqrt(2 n_layer) (Radford et al. 2019, 2.3).
    """
    rng = np.random.default_rng(seed)
    parameters = {}
    for name, shape in parameter_shapes(config).items():
        if len(shape) == 2:
            deviation = 0.02
            if name.endswith("c_proj.weight"):
                deviation /= math.sqrt(2 * config.n_layer)
            parameters[name] = (rng.standard_normal(shape) * deviation).astype(dtype)
        else:
            value = 1 if name.endswith("weight") else 0
            parameters[name] = np.full(shape, value, dtype=dtype)
    return parameters


def read_parameters(directory: Path, config: GPTConfig, dtype: np.dtype) -> dict[str, np.ndarray]:
    """Read a GPT-2's weights from a directory, in any float type, and return them in `dtype`.

    Raises ValueError where a tensor is missing, has another shape, is unknown, or is not finite, and
    FileNotFoundError where there are no weights. Shapes are checked before anything is read.
    """
    shapes = parameter_shapes(config)
    arrays: dict[str, np.ndarray] = {}
    source: dict[str, Path] = {}
    for path in _weight_files(directory):
        for stored_name, array in _read_file(path, shapes):
            name = stored_name.removeprefix("transformer.")
            if name in arrays:
                raise ValueError(f"{path}: {stored_name} is there twice")
            arrays[name], source[name] = array, path
    if missing := [name for name in shapes if name not in arrays]:
        raise ValueError(f"{directory} has no weights for {_listed(missing)}")
    if HEAD in arrays and not np.array_equal(arrays.pop(HEAD), arrays["wte.weight"]):
        raise ValueError(f"{source[HEAD]}: {HEAD} differs from wte.weight; only a tied head is implemented")
    with np.errstate(over="ignore"):  # too large for `dtype`: found below, by name
        parameters = {name: np.ascontiguousarray(arrays[name], dtype=dtype) for name in shapes}
    for name, parameter in parameters.items():
        if not np.isfinite(parameter).all():
            raise ValueError(f"{source[name]}: {name} holds NaN or infinite numbers in {dtype}")
    return parameters


def write_parameters(path: Path, parameters: dict[str, np.ndarray]) -> None:
    """Write weights under the names that `GPT2LMHeadModel` saves; whole or not at all."""
    arrays = {f"transformer.{name}": parameter for name, parameter in parameters.items()}
    write_safetensors(path, arrays, {"format": "pt"})


def _weight_files(directory: Path) -> list[Path]:
    if (directory / WEIGHTS).exists():
        return [directory / WEIGHTS]
    if not (directory / INDEX).exists():
        raise FileNotFoundError(f"{directory} has no {WEIGHTS}")
    try:
        index = read_json(directory / INDEX)
        names = sorted({name if Path(name).name == name else "" for name in index["weight_map"].values()})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{directory / INDEX} must map tensors to files in its weight_map") from None
    if "" in names:
        raise ValueError(f"{directory / INDEX} names files outside {directory}")
    return [directory / name for name in names]


def _read_file(path: Path, shapes: dict[str, tuple[int, ...]]) -> list[tuple[str, np.ndarray]]:
    """Names and arrays of a safetensors file, its names and shapes checked first."""
    try:
        # Opened first by us: safetensors waits for a pipe, and calls missing whatever it may not read.
        with open_file(path), safe_open(path, framework="np") as file:
            headers = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            headers = {n: h for n, h in headers.items() if not n.endswith(BUFFERS)}
            for name, header in headers.items():
                _check_header(path, name, tuple(header.get_shape()), header.get_dtype(), shapes)
            if all(header.get_dtype() != "BF16" for header in headers.values()):
                return [(name, file.get_tensor(name)) for name in headers]
        stored = dict(deserialize(path.read_bytes()))  # type: ignore[no-untyped-call]
        return [(name, _from_raw(stored[name])) for name in headers]
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file: {error}") from None


def _check_header(
    path: Path,
    stored_name: str,
    shape: tuple[int, ...],
    dtype: str,
    shapes: dict[str, tuple[int, ...]],
) -> None:
    name = stored_name.removeprefix("transformer.")
    expected = shapes["wte.weight"] if name == HEAD else shapes.get(name)
    if expected is None:
        raise ValueError(f"{path} holds {stored_name}, which is no part of this GPT-2")
    if shape != expected:
        raise ValueError(f"{path}: {stored_name} has shape {shape}, config.json says {expected}")
    if dtype not in ("F64", "F32", "F16", "BF16"):
        raise ValueError(f"{path}: {stored_name} is stored as {dtype}, which is not a float type we read")


def _from_raw(tensor: dict[str, Any]) -> np.ndarray:
    """A tensor of `safetensors.deserialize`; NumPy has no bfloat16, the upper half of a float32."""
    if tensor["dtype"] == "BF16":
        array = (np.frombuffer(tensor["data"], "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        array = np.frombuffer(tensor["data"], "<f" + str(int(tensor["dtype"][1:]) // 8))
    return array.reshape(tensor["shape"])


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
