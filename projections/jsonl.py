"""Histories as JSON lines: one stored entry a line with its revision, written and read back equal.

`dispatch export` writes them, `dispatch verify --file` and the golden histories read them. A line is

    {"tenant": …, "job": …, "revision": …, "stored_at": …, "event": {the envelope, as it is on the bus}}

with `quarantined` or `unknown` in place of `event` where the bus holds what this release could not read: all that
the entry has of it. Whoever has the bytes of the bus may give them along: they stand under `raw` in base64, and
are what a reader reads. That is done by the codec, the same as from the bus, so a file from a later release gives
`UnknownEvent`, never an error. Lines of several jobs may stand in one file, in any mixture.

CodecError   a line that is no entry; it names the line
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from streams import codec, subjects
from streams.errors import CodecError
from streams.messages.events import Entry, Envelope, Quarantined, UnknownEvent
from streams.messages.values import Instant

_NONE = msgspec.Raw()


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    tenant: str
    job: str
    revision: int
    stored_at: Instant
    event: msgspec.Raw = _NONE
    quarantined: Quarantined | None = None
    unknown: UnknownEvent | None = None
    raw: bytes | None = None


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(_Line)


def dump_line(entry: Entry, raw: bytes | None = None) -> bytes:
    """One line; `raw` is what stands on the bus, kept where writing the entry again would not give it back.

    Raises CodecError for an envelope that no bus would have given.
    """
    content = entry.content
    event = codec.encode_event(content) if isinstance(content, Envelope) else b""
    line = _Line(
        tenant=entry.tenant,
        job=entry.job,
        revision=entry.revision,
        stored_at=entry.stored_at,
        event=msgspec.Raw(event) if event else _NONE,
        quarantined=content if isinstance(content, Quarantined) else None,
        unknown=content if isinstance(content, UnknownEvent) else None,
        raw=None if raw == event else raw,
    )
    return _encoder.encode(line) + b"\n"


def load(data: bytes) -> tuple[Entry, ...]:
    """Every entry of a file, in its order; blank lines are passed over."""
    return tuple(load_lines(data.split(b"\n")))


def load_lines(lines: Iterable[bytes]) -> Iterator[Entry]:
    """The entries of these lines, one at a time, so that a large file need not be held whole."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield load_line(line)
            except CodecError as error:
                raise CodecError(f"line {number}: {error}") from error


def load_line(line: bytes) -> Entry:
    """The entry of one line. Raises CodecError if it holds none."""
    try:
        read = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CodecError(f"not an entry of a history: {error}") from error
    told = bytes(read.event)
    given = [content for content in (read.quarantined, read.unknown) if content is not None]
    if bool(told) + len(given) != 1:
        raise CodecError("not an entry of a history: it holds exactly one of event, quarantined and unknown")
    if read.raw is None and given:
        return _entry(read, given[0])
    try:
        subject = subjects.job(read.tenant, read.job)
    except ValueError as error:
        if given:
            return _entry(read, given[0])
        raise CodecError(f"not an entry of a history: {error}") from error
    data = told if read.raw is None else read.raw
    return codec.decode_event(subject, data, revision=read.revision, stored_at=read.stored_at)


def _entry(line: _Line, content: Quarantined | UnknownEvent) -> Entry:
    return Entry(tenant=line.tenant, job=line.job, revision=line.revision, stored_at=line.stored_at, content=content)


def by_job(entries: Iterable[Entry]) -> dict[tuple[str, str], tuple[Entry, ...]]:
    """The entries of each (tenant, job), each in its own order, jobs in the order they first appear."""
    jobs: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        jobs.setdefault((entry.tenant, entry.job), []).append(entry)
    return {job: tuple(held) for job, held in jobs.items()}
