"""What a view of one job is made of: its history, and what can be learned beside it without a supervisor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from dispatch.cli.errors import CliError
from dispatch.cli.session import Read, Session
from dispatch.cli.views.frame import Frame
from dispatch.identity import now
from dispatch.units import whole_number
from projections.controls import Controls, fold_controls
from projections.fleet import FleetEntry, decode, key_of
from projections.status import Alert, Around
from streams.errors import StreamError
from streams.messages.values import Instant
from streams.subjects import CONTROLS


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """What a replica says of itself in its heartbeat, as far as it is shown."""

    name: str
    version: str = ""
    at: Instant
    shards: tuple[int, ...] = ()
    clusters: dict[str, Instant | None] = {}
    open_jobs: int = 0
    in_flight: int = 0
    draining: bool = False
    observing: bool = False


@dataclass(frozen=True, slots=True)
class Beats:
    """The live replicas, by their last heartbeat; None when the bucket did not answer.

    `silent`: those that stopped within the last hour without a drain.
    """

    replicas: tuple[Beat, ...] | None
    silent: tuple[Beat, ...] = ()

    def names(self) -> tuple[str, ...] | None:
        """The names of the live ones that decide; one that only observes is none."""
        return None if self.replicas is None else tuple(beat.name for beat in self.replicas if not beat.observing)

    def read_at(self, cluster: str) -> datetime | None:
        """When a live replica last had a complete Find from the cluster."""
        times = [beat.clusters.get(cluster) for beat in self.replicas or ()]
        return max((at for at in times if at is not None), default=None)


async def beats(session: Session) -> Beats:
    """Every replica's last heartbeat. One that cannot be read is left out."""
    try:
        live = await session.bus.buckets.replicas()
        silent = await session.bus.buckets.silent_replicas()
    except StreamError:
        return Beats(None)
    return Beats(_read(live), _read(silent))


def _read(held: dict[str, bytes]) -> tuple[Beat, ...]:
    found = []
    for data in held.values():
        try:
            found.append(msgspec.json.decode(data, type=Beat))
        except msgspec.DecodeError:
            continue
    return tuple(sorted(found, key=lambda beat: beat.name))


async def told_of(session: Session, job: str) -> FleetEntry | None:
    """What a replica last wrote down of the job: whether its cluster answered, whether its history went backwards."""
    try:
        held = await session.bus.buckets.get_status(key_of(session.tenant, job))
    except StreamError:
        return None
    return decode(held.data) if held is not None else None


async def controls(session: Session, *, until: int | None = None) -> Controls:
    """The tenant's controls as they stand; never less than a receipt of this session told of.

    `until`: as they stood at that revision, which jobs and controls count together.
    """
    entries = (await session.maybe(CONTROLS)).entries
    return fold_controls(Controls(), (each for each in entries if until is None or each.revision <= until))


async def frame_of(session: Session, read: Read, *, live: bool = False, then: bool = False) -> Frame:
    """The job with everything around it, ready to be shown.

    `live`: the cluster is asked too. `then`: told as at its last event read, with what was known at that time.
    """
    tool = session.tool
    if then:
        at = read.record.at or now()
        stood = await controls(session, until=read.record.revision)
        around = Around(now=at, controls=stood, read_at=at)
        return Frame(read.record, around, tool.screen, replace(tool.times(), now=at))
    living = await beats(session)
    spec = read.record.spec
    cluster = spec.cluster if spec is not None else ""
    names = living.names()
    entry = await told_of(session, read.job)
    times = [living.read_at(cluster), entry.cluster_read_at if entry is not None else None]
    read_at = max((at for at in times if at is not None), default=None)
    silent = entry is not None and Alert.UNREACHABLE in entry.alerts
    around = Around(
        now=now(),
        controls=await controls(session),
        read_at=now(),
        cluster_read_at=read_at,
        unreachable_since=(read_at or read.record.at) if silent else None,
        attended=None if names is None else bool(names),
        regressed=entry.regressed if entry is not None else "",
    )
    if live and spec is not None:
        around = await _asked(session, read, around)
    return Frame(read.record, around, tool.screen, tool.times(), names)


async def _asked(session: Session, read: Read, around: Around) -> Around:
    """With what the cluster says now; as last recorded where it gives no answer."""
    from dispatch.cli import cluster as asking

    spec = read.record.spec
    assert spec is not None
    found = await asking.find(session, read.record)
    if found is None:
        session.tool.screen.hint(f"{spec.cluster} gives no answer: shown as last recorded")
        return around
    return msgspec.structs.replace(
        around,
        found=found,
        capabilities=await asking.capabilities_of(session, spec.cluster),
        inspections=await asking.inspections(session, read.record),
    )


def number_of(read: Read, text: str | None, *, default: int, highest: int | None = None) -> int:
    """An event's number from `#22`, `22` or a bus revision `r48219`. Raises CliError (3).

    `highest`: numbers up to this one are taken too, of events yet to come.
    """
    if text is None:
        return default
    revision = _revision(text)
    number = whole_number(text.removeprefix("#"))
    if revision is not None:
        number = next((place for place, entry in enumerate(read.entries, 1) if entry.revision == revision), None)
    if number is not None and 1 <= number <= (len(read.entries) if highest is None else highest):
        return number
    raise CliError(
        f"{read.job} has no event {text[:30]}",
        why=f"its events are #1 to #{len(read.entries)}",
        do=f"dispatch history {read.job}",
        code="no-such-event",
    )


def begin_of(read: Read, text: str | None) -> int:
    """The event to begin with, or to go on with: the number after the last one is of the event yet to come.

    Of a bus revision, the first event at it or after it, since the revisions between are other jobs'. Raises CliError (3).
    """
    revision = _revision(text or "")
    if revision is not None:
        return 1 + sum(entry.revision < revision for entry in read.entries)
    return number_of(read, text, default=1, highest=len(read.entries) + 1)


def _revision(text: str) -> int | None:
    return whole_number(text[1:]) if text.startswith("r") else None
