"""Bytes that nobody meant: readers answer in their own words or not at all, whatever they are given.

Each target is fuzzed for `FUZZ_SECONDS`; a fault that was found stays as an input of its own in `FOUND`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dispatch.jobfile import JobFileError, read_job_file
from projections.evolve import empty, fold
from projections.timeline import timeline
from projections.verify import verify
from streams import codec, subjects
from streams.errors import CodecError
from streams.messages.checks import spec_faults
from streams.messages.commands import SubmitJob
from streams.messages.events import Envelope, Quarantined, UnknownEvent
from tests.properties.fuzz import SECONDS, fuzz

ROOT = Path(__file__).parents[2]
HISTORIES = sorted((ROOT / "tests" / "histories").rglob("*.jsonl"))
JOBS = sorted((ROOT / "examples" / "jobs").glob("*.yaml"))
AT = datetime(2026, 11, 28, 21, 14, tzinfo=UTC)
SENTENCE_MAX = 2000
pytestmark = pytest.mark.timeout(SECONDS + 100)


def stored() -> list[bytes]:
    """The event of every line of every golden history, as it is on the bus."""
    lines = [json.loads(line) for path in HISTORIES for line in path.read_text().splitlines()]
    return [json.dumps(line["event"]).encode() for line in lines if isinstance(line.get("event"), dict)]


def commands() -> list[bytes]:
    """A submit of each example, and the other verbs in the form that the schemas give them."""
    fields = {"command": "c-1", "tenant": "nlp", "job": "llama", "at": "2026-11-29T22:08:00Z"}
    made = []
    for path in JOBS:
        job = read_job_file(path.read_bytes())
        submit = SubmitJob(command="c-1", tenant="nlp", job="llama", at=AT, spec=job.spec, plan=job.plan)
        made.append(codec.encode_command(submit))
    ref = {"cluster": "sim", "id": "1", "created": "x"}
    others: dict[str, dict[str, object]] = {
        "cancel": {"if_unknown": "record"},
        "hold": {"now": True, "instance": "h-1"},
        "release": {"instances": ["h-1"]},
        "requeue": {"run": 0, "resubmit": True},
        "dispose": {"target": {"kind": "message", "revision": 7}, "disposition": "ignore"},
        "attest": {"node": "n17", "state": "off", "object": ref, "run": 0},
        "control": {"cluster": "sim", "retries": "off"},
    }
    return made + [json.dumps({"verb": verb, **fields, **more}).encode() for verb, more in others.items()]


def an_event(data: bytes) -> None:
    entry = codec.decode_event("dispatch.job.nlp.llama-7b", data, revision=7, stored_at=AT)
    assert isinstance(entry.content, Envelope | Quarantined | UnknownEvent)
    if isinstance(entry.content, Envelope):
        again = codec.decode_event(
            "dispatch.job.nlp.llama-7b", codec.encode_event(entry.content), revision=7, stored_at=AT
        )
        assert again == entry
    if isinstance(entry.content, UnknownEvent):
        assert len(entry.content.type) < SENTENCE_MAX
    if isinstance(entry.content, Quarantined):
        assert len(entry.content.why) < SENTENCE_MAX


def a_command(data: bytes) -> None:
    for verb in ("submit", "cancel", "dispose", "attest"):
        subject = subjects.command("nlp", "ana", verb, "llama")
        told, command = "", None
        try:
            command = codec.decode_command(subject, data)
        except CodecError as error:
            told = str(error)
        assert len(told) < SENTENCE_MAX
        assert command is None or codec.decode_command(subject, codec.encode_command(command)) == command


def a_job_file(data: bytes) -> None:
    told, job = "job.yaml", None
    try:
        job = read_job_file(data, source="job.yaml", cluster="local")
    except JobFileError as error:
        told = str(error)
    assert told.startswith("job.yaml")
    assert max(map(len, told.splitlines())) < SENTENCE_MAX
    if job is not None:
        assert spec_faults(job.spec, job.plan) == ()
        codec.encode_command(SubmitJob(command="c-1", tenant="nlp", job="llama", at=AT, spec=job.spec, plan=job.plan))


def a_history(data: bytes) -> None:
    """Lines of bytes, one an event: what a history holds when somebody else wrote into it."""
    entries = [
        codec.decode_event("dispatch.job.nlp.llama-7b", line, revision=number, stored_at=AT)
        for number, line in enumerate(data.splitlines(), 1)
    ]
    record = fold(empty("nlp", "llama-7b"), entries)
    assert record.number == len(entries)
    assert len(timeline(entries)) == len(entries)
    assert verify(entries).events == len(entries)


def whole_histories() -> list[bytes]:
    """Golden histories as such lines, their job's name made one."""
    made = []
    for path in HISTORIES:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        events = [line["event"] for line in lines if isinstance(line.get("event"), dict)]
        made.append(b"\n".join(json.dumps(event | {"tenant": "nlp", "job": "llama-7b"}).encode() for event in events))
    return made


def test_no_bytes_on_a_jobs_subject_raise_and_what_is_read_is_written_the_same() -> None:
    assert fuzz(stored(), an_event) > 100


def test_no_bytes_on_a_commands_subject_raise_but_in_one_sentence() -> None:
    assert fuzz(commands(), a_command) > 100


def test_no_job_file_raises_but_as_a_list_of_mistakes() -> None:
    assert fuzz([path.read_bytes() for path in JOBS], a_job_file) > 10


def test_no_history_that_somebody_else_wrote_into_keeps_it_from_being_folded_told_and_judged() -> None:
    assert fuzz(whole_histories(), a_history) > 10


FOUND = [
    ("event", stored()[0].replace(b"JobSubmitted", b"Job" + b"x" * 70_000)),
    (
        "event",
        next(data for data in stored() if b"CallCommitted" in data).replace(b'"open"', b'"' + b"x" * 70_000 + b'"'),
    ),
    ("command", next(data for data in commands() if b"{rank}" in data).replace(b"{rank}", b"{" + b"[" * 2000 + b"}")),
    ("job file", b"version: 1\nrun: {command: [a]}\n" + b"x" * 70_000 + b": 1\n"),
    ("job file", b"version: 2\nrun: {command: [a]}\n" + b"x" * 70_000 + b": 1\n"),
    ("command", commands()[-1].replace(b'"control"', b'"' + b"{a: " * 1500 + b'"')),
]
TARGETS = {"event": an_event, "command": a_command, "job file": a_job_file, "history": a_history}


@pytest.mark.parametrize(("target", "data"), FOUND)
def test_what_the_fuzzer_once_found_is_answered(target: str, data: bytes) -> None:
    TARGETS[target](data)
