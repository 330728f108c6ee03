"""A file is whole or absent, and of several who make one only one does."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.files import NotAFileError, open_file, read_or_none, rotate, write_new, write_once, write_whole


def test_a_file_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    write_whole(tmp_path / "state", b"old")
    write_whole(tmp_path / "state", b"new, and longer")
    assert (tmp_path / "state").read_bytes() == b"new, and longer"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def test_of_many_who_make_a_file_once_one_wins_and_nothing_else_is_left(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda word: write_once(tmp_path / "claim", str(word).encode()), range(32)))
    assert won.count(True) == 1
    assert (tmp_path / "claim").read_bytes() == str(won.index(True)).encode()
    assert [path.name for path in tmp_path.iterdir()] == ["claim"]


def test_a_new_file_is_never_written_over(tmp_path: Path) -> None:
    write_new(tmp_path / "object", b"first")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "object", b"second")
    assert read_or_none(tmp_path / "object") == b"first"


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_or_none(tmp_path / "absent") is None


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT], ids=["read", "write"])
@pytest.mark.parametrize("kind", ["pipe", "pipe-with-a-reader", "socket", "device"])
def test_what_is_no_file_is_not_opened_and_nobody_waits_for_its_other_end(
    tmp_path: Path, kind: str, flags: int
) -> None:
    path = tmp_path / "output"
    reader = None
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "socket":
            listening.bind(str(path))
        elif kind == "device":
            path.symlink_to("/dev/zero")
        else:
            os.mkfifo(path)
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if kind == "pipe-with-a-reader" else None
        with pytest.raises(NotAFileError, match="not a file"):
            open_file(path, flags)
        if reader is not None:
            os.close(reader)


def test_a_folder_is_no_file_to_read(tmp_path: Path) -> None:
    with pytest.raises(NotAFileError):
        open_file(tmp_path, os.O_RDONLY)


@pytest.mark.parametrize("path", ["log", "/dev/null"])
def test_a_file_that_was_opened_waits_for_its_bytes_as_any_other(tmp_path: Path, path: str) -> None:
    descriptor = open_file(tmp_path / path, os.O_WRONLY | os.O_CREAT)
    assert os.get_blocking(descriptor)
    assert os.write(descriptor, b"x") == 1
    os.close(descriptor)


def test_a_log_that_has_grown_too_large_is_put_aside_once_and_the_one_before_it_goes(tmp_path: Path) -> None:
    log = tmp_path / "sv-1.log"
    rotate(log, 4)
    assert list(tmp_path.iterdir()) == []
    for words in (b"one", b"second", b"third"):
        rotate(log, 4)
        with log.open("ab") as file:
            file.write(words)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "sv-1.log": b"third",
        "sv-1.log.1": b"onesecond",
    }
    rotate(log, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["sv-1.log.1"]
