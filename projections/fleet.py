"""All jobs at a glance: one entry a job for the status bucket.

The bucket is for people and for the sweep; nothing is ever decided from it. An entry is what `dispatch list` needs
of a job, so that any number of jobs is one read.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from projections.record import Record
from projections.status import SETTLED, Alert, Around, Nature, Picture, State, waitings
from projections.status.alerts import alerts_of
from projections.status.state import since_of
from projections.status.view import View
from projections.status.waits.people import gone_back
from streams.messages.values import Instant

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
