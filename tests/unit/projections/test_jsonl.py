"""Histories as JSON lines: written and read back equal, whatever the bus held."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from projections import jsonl
from streams import codec, subjects
from streams.errors import CodecError
from streams.messages.events import Entry, Envelope, Quarantined, UnknownEvent
from tests.unit.projections.lawful import LAWFUL, plain_success
from tests.unit.projections.story import BEGIN, Story


def dump(entries: Iterable[Entry]) -> bytes:
    """A file of these entries."""
    return b"".join(map(jsonl.dump_line, entries))


@pytest.mark.parametrize("name", LAWFUL)
def test_a_history_is_read_back_equal(name: str) -> None:
    entries = tuple(LAWFUL[name]().entries)
    assert jsonl.load(dump(entries)) == entries


def test_a_line_holds_the_envelope_as_it_stands_on_the_bus_and_its_revision() -> None:
    entry = plain_success().entries[2]
    assert isinstance(entry.content, Envelope)
    line = json.loads(jsonl.dump_line(entry))
    assert line["revision"] == entry.revision
    assert line["event"] == json.loads(codec.encode_event(entry.content))


def test_what_nobody_can_read_keeps_its_place_and_its_reason() -> None:
    story = plain_success().strange(Quarantined(why="no envelope: JSON is malformed"))
    story.strange(UnknownEvent(type="NodeDrained", v=2))
    assert jsonl.load(dump(story.entries)) == tuple(story.entries)


@pytest.mark.parametrize(
    "data",
    [b"}{ rubbish \xff\x00", b'{"v":2,"tenant":"nlp","job":"llama-7b","event":{"type":"NodeDrained"}}', b"{}}}"],
    ids=["rubbish", "later release", "braces"],
)
def test_foreign_bytes_that_are_given_along_survive(data: bytes) -> None:
    subject = subjects.job("nlp", "llama-7b")
    entry = codec.decode_event(subject, data, revision=7, stored_at=BEGIN)
    line = jsonl.dump_line(entry, data)
    assert base64.b64decode(json.loads(line)["raw"]) == data
    assert jsonl.load_line(line) == entry


def test_bytes_that_writing_the_entry_gives_back_anyway_are_not_written_twice() -> None:
    entry = plain_success().entries[0]
    assert isinstance(entry.content, Envelope)
    assert jsonl.dump_line(entry, codec.encode_event(entry.content)) == jsonl.dump_line(entry)


def test_an_unknown_field_on_the_bus_survives_beside_the_event() -> None:
    entry = plain_success().entries[0]
    assert isinstance(entry.content, Envelope)
    data = codec.encode_event(entry.content)[:-1] + b',"colour":"blue"}'
    line = jsonl.dump_line(entry, data)
    assert base64.b64decode(json.loads(line)["raw"]) == data
    assert jsonl.load_line(line) == entry


def test_a_file_of_a_later_release_gives_unknown_events_and_no_error() -> None:
    line = jsonl.dump_line(plain_success().entries[0]).replace(b'"JobSubmitted"', b'"JobAdmitted"')
    assert jsonl.load_line(line).content == UnknownEvent(type="JobAdmitted", v=1)


def test_a_line_whose_envelope_was_changed_is_read_as_the_bus_would_read_it() -> None:
    line = jsonl.dump_line(plain_success().entries[0]).replace(
        b'"tenant":"nlp","job":"llama-7b","exp', b'"tenant":"x","exp'
    )
    assert isinstance(jsonl.load_line(line).content, Quarantined)


def test_a_message_under_a_name_that_no_job_can_have_is_kept() -> None:
    entry = Entry(
        tenant="nlp",
        job="Not A Job",
        revision=9,
        stored_at=datetime(2026, 11, 29, tzinfo=UTC),
        content=Quarantined(why="job 'Not A Job' must be 1 to 63 of a-z"),
    )
    assert jsonl.load_line(jsonl.dump_line(entry, b"\xff")) == entry


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"not json",
        b'{"tenant":"nlp","job":"a","revision":1,"stored_at":"2026-11-29T22:08:00Z"}',
        b'{"tenant":"nlp","job":"a","revision":1,"stored_at":"2026-11-29T22:08:00","quarantined":{"why":"x"}}',
        b'{"tenant":"nlp","job":"A","revision":1,"stored_at":"2026-11-29T22:08:00Z","event":{}}',
        b'{"tenant":"nlp","job":"a","revision":1,"stored_at":"2026-11-29T22:08:00Z","event":{},"quarantined":{"why":"x"}}',
        b"[" * 100_000,
        b"\xff",
    ],
    ids=["empty", "null", "text", "nothing", "no zone", "no name", "two contents", "deep", "no utf-8"],
)
def test_a_line_that_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(CodecError, match="not an entry of a history"):
        jsonl.load_line(line)


def test_a_file_with_a_bad_line_names_it_and_blank_lines_are_passed_over() -> None:
    good = dump(plain_success().entries[:2])
    with pytest.raises(CodecError, match=r"^line 4: not an entry"):
        jsonl.load(b"\n" + good + b"}{\n")
    assert len(jsonl.load(b"\n" + good + b"  \r\n")) == 2


def test_histories_of_several_jobs_in_one_file_are_told_apart() -> None:
    one, two = Story("one").submitted(), Story("two").submitted()
    mixed = [one.entries[0], two.entries[0], *one.later(1).authorized().entries[1:]]
    assert jsonl.by_job(jsonl.load(dump(mixed))) == {
        ("nlp", "one"): tuple(one.entries),
        ("nlp", "two"): tuple(two.entries),
    }
