"""L14: after the history lost its newest events in place, nothing that was held of it is believed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest

from dispatch.act import Hands
from dispatch.replica import follower
from dispatch.replica.follower import OpenJobs, write_checkpoint
from dispatch.replica.passes import Passes, Records
from dispatch.replica.telling import Teller
from dispatch.supervisor import Pass
from projections import fleet
from projections.controls import Controls
from projections.evolve import empty, fold
from projections.fleet import Checkpoint
from projections.record import Record
from streams import subjects
from streams.memory import MemoryBus
from streams.messages.event_ids import event_id
from streams.messages.events import ControlsSet, Entry, Envelope, Event, JobCancelled, JobSettled, JobSubmitted
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec, Run

AT = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
SUBMITTED = JobSubmitted(spec=JobSpec(cluster="sim", run=Run(command=("a",))), plan=RecoveryPlan(), digest="d")
NLP_LLAMA = ("nlp", "llama")


class Ground:
    """A bus in memory, and a replica's hands on it without any cluster."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.ids = 0
        self.told: list[tuple[Pass, Controls]] = []
        self.hands = Hands(
            history=self.bus.history,
            adapter_of=lambda _: None,
            clock=lambda: AT,
            new_id=self.new_id,
            by="replica:sv-a",
            installation="inst",
            spawn=lambda call: call.close(),
            wake=self.bus.wakeups.wake,
            publish=self.publish,
        )
        self.teller = Teller(self.bus.buckets, self.hands, lambda _: None)
        self.records = Records(10)
        self.passes = Passes(self.hands, self.bus.wakeups, self.records, self.tell)

    def new_id(self) -> str:
        self.ids += 1
        return event_id(AT, self.ids.to_bytes(10, "big"))

    async def publish(self, record: Record) -> None: ...

    async def tell(self, done: Pass, controls: Controls) -> None:
        self.told.append((done, controls))
        await self.teller.tell(done, controls)

    async def append(self, event: Event, expected: int, *, job: str = "llama") -> int:
        whole = Envelope(
            id=self.new_id(),
            tenant="nlp",
            job=job,
            expected=expected,
            at=AT,
            by="replica:sv-a",
            event=event,
            reason=Reason.PERSON_CONTROLS,
        )
        return await self.bus.history.append(whole)

    async def others(self, count: int) -> None:
        """Foreign bytes on the subjects of other jobs."""
        for _ in range(count):
            await self.bus.history.store_bytes("dispatch.job.nlp.other", b"{}")

    async def told_of(self, job: str) -> fleet.FleetEntry | None:
        stored = await self.bus.buckets.get_status(fleet.key_of("nlp", job))
        return fleet.decode(stored.data) if stored is not None else None

    async def checkpoint(self) -> int:
        stored = await self.bus.buckets.get_status(fleet.CHECKPOINT)
        told = fleet.decode_checkpoint(stored.data) if stored is not None else None
        assert told is not None
        return told.complete_to

    async def put_checkpoint(self, complete_to: int) -> None:
        told = fleet.encode(Checkpoint(complete_to=complete_to, at=AT, by="sv-b"))
        await self.bus.buckets.put_status(fleet.CHECKPOINT, told, expected=None)


@contextlib.asynccontextmanager
async def following(
    ground: Ground, jobs: OpenJobs, lost: Callable[[], None] = lambda: None
) -> AsyncIterator[asyncio.Task[None]]:
    async def seen(entry: Entry) -> None: ...

    task = asyncio.create_task(follower.follow(ground.bus.history, jobs, seen, lost))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not met():
            await asyncio.sleep(0.001)  # waits: the follower to read on


async def test_controls_held_from_what_was_lost_are_read_again() -> None:
    """A person's `retries stop` after the loss binds the very next pass."""
    ground = Ground()
    await ground.others(5)
    first = await ground.append(ControlsSet(retries=False), 0, job=subjects.CONTROLS)
    await ground.append(ControlsSet(retries=True), first, job=subjects.CONTROLS)
    await ground.passes.look("nlp", "llama")
    assert ground.told[-1][1].standing(None).retries
    ground.bus.history.go_back_to(3)
    await ground.append(ControlsSet(retries=False), 0, job=subjects.CONTROLS)
    ground.passes.forget()
    await ground.passes.look("nlp", "llama")
    assert not ground.told[-1][1].standing(None).retries


