"""A file is whole or absent, and of several who make one only one does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.files import read_or_none, write_new, write_once, write_whole


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
