"""Files that are there whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`.

    An interruption or a full disk leaves what was there before, never a half. An OSError names `path`.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        _fill_and_rename(Path(name), path, write)
    except OSError as error:
        error.filename = str(path)  # not the temporary file, of which nobody knows
        raise


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file's content, whole or not at all. Raises OSError as `write_whole` does."""
    write_whole(path, lambda temporary: temporary.write_bytes(data))


def write_safetensors(path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write arrays, whole or not at all. Raises OSError where there is no room or no permission."""
    # Not safetensors' own save_file, which says SafetensorError to a full disk too; and it writes the
    # memory of an array as it lies there, whatever its strides.
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_bytes_whole(path, save(contiguous, metadata))


def _fill_and_rename(temporary: Path, path: Path, write: Callable[[Path], object]) -> None:
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp's 0600 would hide a model from the other users of a machine
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