async def test_a_pass_under_way_when_all_is_forgotten_keeps_nothing_of_what_it_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground = Ground()
    await ground.append(SUBMITTED, 0)
    read = ground.bus.history.read
    asked: list[int] = []

    async def read_and_forget(tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        asked.append(after)
        entries = await read(tenant, job, after=after)
        if len(asked) == 2:
            ground.passes.forget()
        return entries

    monkeypatch.setattr(ground.bus.history, "read", read_and_forget)
    for _ in range(3):
        await ground.passes.look("nlp", "llama")
    assert asked == [0, 0, 0, 0, 0, 1]  # controls and job, three times; the third look begins from what the second kept


async def test_a_pass_refused_for_what_was_lost_lets_every_fold_go() -> None:
    ground = Ground()
    await ground.others(3)
    await ground.append(ControlsSet(retries=True), 0, job=subjects.CONTROLS)
    await ground.append(JobCancelled(), 0)
    ground.records.keep(fold(empty("nlp", "llama"), await ground.bus.history.read("nlp", "llama")))
    await ground.passes.look("nlp", "bert")
    ground.bus.history.go_back_to(3)
    await ground.append(ControlsSet(retries=False), 0, job=subjects.CONTROLS)
    done = await ground.passes.look("nlp", "llama")
    assert done.record.empty
    assert not ground.told[-1][1].standing(None).retries


async def test_a_follower_begins_again_from_the_first_event_when_the_history_is_shorter_than_what_it_met() -> None:
    ground, jobs, losses = Ground(), OpenJobs(), []
    await ground.append(SUBMITTED, 0)
    await ground.others(8)
    await ground.append(SUBMITTED, 0, job="lost")
    async with following(ground, jobs):
        await until(lambda: jobs.revision == 10)
    assert jobs.open == {NLP_LLAMA, ("nlp", "lost")}
    ground.bus.history.go_back_to(5)
    await ground.append(SUBMITTED, 0, job="new")
    async with following(ground, jobs, lambda: losses.append(jobs.revision)):
        await until(lambda: jobs.revision == 6)
        assert jobs.open == {NLP_LLAMA, ("nlp", "new")}
        await ground.others(9)
        await until(lambda: jobs.revision == 15)
    assert losses == [0]


async def test_a_replica_whose_checkpoint_is_beyond_the_history_follows_all_of_it_and_is_complete() -> None:
    ground, jobs = Ground(), OpenJobs()
    await ground.append(SUBMITTED, 0)
    await ground.put_checkpoint(10)
    await follower.begin(jobs, ground.bus.buckets)
    assert jobs.revision == 10
    async with following(ground, jobs):
        async with asyncio.timeout(20):
            await jobs.complete.wait()
    assert jobs.open == {NLP_LLAMA}


async def test_a_checkpoint_beyond_the_history_is_moved_back_so_that_no_replica_begins_behind_lost_events() -> None:
    ground, jobs = Ground(), OpenJobs()
    await ground.put_checkpoint(10)
    await follower.begin(jobs, ground.bus.buckets)
    await ground.append(SUBMITTED, 0)
    async with following(ground, jobs):
        await until(lambda: jobs.revision == 1)
    assert await write_checkpoint(jobs, ground.bus.buckets, AT, "sv-a") == (NLP_LLAMA,)
    assert await ground.checkpoint() == 0
    await ground.passes.look("nlp", "llama")
    assert await write_checkpoint(jobs, ground.bus.buckets, AT, "sv-a") == ()
    assert await ground.checkpoint() == 1


async def test_a_checkpoint_is_not_moved_back_by_a_replica_that_lags() -> None:
    ground, jobs = Ground(), OpenJobs()
    await ground.others(3)
    async with following(ground, jobs):
        await until(lambda: jobs.revision == 3)
    jobs.met.clear()
    await ground.put_checkpoint(10)
    await write_checkpoint(jobs, ground.bus.buckets, AT, "sv-a")
    assert await ground.checkpoint() == 10


async def test_a_status_that_tells_of_lost_events_is_replaced_by_what_the_history_has() -> None:
    """A job told as settled by events that are gone is open again, for people and for the next replica."""
    ground, jobs = Ground(), OpenJobs()
    revision = await ground.append(SUBMITTED, 0)
    await ground.others(3)
    cancelled = await ground.append(JobCancelled(), revision)
    await ground.append(JobSettled(), cancelled)
    await ground.passes.look("nlp", "llama")
    told = await ground.told_of("llama")
    assert told is not None
    assert (told.settled, told.revision) == (True, 6)
    ground.bus.history.go_back_to(2)
    async with following(ground, jobs):
        await until(lambda: jobs.revision == 2)
    await ground.put_checkpoint(2)
    assert NLP_LLAMA not in await write_checkpoint(jobs, ground.bus.buckets, AT, "sv-a")  # it may only lag
    jobs.went_back = True
    assert NLP_LLAMA in await write_checkpoint(jobs, ground.bus.buckets, AT, "sv-a")
    assert await ground.checkpoint() == 0
    ground.passes.forget()
    ground.teller.forget()
    await ground.passes.look("nlp", "llama")
    told = await ground.told_of("llama")
    assert told is not None
    assert (told.settled, told.revision) == (False, 1)


async def test_a_status_newer_than_a_late_look_stays() -> None:
    ground = Ground()
    revision = await ground.append(SUBMITTED, 0)
    await ground.passes.look("nlp", "llama")
    older = ground.told[-1]
    await ground.append(JobCancelled(), revision)
    await ground.passes.look("nlp", "llama")
    ground.teller.forget()
    await ground.teller.tell(*older)
    told = await ground.told_of("llama")
    assert told is not None
    assert told.revision == 2
