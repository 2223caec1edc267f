"""Files that are read only as far as they are what they should be, and written whole or not at all."""

import errno
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save

MOST_JSON = 8 * 2**20  # bytes: more than any model's, and read in half a second, whatever it holds


def open_file(path: Path) -> BinaryIO:
    """Open to read what is a file: a pipe might never end, nor a device. Raises OSError for those too."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "must be a file, not a folder, a pipe or a device", str(path))
    return open(path, "rb")


def read_bytes(path: Path) -> bytes:
    """All that a file holds. Raises OSError for what is no file."""
    with open_file(path) as file:
        return file.read()


def read_json(path: Path) -> Any:
    """What a JSON file holds. Raises OSError for what is no file, ValueError for what is no JSON."""
    with open_file(path) as file:
        data = file.read(MOST_JSON + 1)
    if len(data) > MOST_JSON:
        raise ValueError(f"{path} is too large: at most {MOST_JSON:,} bytes are read")
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # JSON and UTF-8 errors, and nesting without end
        raise ValueError(f"{path} is not JSON in UTF-8: {error}") from None


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
