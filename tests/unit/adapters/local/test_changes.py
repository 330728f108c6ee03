"""A watcher sees the names written since it began to look, over a new start of the file."""

from __future__ import annotations

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
