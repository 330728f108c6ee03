"""Names of the open jobs, kept by following the whole history from the status bucket's checkpoint on.

A cache: a replica that has none begins from the first event, or from where the bucket is complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from projections import fleet
from projections.fleet import Checkpoint
from projections.status import State
from streams import subjects
from streams.errors import BusClosedError, ConflictError, RegressionError, StreamError, WrongStreamError
from streams.messages.events import Entry, Envelope, JobSettled, JobSubmitted
from streams.ports import Buckets, Caught, History

SETTLED_WATCHED = timedelta(hours=1)

log = structlog.get_logger("dispatch.follower")
Name = tuple[str, str]


class OpenJobs:
    """Jobs that are not settled, jobs settled a short while ago, and the last revision met of each since the start.

    An event of a job that is neither is one that came after its settlement, such as of a run by hand: it is looked at
    for as long as one just settled, and not opened, since nothing would ever settle it again.
    """

    def __init__(self) -> None:
        self.open: set[Name] = set()
        self.settled: dict[Name, datetime] = {}
        self.met: dict[Name, int] = {}
        self.revision = 0
        self.went_back = False
        self.complete = asyncio.Event()

    def forget(self) -> None:
        """Begin again before the first event: what was met may be no longer in the history (L14)."""
        self.open.clear()
        self.settled.clear()
        self.met.clear()
        self.revision = 0
        self.went_back = True

    def apply(self, entry: Entry) -> None:
        """One more entry of any job; controls are no job."""
        self.revision = entry.revision
        if entry.job == subjects.CONTROLS:
            return
        name = (entry.tenant, entry.job)
        self.met[name] = entry.revision
        event = entry.content.event if isinstance(entry.content, Envelope) else None
        if isinstance(event, JobSettled):
            self.open.discard(name)
            self.settled[name] = entry.stored_at
        elif name in self.open:
            return
        elif _begins(entry):
            self.settled.pop(name, None)
            self.open.add(name)
        else:
            self.settled[name] = entry.stored_at

    def lost(self, told: int) -> bool:
        """Whether an event of that revision, later than any met of its job, is one that the history has lost."""
        return self.went_back or told <= self.revision

    def to_look_at(self, now: datetime) -> tuple[Name, ...]:
        """Every open job, and the lately settled ones, whose objects may yet be run by hand (L1)."""
        for name in [n for n, at in self.settled.items() if now - at >= SETTLED_WATCHED]:
            del self.settled[name]
            self.met.pop(name, None)
        return (*sorted(self.open), *sorted(self.settled))


def _begins(entry: Entry) -> bool:
    """Whether a job begins with this event: it is its first, or one that foreign bytes may stand before."""
    content = entry.content
    return isinstance(content, Envelope) and (content.expected == 0 or isinstance(content.event, JobSubmitted))


async def begin(jobs: OpenJobs, buckets: Buckets) -> list[tuple[str, str, str]]:
    """Start from what the bucket holds, if it says up to where it is complete.

    Returns who runs by its word: tenant, cluster and job; nobody if the history is followed from its first event.
    Whether the history reaches that far is for `follow` to find out.
    """
    stored = await buckets.get_status(fleet.CHECKPOINT)
    checkpoint = fleet.decode_checkpoint(stored.data) if stored is not None else None
    running: list[tuple[str, str, str]] = []
    if checkpoint is None:
        return running
    async for entry in buckets.list_status():
        told = fleet.decode(entry.data)
        if told is not None and not told.settled:
            jobs.open.add(told.name)
            if told.state is State.RUNNING:
                running.append((told.tenant, told.cluster, told.job))
    jobs.revision = checkpoint.complete_to
    return running


async def follow(
    history: History, jobs: OpenJobs, seen: Callable[[Entry], Awaitable[None]], lost: Callable[[], None] = lambda: None
) -> None:
    """Keep the open jobs current for ever; a lost bus is waited for, and nothing is missed.

    A history that ends before what was met of it, or before the bucket's checkpoint, is followed again from its first
    event; `lost` is told before that (L14).
    Raises WrongStreamError when a newer generation of the history has taken over, and BusClosedError when the bus
    does not come back on this connection.
    """
    while True:
        try:
            async for item in history.follow(after=jobs.revision):
                if isinstance(item, Caught):
                    jobs.complete.set()
                    continue
                jobs.apply(item)
                await seen(item)
        except (WrongStreamError, BusClosedError):
            raise
        except RegressionError as error:
            log.error("the history lost its newest events: followed again from its first", why=str(error))
            jobs.forget()
            lost()
        except StreamError as error:
            log.warning("following the history again", why=str(error))
            await asyncio.sleep(1.0)


async def write_checkpoint(jobs: OpenJobs, buckets: Buckets, now: datetime, by: str) -> tuple[Name, ...]:
    """Say up to which event the bucket's entries are complete; the jobs whose entries are behind.

    An entry that is behind holds the checkpoint back to before the first event that it lacks, and one that tells of
    events which the history has lost, to before the first of all. A checkpoint is moved back only then.
    """
    told: dict[Name, int] = {}
    async for stored in buckets.list_status():
        entry = fleet.decode(stored.data)
        if entry is not None:
            told[entry.name] = entry.revision
    reached = jobs.revision
    lacking = [name for name, last in jobs.met.items() if told.get(name, 0) < last]
    beyond = [name for name, last in jobs.met.items() if last < told.get(name, 0) and jobs.lost(told[name])]
    reached = 0 if beyond else min([reached, *(told.get(name, 0) for name in lacking)])
    behind = (*lacking, *beyond)
    known = await buckets.get_status(fleet.CHECKPOINT)
    held = fleet.decode_checkpoint(known.data) if known is not None else None
    if held is not None and (held.complete_to == reached or (held.complete_to > reached and not jobs.went_back)):
        return behind
    checkpoint = fleet.encode(Checkpoint(complete_to=reached, at=now, by=by))
    try:
        await buckets.put_status(fleet.CHECKPOINT, checkpoint, expected=known.revision if known else None)
        jobs.went_back = False
    except ConflictError:
        log.debug("another replica wrote the checkpoint")
    return behind
