"""All jobs at a glance: one entry a job for the status bucket, and the fold over every history that rebuilds it.

The bucket is for people and for the sweep; nothing is ever decided from it. An entry is what `dispatch list` needs
of a job, so that any number of jobs is one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from projections.controls import Controls, fold_controls
from projections.evolve import empty, fold
from projections.record import Record
from projections.status import SETTLED, Alert, Around, Nature, Picture, State, waitings
from projections.status.alerts import alerts_of
from projections.status.state import since_of
from projections.status.view import View
from projections.status.waits.people import gone_back
from streams.messages.events import Entry
from streams.messages.values import Instant
from streams.subjects import CONTROLS

CHECKPOINT = "_complete"
LINE_MAX = 200
Name = tuple[str, str]


class FleetEntry(View, frozen=True, kw_only=True):
    """One job in the fleet. `revision` and `number` say of which prefix of its history it tells.

    `waits`: the first wait in one line, "" without one; `waits_since` and `nature` belong to it. `person_at`: when it
    needs a person unless something happens before; None if time alone never changes that. `cluster_read_at`: the last
    good Find. `regressed`: why the pass found the history behind (L14), for whoever reads without a Find. `runs`: how
    many began. `outcome` and `cause` once an outcome stands.
    """

    tenant: str
    job: str
    state: State
    since: Instant | None
    waits: str
    waits_since: Instant | None
    nature: Nature | None
    needs_person: bool
    person_at: Instant | None
    alerts: tuple[Alert, ...]
    regressed: str = ""
    nodes: int
    gpus: int
    cluster: str
    owner: str
    labels: dict[str, str]
    submitted_at: Instant | None
    revision: int
    number: int
    cluster_read_at: Instant | None
    runs: int
    outcome: str | None
    cause: str | None

    @property
    def name(self) -> Name:
        return (self.tenant, self.job)

    @property
    def key(self) -> str:
        return key_of(self.tenant, self.job)

    @property
    def settled(self) -> bool:
        return self.state in SETTLED

    def needs_person_at(self, now: datetime) -> bool:
        """Whether it needs a person now, though the entry may have been written before it did."""
        return self.needs_person or (self.person_at is not None and now >= self.person_at)


class Checkpoint(View, frozen=True, kw_only=True):
    """Up to which sequence of the history the bucket's entries are complete; kept under `CHECKPOINT`."""

    complete_to: int
    at: Instant
    by: str


def key_of(tenant: str, job: str) -> str:
    """The job's key in the status bucket."""
    return f"{tenant}.{job}"


def encode(entry: FleetEntry | Checkpoint) -> bytes:
    return msgspec.json.encode(entry)


def decode(data: bytes) -> FleetEntry | None:
    """The entry in these bytes, or None if they hold none that this release can read: the history has it all."""
    try:
        return msgspec.json.decode(data, type=FleetEntry)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def decode_checkpoint(data: bytes) -> Checkpoint | None:
    """The checkpoint in these bytes, or None: then the fleet is rebuilt from the first event."""
    try:
        return msgspec.json.decode(data, type=Checkpoint)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def entry_of(record: Record, around: Around) -> FleetEntry:
    """The job's entry at this revision of its record."""
    picture = Picture(record, around)
    waits = sorted(waitings(picture), key=lambda w: not w.told(around.now).nature.needs_person)
    first = waits[0] if waits else None
    told = first.told(around.now) if first else None
    alerts = alerts_of(picture)
    spec = record.spec
    outcome = record.outcome
    return FleetEntry(
        tenant=record.tenant,
        job=record.job,
        state=picture.state,
        since=since_of(record),
        waits=line_of(told.what) if told else "",
        waits_since=told.since if told else None,
        nature=told.nature if told else None,
        needs_person=any(a.needs_person for a in alerts) or any(w.told(around.now).nature.needs_person for w in waits),
        person_at=min((w.person_at for w in waits if w.person_at is not None), default=None),
        alerts=alerts,
        regressed=gone_back(picture),
        nodes=spec.nodes if spec else 0,
        gpus=spec.nodes * spec.resources.gpus_per_node if spec else 0,
        cluster=spec.cluster if spec else "",
        owner=record.submitted_by,
        labels=spec.labels if spec else {},
        submitted_at=record.submitted_at,
        revision=record.revision,
        number=record.number,
        cluster_read_at=_read_at(record, around),
        runs=sum(1 for o in record.objects.values() for r in o.runs if r.started_at is not None),
        outcome="cancelled" if record.cancel else outcome.outcome.value if outcome else None,
        cause=outcome.cause.kind.value if outcome else None,
    )


