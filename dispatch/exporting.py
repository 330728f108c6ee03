"""Histories as files: JSON lines with revisions, and a manifest with their SHA-256.

A line is that of `projections.jsonl`, so that `verify --file` reads it anywhere and a restore gives back, byte for
byte, what stood on the bus.

ExportError        the file is no export, or was changed since it was written
NotWrittenError    the export could not be written; what stood there before still stands
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import msgspec

from adapters.files import NotAFileError, draft_name, sync_folder
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


class NotWrittenError(Exception):
    """`path` and, in the system's words, why nothing was written to it."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written")
        self.why = error.strerror or str(error)


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
    """Writes lines beside the target and counts them; `finish` puts them, and then their manifest, where they belong.

    Left without `finish`, nothing is changed: an earlier export stays whole until the new one is, a power cut included.
    Every method raises NotWrittenError.
    """

    def __init__(self, path: Path, redact: tuple[str, ...] = ()) -> None:
        self._path = path
        self._redact = redact
        self._digest = hashlib.sha256()
        self._names: set[tuple[str, str]] = set()
        self.events = 0
        self.bytes = 0
        self._first = 0
        self._last = 0

    def __enter__(self) -> Self:
        with _writing(self._path):
            self._lines = _Draft(self._path)
            try:
                self._told = _Draft(manifest_path(self._path))
            except OSError:
                self._lines.drop()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.drop()
        self._told.drop()

    @property
    def jobs(self) -> int:
        """How many histories were written."""
        return len(self._names)

    def entry(self, entry: Entry, data: bytes | None = None) -> None:
        """One more entry; `data` is what stands on the bus, where it was read."""
        line = dump_line(redacted(entry, self._redact), None if self._redact else data)
        with _writing(self._path):
            self._lines.file.write(line)
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

    def finish(self, origin: Origin, *, at: datetime, whole: bool) -> Manifest:
        """Put both files in place; what they hold. On disk before this returns."""
        manifest = Manifest(
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
        with _writing(self._path):
            self._told.file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
            for draft in (self._lines, self._told):
                draft.settle()
            for draft in (self._lines, self._told):
                draft.put()
            for folder in {draft.target.parent for draft in (self._lines, self._told)}:
                sync_folder(folder)
        return manifest


class _Draft:
    """A file on its way to its name, with the rights of the one that it replaces; a link leads to its target."""

    def __init__(self, path: Path) -> None:
        self.target = path.resolve()
        self._draft = Path(draft_name(str(self.target)))
        rights = _rights(self.target)
        self.file: BinaryIO = self._draft.open("xb")
        if rights is not None:
            os.fchmod(self.file.fileno(), rights)

    def settle(self) -> None:
        """All of it on disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def put(self) -> None:
        """Under its name, in place of what was there."""
        self._draft.replace(self.target)

    def drop(self) -> None:
        """Nothing of it is left, unless it was put."""
        with suppress(OSError):  # what a full disk did not take is not wanted any more
            self.file.close()
        with suppress(OSError):
            self._draft.unlink()


def _rights(target: Path) -> int | None:
    """Who may read what is replaced; None if there is nothing yet."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise NotAFileError
    return stat.S_IMODE(mode)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotWrittenError(path, error) from error


def manifest_path(path: Path) -> Path:
    """Where the manifest of an export lies."""
    return path.parent / f"{path.name}.manifest.json"


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
