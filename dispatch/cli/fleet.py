"""Every job of a tenant, or of the cluster typed with `--cluster`, in one read of the status bucket; the replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dispatch.cli.errors import CliError
from dispatch.cli.looking import Beat, Beats, beats
from dispatch.cli.session import Session
from dispatch.identity import now
from projections.fleet import CHECKPOINT, Checkpoint, FleetEntry, decode, decode_checkpoint, listed
from projections.status import Alert
from projections.status.waits.recovery import RETRIES
from streams.errors import StreamError


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """When a cluster last answered; `unreachable`: the latest look at one of its jobs got no answer."""

    name: str
    read_at: datetime | None
    open_jobs: int
    unreachable: bool


@dataclass(frozen=True, slots=True)
class FleetRead:
    """All jobs as the bucket holds them, listed; the replicas; commands that nobody has taken.

    `cluster`: only jobs of this one are here; the replicas and the commands are the bus's all the same.
    """

    tenant: str
    at: datetime
    entries: tuple[FleetEntry, ...]
    living: Beats
    waiting: int | None
    checkpoint: Checkpoint | None
    cluster: str | None = None

    @property
    def replicas(self) -> tuple[Beat, ...] | None:
        """The live ones; None when that cannot be read."""
        return self.living.replicas

    @property
    def open(self) -> list[FleetEntry]:
        """The jobs that are not settled."""
        return [entry for entry in self.entries if not entry.settled]

    @property
    def needing(self) -> list[FleetEntry]:
        """The jobs that need a person now."""
        return [entry for entry in self.entries if entry.needs_person_at(self.at)]

    @property
    def unattended(self) -> int:
        """How many open jobs no live replica decides about; one that only observes is none."""
        return 0 if self.living.names() else len(self.open)

    def clusters(self) -> list[ClusterSeen]:
        """Every cluster that a job or a replica names; of one cluster, this one."""
        times: dict[str, datetime | None] = {}
        for beat in self.replicas or ():
            for name, at in beat.clusters.items():
                times[name] = _newest(times.get(name), at)
        counts: dict[str, int] = {}
        silent = {entry.cluster for entry in self.open if Alert.UNREACHABLE in entry.alerts}
        for entry in self.open:
            counts[entry.cluster] = counts.get(entry.cluster, 0) + 1
            times[entry.cluster] = _newest(times.get(entry.cluster), entry.cluster_read_at)
        shown = [name for name in sorted(times) if name and self.cluster in {None, name}]
        return [ClusterSeen(name, times[name], counts.get(name, 0), name in silent) for name in shown]


def _newest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


async def read_fleet(session: Session) -> FleetRead:
    """One read of the bucket, of the heartbeats and of the command queue's length."""
    typed = session.tool.flags.cluster
    held = [decode(each.data) async for each in session.bus.buckets.list_status(tenant=session.tenant)]
    at = now()
    entries = tuple(listed([each for each in held if each is not None and typed in {None, each.cluster}], at))
    living = await beats(session)
    waiting, checkpoint = await session.waiting(), await _checkpoint(session)
    return FleetRead(session.tenant, at, entries, living, waiting, checkpoint, typed)


async def retries_waiting(session: Session) -> tuple[FleetEntry, ...]:
    """The open jobs whose retry a control keeps, as a replica last wrote them down."""
    entries = (await read_fleet(session)).open
    return tuple(entry for entry in entries if Alert.BRAKE in entry.alerts or entry.waits in RETRIES.values())


async def _checkpoint(session: Session) -> Checkpoint | None:
    """Up to where the bucket is complete; None where that cannot be read."""
    try:
        held = await session.bus.buckets.get_status(CHECKPOINT)
    except StreamError:
        return None
    return decode_checkpoint(held.data) if held is not None else None


def pairs_of(labels: Sequence[str]) -> dict[str, str]:
    """`k=v` words as labels. Raises CliError (2)."""
    pairs = {}
    for label in labels:
        key, equals, value = label.partition("=")
        if not equals or not key or not value:
            raise CliError(f"-l {label[:60]!r} is not K=V", code="bad-usage")
        pairs[key] = value
    return pairs


async def labelled(session: Session, labels: Sequence[str]) -> list[str]:
    """The names of the open jobs that carry all these labels."""
    wanted = pairs_of(labels)
    fleet = await read_fleet(session)
    return [entry.job for entry in fleet.open if wanted.items() <= entry.labels.items()]