def _read_at(record: Record, around: Around) -> datetime | None:
    """The newest look at the cluster that is known of."""
    found_at = around.found.as_of if around.found else None
    return max((at for at in (found_at, around.cluster_read_at, record.as_of) if at is not None), default=None)


def line_of(what: str) -> str:
    """A wait in one line: without what it stands before."""
    return what.split(", before ", 1)[0][:LINE_MAX]


def listed(entries: Iterable[FleetEntry], now: datetime) -> list[FleetEntry]:
    """In the order of `dispatch list`: those that need a person first, then open ones, then by name."""
    return sorted(entries, key=lambda e: (not e.needs_person_at(now), e.settled, e.tenant, e.job))


class Fleet:
    """The fold over all histories: a record for every open job, an entry for every settled one.

    Entries must come in order of revision. A settled job's record is let go; what comes after settlement, and what
    comes for a job restored from the bucket, makes the job `stale`: its own history has to be read to tell it.
    """

    def __init__(self) -> None:
        self.complete_to = 0
        self.controls: dict[str, Controls] = {}
        self.stale: set[Name] = set()
        self._records: dict[Name, Record] = {}
        self._entries: dict[Name, FleetEntry] = {}

    def restore(self, entries: Iterable[FleetEntry], complete_to: int) -> None:
        """Begin from what the bucket holds, complete up to that sequence, instead of from the first event."""
        self._entries = {entry.name: entry for entry in entries}
        self._records.clear()
        self.stale.clear()
        self.complete_to = complete_to

    def apply(self, entry: Entry) -> None:
        """One more entry of any history; ones at or below `complete_to` change nothing."""
        if entry.revision <= self.complete_to:
            return
        self.complete_to = entry.revision
        if entry.job == CONTROLS:
            held = self.controls.get(entry.tenant, Controls())
            self.controls[entry.tenant] = fold_controls(held, (entry,))
            return
        name = (entry.tenant, entry.job)
        known = self._entries.get(name)
        if known is not None and name not in self._records:
            if entry.revision > known.revision:
                self.stale.add(name)
            return
        record = fold(self._records.get(name) or empty(*name), (entry,))
        if record.settled:
            self._records.pop(name, None)
            self.put(self._told(record, record.settled_at or entry.stored_at))
        else:
            self._records[name] = record

    def put(self, entry: FleetEntry) -> bool:
        """An entry that somebody told from the job's own history; False if a newer prefix is held already."""
        known = self._entries.get(entry.name)
        if known is not None and known.revision > entry.revision:
            return False
        self._entries[entry.name] = entry
        self.stale.discard(entry.name)
        return True

    def hold(self, record: Record, now: datetime) -> None:
        """A job's record, read from its own history: no longer stale."""
        name = (record.tenant, record.job)
        self.put(self._told(record, now))
        if record.settled:
            self._records.pop(name, None)
        else:
            self._records[name] = record

    def unsettled(self) -> frozenset[Name]:
        """Every job that is not settled, as far as this fleet is complete."""
        open_entries = {name for name, entry in self._entries.items() if not entry.settled}
        return frozenset(open_entries | set(self._records))

    def record(self, tenant: str, job: str) -> Record | None:
        """The folded record of an open job, if this fleet has folded it from its first event."""
        return self._records.get((tenant, job))

    def entries(self, now: datetime, around: Mapping[str, Around] | None = None) -> list[FleetEntry]:
        """Every job's entry, told at `now`, listed. `around`: by cluster, what is known beside the records."""
        told = dict(self._entries)
        for name, record in self._records.items():
            known = told.get(name)
            if known is None or known.revision < record.revision:
                told[name] = self._told(record, now, around)
        return listed(told.values(), now)

    def _told(self, record: Record, now: datetime, around: Mapping[str, Around] | None = None) -> FleetEntry:
        cluster = record.spec.cluster if record.spec else ""
        known = (around or {}).get(cluster) or Around(now=now)
        controls = self.controls.get(record.tenant, Controls())
        return entry_of(record, msgspec.structs.replace(known, now=now, controls=controls))
