"""Histories as files: JSON lines with revisions, and a manifest with their SHA-256.

A line is that of `projections.jsonl`, so that `verify --file` reads it anywhere and a restore gives back, byte for
byte, what stood on the bus.

ExportError    the file is no export, or was changed since it was written
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from projections.jsonl import dump_line
from streams import codec, subjects
from streams.jetstream.generation import Exported
from streams.messages.events import Entry, Envelope, JobSubmitted
from streams.messages.values import Instant
from streams.ports import Stored

REDACTABLE = ("env", "reason")
REDACTED = "redacted"


class ExportError(ValueError):
    """One sentence: what is wrong with the file."""


class Origin(NamedTuple):
    """Whose history an export is of."""

    installation: str
    generation: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds. `whole`: every message of every tenant, so that it can be restored.

    `installation` and `generation` are the history's: a restore keeps the one, or no object would be found under its
    name again, and goes above the other, so that writers of a history that was lost are refused.
    """

    schema: str = "dispatch.export/1"
    at: Instant
    installation: str
    generation: int
    tenants: tuple[str, ...]
    jobs: int
    events: int
    bytes: int
    sha256: str
    first_revision: int
    last_revision: int
    whole: bool
    redacted: tuple[str, ...] = ()


class Writer:
    """Writes lines and counts them; `manifest` when done."""

    def __init__(self, path: Path, redact: tuple[str, ...] = ()) -> None:
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._redact = redact
        self._names: set[tuple[str, str]] = set()
        self.events = 0
        self.bytes = 0
        self._first = 0
        self._last = 0

    @property
    def jobs(self) -> int:
        """How many histories were written."""
        return len(self._names)

    def entry(self, entry: Entry, data: bytes | None = None) -> None:
        """One more entry; `data` is what stands on the bus, where it was read."""
        line = dump_line(redacted(entry, self._redact), None if self._redact else data)
        self._file.write(line)
        self._digest.update(line)
        self._names.add((entry.tenant, entry.job))
        self.events += 1
        self.bytes += len(line)
        self._first = self._first or entry.revision
        self._last = entry.revision

    def stored(self, stored: Stored) -> None:
        """One more message as it lies on the bus."""
        entry = codec.decode_event(stored.subject, stored.data, revision=stored.revision, stored_at=stored.stored_at)
        self.entry(entry, stored.data)

    def manifest(self, origin: Origin, *, at: datetime, whole: bool) -> Manifest:
        """Close the file; what it holds."""
        self._file.close()
        return Manifest(
            at=at,
            installation=origin.installation,
            generation=origin.generation,
            tenants=tuple(sorted({tenant for tenant, _ in self._names})),
            jobs=self.jobs,
            events=self.events,
            bytes=self.bytes,
            sha256=self._digest.hexdigest(),
            first_revision=self._first,
            last_revision=self._last,
            whole=whole and not self._redact,
            redacted=self._redact,
        )


def manifest_path(path: Path) -> Path:
    """Where the manifest of an export lies."""
    return path.with_name(f"{path.name}.manifest.json")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Put the manifest beside its export."""
    manifest_path(path).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")


def read_manifest(path: Path) -> Manifest:
    """The manifest of an export whose bytes are the ones it names. Raises ExportError."""
    try:
        manifest = msgspec.json.decode(manifest_path(path).read_bytes(), type=Manifest)
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ExportError(f"{error.filename} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ExportError(f"{manifest_path(path)} is no manifest: {error}") from error
    if found != manifest.sha256:
        raise ExportError(f"{path} was changed since it was exported: its sha256 is {found[:12]}…")
    return manifest


def exported(path: Path) -> Iterator[Exported]:
    """Every message of a whole export, in order, as it stood on the bus. Raises ExportError."""
    with path.open("rb") as file:
        yield from _messages(file)


def _messages(lines: Iterable[bytes]) -> Iterator[Exported]:
    for number, line in enumerate(lines, 1):
        try:
            held = msgspec.json.decode(line, type=_Line)
            data = bytes(held.event) if held.raw is None else held.raw
            subject = subjects.job(held.tenant, held.job)
        except (msgspec.DecodeError, ValueError) as error:
            raise ExportError(f"line {number} is no entry: {error}") from error
        if not data:
            raise ExportError(f"line {number} does not hold what stood on the bus: the export is not whole")
        yield Exported(subject=subject, data=data, revision=held.revision)


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job: str
    revision: int
    event: msgspec.Raw = msgspec.Raw()
    raw: bytes | None = None


def redacted(entry: Entry, what: tuple[str, ...]) -> Entry:
    """The entry without what may not leave: values of `env`, and people's words (`reason`)."""
    content = entry.content
    if not what or not isinstance(content, Envelope):
        return entry
    changes: dict[str, Any] = {}
    if "reason" in what and content.note is not None:
        changes["note"] = REDACTED
    if isinstance(content.event, JobSubmitted):
        spec = content.event.spec
        if "env" in what:
            spec = msgspec.structs.replace(spec, env=dict.fromkeys(spec.env, REDACTED))
        if "reason" in what and spec.hold is not None:
            spec = msgspec.structs.replace(spec, hold=REDACTED)
        changes["event"] = msgspec.structs.replace(content.event, spec=spec)
    return msgspec.structs.replace(entry, content=msgspec.structs.replace(content, **changes))
