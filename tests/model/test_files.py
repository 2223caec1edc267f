import errno
import json
import os

import numpy as np
import pytest

from model import files
from model.files import open_file, read_json, write_safetensors, write_whole


@pytest.fixture(params=[None, b"old"], ids=["new", "replaced"])
def target(request, tmp_path):
    """A path where there is nothing yet, or something older."""
    path = tmp_path / "target"
    if request.param is not None:
        path.write_bytes(request.param)
    return path


def state(path):
    """Every file of a path's directory, by name."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def test_a_file_is_written_and_nothing_else_is_left(target):
    write_whole(target, lambda temporary: temporary.write_bytes(b"new"))
    assert state(target) == {"target": b"new"}


def test_until_it_is_whole_the_old_file_stays_and_the_new_one_is_beside_it(target):
    before = target.exists() and target.read_bytes()

    def write(temporary):
        temporary.write_bytes(b"half")
        assert temporary.parent == target.parent
        assert (target.exists() and target.read_bytes()) == before

    write_whole(target, write)
    assert state(target) == {"target": b"half"}


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "disk full"), ValueError("no"), KeyboardInterrupt()], ids=repr
)
def test_a_write_that_fails_leaves_what_was_there(target, error):
    before = state(target)

    def write(temporary):
        temporary.write_bytes(b"half")
        raise error

    with pytest.raises(type(error)):
        write_whole(target, write)
    assert state(target) == before


def test_a_disk_that_fails_at_the_end_leaves_what_was_there(target, monkeypatch):
    before = state(target)

    def fail(descriptor):
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="input/output") as failed:
        write_whole(target, lambda temporary: temporary.write_bytes(b"new"))
    assert state(target) == before
    assert failed.value.filename == str(target)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_the_file_can_be_read_by_other_users(target):
    write_whole(target, lambda temporary: temporary.write_bytes(b"new"))
    assert target.stat().st_mode & 0o777 == 0o644


def test_a_missing_directory_is_reported_as_missing(tmp_path):
    path = tmp_path / "nowhere" / "target"
    with pytest.raises(FileNotFoundError) as failed:
        write_whole(path, lambda temporary: temporary.write_bytes(b"new"))
    assert failed.value.filename == str(path)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12.0).reshape(2, 6)[:, ::2],
        np.arange(6, dtype=np.float32),
    ],
    ids=["C", "Fortran", "strided", "float32"],
)
def test_arrays_are_written_in_the_safetensors_format(target, array):
    write_safetensors(target, {"a": array}, {"key": "value"})
    data = target.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert header["__metadata__"] == {"key": "value"}
    assert header["a"]["dtype"] == f"F{8 * array.itemsize}"
    assert header["a"]["shape"] == list(array.shape)
    begin, end = header["a"]["data_offsets"]
    stored = np.frombuffer(data[8 + length :][begin:end], array.dtype)
    assert stored.tolist() == [number for row in array.tolist() for number in np.ravel(row)]


@pytest.fixture
def a_folder(tmp_path):
    return tmp_path


@pytest.fixture
def a_pipe(tmp_path):
    """With somebody at its other end, or opening it would wait."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    other_end = os.open(path, os.O_RDWR)
    yield path
    os.close(other_end)


@pytest.fixture
def a_device(tmp_path):
    path = tmp_path / "device"
    path.symlink_to("/dev/zero")
    return path


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
@pytest.mark.parametrize("kind", ["a_folder", "a_pipe", "a_device"])
def test_what_is_no_file_is_not_read(kind, request):
    path = request.getfixturevalue(kind)
    for read in (open_file, read_json):
        with pytest.raises(OSError, match="must be a file, not a folder, a pipe or a device") as refused:
            read(path)
        assert refused.value.filename == str(path)


def test_a_json_file_is_read_up_to_a_size(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    path.write_text('"12345"')
    monkeypatch.setattr(files, "MOST_JSON", 7)
    assert read_json(path) == "12345"
    path.write_text('"123456"')
    with pytest.raises(ValueError, match=r"file\.json is too large: at most 7 bytes are read"):
        read_json(path)


@pytest.mark.parametrize("content", [b"", b"{", b'"\xff"', b"[" * 200_000, b"9" * 5000])
def test_what_is_no_json_is_refused_and_named(tmp_path, content):
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"file\.json is not JSON in UTF-8"):
        read_json(tmp_path / "file.json")
