"""The objects of one directory, as they stand on disk: `objects/<job>/<id>/{object,state,script,runs/<run>/}`.

An object is made by one rename of a whole folder; its state is replaced by one rename of a file. So a daemon that is
killed at any point leaves the old or the new, and whatever it was drafting is passed over. What was renamed is in memory
too, also when the disk then fails to promise that it lasts: that is asked of it again by whoever repeats the call, and before anyone is told.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import msgspec

from adapters.files import DRAFT, put, sync_folder, write_new
from adapters.names import scheduler_name
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec
from streams.messages.values import Cause, Instant, ObjectRef, Tag, Value

OBJECT, STATE, SCRIPT, RUNS = "object", "state", "script", "runs"


class ObjectRecord(Value, frozen=True, kw_only=True):
    """What never changes."""

    id: str
    name: JobName
    tag: Tag
    spec: JobSpec
    made_at: Instant


class ObjectState(Value, frozen=True, kw_only=True):
    """What calls and runs change. `run` is the present run, or the next while the gate is shut.

    `requeue`: the run in progress is being ended, to come back to its gate. `end` is the present run's.
    """

    run: int = 0
    opened_at: Instant | None = None
    begun: bool = False
    held: bool = False
    stopped: bool = False
    requeue: bool = False
    end: Cause | None = None
    ended_at: Instant | None = None


class LocalObject:
    """One object: its record, its state in memory and on disk, and where its runs are."""

    def __init__(self, folder: Path, record: ObjectRecord, state: ObjectState) -> None:
        self.folder = folder
        self.record = record
        self.state = state
        self._placed = self._lasting = False

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def live(self) -> bool:
        """Whether a run of it has begun and is not over."""
        return self.state.begun and self.state.end is None

    @property
    def waiting(self) -> bool:
        return self.state.opened_at is not None and not self.state.begun and self.state.end is None

    def ref(self, cluster: str) -> ObjectRef:
        return ObjectRef(cluster=cluster, id=self.id, created=self.record.tag.nonce)

    def run_folder(self, run: int) -> Path:
        return self.folder / RUNS / str(run)

    def change(self, state: ObjectState) -> None:
        """Take this state, on disk first. Given the state that is there, see to it that it lasts."""
        if state != self.state:
            put(self.folder / STATE, msgspec.json.encode(state))
            self.state, self._lasting = state, False
        self.keep()

    def keep(self) -> None:
        """See to it that the object, as it is in memory, outlasts a loss of power; OSError while the disk won't promise."""
        self.keep_place()
        if not self._lasting:
            sync_folder(self.folder)
            self._lasting = True

    def keep_place(self) -> None:
        """See to it that its folder is found again after a loss of power."""
        if not self._placed:
            sync_folder(self.folder.parent)
            sync_folder(self.folder.parent.parent)
            self._placed = True


def object_id(tag: Tag) -> str:
    """The same tag has the same id, so that a Start that comes twice makes one object."""
    name = JobName(installation=tag.installation, tenant=tag.tenant, job=tag.job)
    digest = hashlib.sha256(tag.nonce.encode()).hexdigest()[:8]
    return f"{scheduler_name(name)}.{tag.submission}.{tag.attempt}.{digest}"


class ObjectStore:
    """All objects of one directory, by job. `broken` says which jobs have one that cannot be read, and why."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects: dict[str, dict[str, LocalObject]] = {}
        self.broken: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for job in folder.iterdir():
            if job.name.startswith(DRAFT):
                shutil.rmtree(job)
            else:
                self._load(job)

    def all(self) -> list[LocalObject]:
        return [one for objects in self._objects.values() for one in objects.values()]

    def of(self, name: JobName) -> list[LocalObject]:
        return list(self._objects.get(scheduler_name(name), {}).values())

    def get(self, name: JobName, ref: ObjectRef) -> LocalObject | None:
        """The object with this whole identity; another one that bears its id is not it."""
        one = self._objects.get(scheduler_name(name), {}).get(ref.id)
        return one if one is not None and one.record.tag.nonce == ref.created else None

    def make(self, record: ObjectRecord) -> LocalObject:
        """Put the object on disk, gated; the one that is there if its tag was used before."""
        key = scheduler_name(record.name)
        job = self._folder / key
        one = self._objects.get(key, {}).get(record.id)
        if one is None:
            job.mkdir(mode=0o700, exist_ok=True)
            state = ObjectState()
            self._place(job / record.id, record, state)
            one = LocalObject(job / record.id, record, state)
            self._objects.setdefault(key, {})[record.id] = one
        one.keep_place()
        return one

    def _place(self, folder: Path, record: ObjectRecord, state: ObjectState) -> None:
        """Make the object's folder, whole or not at all: no draft is left where the disk has no room for it."""
        draft = self._folder / f"{DRAFT}{record.id}-{os.urandom(4).hex()}"
        try:
            (draft / RUNS).mkdir(parents=True, mode=0o700)
            write_new(draft / OBJECT, msgspec.json.encode(record))
            write_new(draft / STATE, msgspec.json.encode(state))
            if record.spec.run.script is not None:
                write_new(draft / SCRIPT, record.spec.run.script.encode())
            sync_folder(draft)
            draft.rename(folder)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            raise

    def forget(self, one: LocalObject) -> None:
        """Take an object out of sight, whole, and then off the disk."""
        key = one.folder.parent.name
        draft = self._folder / f"{DRAFT}{one.id}"
        one.folder.rename(draft)
        del self._objects[key][one.id]
        shutil.rmtree(draft)

    def _load(self, job: Path) -> None:
        for folder in job.iterdir():
            try:
                record = msgspec.json.decode((folder / OBJECT).read_bytes(), type=ObjectRecord)
                state = msgspec.json.decode((folder / STATE).read_bytes(), type=ObjectState)
            except (OSError, msgspec.DecodeError) as error:
                self.broken[job.name] = f"object {folder.name} cannot be read from disk: {type(error).__name__}"
                continue
            self._objects.setdefault(job.name, {})[record.id] = LocalObject(folder, record, state)
