"""A watcher sees the names written since it began to look, over a new start of the file."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.local.changes import BYTES_MAX, ChangesReader, ChangesWriter
from streams.messages.calls import JobName


def name(job: str) -> JobName:
    return JobName(installation="main", tenant="nlp", job=job)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[ChangesWriter]:
    writer = ChangesWriter(tmp_path)
    yield writer
    writer.close()


def test_each_name_is_seen_once_and_only_what_came_since_the_last_look(tmp_path: Path, writer: ChangesWriter) -> None:
    writer.note(name("before"))
    reader = ChangesReader(tmp_path)
    for job in ("a", "b", "a"):
        writer.note(name(job))
    assert list(reader.read()) == [name("a"), name("b")]
    assert list(reader.read()) == []
    writer.note(name("a"))
    assert list(reader.read()) == [name("a")]


def test_a_watcher_that_was_there_first_sees_the_first_name(tmp_path: Path) -> None:
    reader = ChangesReader(tmp_path)
    assert list(reader.read()) == []
    writer = ChangesWriter(tmp_path)
    writer.note(name("a"))
    writer.close()
    assert list(reader.read()) == [name("a")]


def test_the_file_starts_anew_when_it_is_long_and_a_watcher_goes_on(tmp_path: Path, writer: ChangesWriter) -> None:
    reader = ChangesReader(tmp_path)
    many = BYTES_MAX // len("main nlp x\n") + 2
    for _ in range(many):
        writer.note(name("x"))
    writer.note(name("last"))
    assert (tmp_path / "changes").stat().st_size < 100
    assert name("last") in list(reader.read())


def test_a_line_that_is_not_whole_yet_waits_for_its_end(tmp_path: Path) -> None:
    reader = ChangesReader(tmp_path)
    with (tmp_path / "changes").open("ab", buffering=0) as file:
        file.write(b"main nlp a\nmain nl")
        assert list(reader.read()) == [name("a")]
        file.write(b"p b\n")
    assert list(reader.read()) == [name("b")]


def test_while_no_new_file_can_be_made_the_old_one_serves_on(tmp_path: Path, writer: ChangesWriter) -> None:
    (tmp_path / "changes.new").mkdir()
    reader = ChangesReader(tmp_path)
    while (tmp_path / "changes").stat().st_size <= BYTES_MAX:
        writer.note(name("x" * 60))
    for job in ("a", "b"):
        writer.note(name(job))
    assert list(reader.read())[-2:] == [name("a"), name("b")]
    (tmp_path / "changes.new").rmdir()
    writer.note(name("c"))
    assert list(reader.read()) == [name("c")]
    assert (tmp_path / "changes").stat().st_size < 100


@pytest.mark.parametrize("room", [0, 5, len("main nlp torn")])
def test_on_a_full_disk_a_line_is_lost_and_the_next_is_whole(tmp_path: Path, writer: ChangesWriter, room: int) -> None:
    reader = ChangesReader(tmp_path)
    writer.note(name("first"))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "changes").stat().st_size + room, unlimited[1]))
    try:
        writer.note(name("torn"))
        writer.note(name("lost"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    writer.note(name("last"))
    seen = list(reader.read())
    assert (seen[0], seen[-1]) == (name("first"), name("last"))
    assert set(seen) <= {name("first"), name("torn"), name("last")}


def test_a_torn_line_of_a_writer_that_was_killed_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "changes").write_bytes(b"main nlp a\nmain nl")
    reader = ChangesReader(tmp_path)
    writer = ChangesWriter(tmp_path)
    writer.note(name("b"))
    writer.close()
    assert list(reader.read()) == [name("b")]


@pytest.mark.parametrize("line", [b"main nlp", b"main nlp amain nlp b", b"main nlp Not_A_Name", b"\xff \xff \xff", b""])
def test_a_line_that_is_no_name_is_passed_over(tmp_path: Path, line: bytes) -> None:
    reader = ChangesReader(tmp_path)
    (tmp_path / "changes").write_bytes(b"main nlp a\n" + line + b"\nmain nlp b\n")
    assert list(reader.read()) == [name("a"), name("b")]
