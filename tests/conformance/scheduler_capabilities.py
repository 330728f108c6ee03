"""The suites of the optional capabilities: a test class takes those that its adapter claims."""

from __future__ import annotations

import asyncio

import pytest

from adapters.errors import DeadlinePassedError, RefusedError, UnreachableError
from adapters.port import Inspects, ReadsOutput, Watches
from streams.messages.values import CessationAnswer, HoldSeen, ObjectRef, Phase
from tests.conformance.scheduler_world import (
    Behaviour,
    Job,
    World,
    eventually,
    fails_or_does_nothing,
    is_over,
    job_of,
    running,
)

BEGUN = (Phase.RUNNING, Phase.ENDING, Phase.ENDED)
PAST_S = -1.0


class Suite:
    @pytest.fixture
    def job(self, world: World) -> Job:
        return job_of(world)


class HoldSuite(Suite):
    async def test_a_held_object_starts_no_run_until_it_is_released(self, world: World, job: Job) -> None:
        can = await world.adapter.capabilities()
        ref = await job.start()
        await job.hold(ref)
        opened = not can.gate_is_hold
        if not can.gate_is_hold:
            try:
                await job.open(ref)
            except UnreachableError:
                opened = False  # a held object may be away from its gate: nothing was done
            await world.pass_time(world.calm_s)
            held = await job.see(ref)
            assert held.hold is HoldSeen.USER
            assert held.phase not in BEGUN
        assert await job.executions() == []
        await job.release(ref, can.first_run)
        if not can.gate_is_hold and not opened:
            await job.reaches(ref, Phase.GATED)
            await job.open(ref)
        await job.begins(1)
        assert (await job.reaches(ref, Phase.RUNNING)).hold is HoldSeen.NONE
        await job.stop(ref)

    async def test_a_hold_leaves_a_run_in_progress_alone_unless_it_says_otherwise(self, world: World, job: Job) -> None:
        can = await world.adapter.capabilities()
        ref = await running(job)
        await job.hold(ref)
        await world.pass_time(world.calm_s)
        if not can.hold_ends_run:
            assert (await job.see(ref)).phase is Phase.RUNNING
            assert await job.alive() == 1
        await job.stop(ref)

    async def test_a_hold_or_release_past_its_deadline_is_refused(self, world: World, job: Job) -> None:
        ref = await job.start()
        with pytest.raises(DeadlinePassedError):
            await job.hold(ref, within_s=PAST_S)
        with pytest.raises(DeadlinePassedError):
            await job.release(ref, (await world.adapter.capabilities()).first_run, within_s=PAST_S)
        await world.pass_time(world.calm_s)
        assert await job.executions() == []

    async def test_a_hold_or_release_of_an_object_that_is_not_there_is_refused(self, world: World, job: Job) -> None:
        absent = ObjectRef(cluster=world.cluster, id="987654", created="0" * 26)
        with pytest.raises(RefusedError):
            await job.hold(absent)
        with pytest.raises(RefusedError):
            await job.release(absent)


class RequeueSuite(Suite):
    async def test_a_requeue_ends_the_run_keeps_the_object_and_waits_for_its_next_open(
        self, world: World, job: Job
    ) -> None:
        first = (await world.adapter.capabilities()).first_run
        ref = await running(job)
        await job.requeue(ref, first)
        gated = await job.reaches(ref, Phase.GATED)
        assert gated.object == ref
        assert gated.run == first + 1
        await world.pass_time(world.calm_s)
        assert [(e.run, e.alive) for e in await job.executions()] == [(first, False)]
        await job.open(ref, first + 1)
        await job.begins(2)
        assert [(e.run, e.alive) for e in await job.executions()] == [(first, False), (first + 1, True)]
        await job.reaches(ref, Phase.RUNNING, run=first + 1)
        await job.stop(ref)

    async def test_an_ended_object_is_requeued_where_the_adapter_says_so(self, world: World, job: Job) -> None:
        can = await world.adapter.capabilities()
        job.behaviour = Behaviour.EXITS_WITH_3
        ref = await job.start()
        await job.open(ref)
        await job.reaches(ref, Phase.ENDED)
        if Phase.ENDED in can.requeue_of:
            await job.requeue(ref, can.first_run)
            assert (await job.reaches(ref, Phase.GATED)).run == can.first_run + 1
        else:
            with pytest.raises(RefusedError):
                await job.requeue(ref, can.first_run)
        await job.stop(ref)

    async def test_a_requeue_past_its_deadline_is_refused_and_the_run_goes_on(self, world: World, job: Job) -> None:
        ref = await running(job)
        with pytest.raises(DeadlinePassedError):
            await job.requeue(ref, (await world.adapter.capabilities()).first_run, within_s=PAST_S)
        await world.pass_time(world.calm_s)
        assert (await job.see(ref)).phase is Phase.RUNNING
        assert await job.alive() == 1
        await job.stop(ref)

    async def test_a_late_requeue_or_open_cannot_land_on_a_later_run_where_calls_are_fenced(
        self, world: World, job: Job
    ) -> None:
        can = await world.adapter.capabilities()
        first = can.first_run
        ref = await running(job)
        await job.requeue(ref, first)
        await job.reaches(ref, Phase.GATED, run=first + 1)
        if can.fenced_calls:
            with pytest.raises(RefusedError):
                await job.open(ref, first)
            await world.pass_time(world.calm_s)
            assert (await job.see(ref)).phase is Phase.GATED
        await job.open(ref, first + 1)
        await job.reaches(ref, Phase.RUNNING, run=first + 1)
        await job.begins(2)
        if can.fenced_calls:
            await fails_or_does_nothing(job.requeue(ref, first))
            await world.pass_time(world.calm_s)
            assert (await job.see(ref)).run == first + 1
            assert await job.alive() == 1
        await job.stop(ref)

    async def test_a_stopped_object_is_not_brought_back_by_a_requeue(self, world: World, job: Job) -> None:
        ref = await running(job)
        await job.stop(ref)
        await is_over(job, ref)
        await fails_or_does_nothing(job.requeue(ref, (await world.adapter.capabilities()).first_run))
        await world.pass_time(world.calm_s)
        assert len(await job.executions()) == 1


class CessationSuite(Suite):
    async def test_a_running_run_may_run_and_a_stopped_one_has_ceased(self, world: World, job: Job) -> None:
        first = (await world.adapter.capabilities()).first_run
        ref = await running(job)
        assert await job.answer(ref, first) is CessationAnswer.MAY_RUN
        await job.stop(ref)

        async def ceased() -> bool | None:
            return True if await job.answer(ref, first) is CessationAnswer.CEASED else None

        await eventually(world, ceased, "its processes are proven gone")
        assert await job.alive() == 0

    async def test_an_earlier_run_is_answered_for_after_a_later_one_began(self, world: World, job: Job) -> None:
        can = await world.adapter.capabilities()
        if not can.requeue_of:
            return
        first = can.first_run
        ref = await running(job)
        await job.requeue(ref, first)
        await job.reaches(ref, Phase.GATED, run=first + 1)
        await job.open(ref, first + 1)
        await job.begins(2)

        async def ceased() -> bool | None:
            return True if await job.answer(ref, first) is CessationAnswer.CEASED else None

        await eventually(world, ceased, "the first run's processes are proven gone")
        assert await job.answer(ref, first + 1) is CessationAnswer.MAY_RUN
        await job.stop(ref)


class WatchSuite(Suite):
    async def test_a_change_wakes_its_job(self, world: World, job: Job) -> None:
        assert isinstance(world.adapter, Watches)
        adapter = world.adapter

        async def woken() -> None:
            while True:  # a watch may end; it is begun again
                async for name in adapter.watch():
                    if name == job.name:
                        return
                await asyncio.sleep(0)

        waiting = asyncio.create_task(woken())

        async def change() -> bool | None:
            if not waiting.done():
                await job.start(1, job.calls + 1)
            return True if waiting.done() else None

        await eventually(world, change, "a wake-up for the job")
        await waiting
        await job.stop_job()


class OutputSuite(Suite):
    async def test_each_ranks_output_is_read_on_from_where_the_last_read_ended(self, world: World, job: Job) -> None:
        assert isinstance(world.adapter, ReadsOutput)
        first = (await world.adapter.capabilities()).first_run
        job.behaviour, job.ranks = Behaviour.COMPLETES, 2
        ref = await job.start()
        await job.open(ref)
        await job.reaches(ref, Phase.ENDED)
        for rank in range(2):
            told = await world.adapter.read_output(job.name, ref, first, rank)
            assert f"rank {rank} began\n".encode() in told.data
            assert told.next == len(told.data)
            assert (told.source != "", told.written_at is not None) == (True, True)
            more = await world.adapter.read_output(job.name, ref, first, rank, offset=told.next)
            assert (more.data, more.next) == (b"", told.next)
            tail = await world.adapter.read_output(job.name, ref, first, rank, offset=-5)
            assert tail.data == told.data[-5:]


class InspectSuite(Suite):
    async def test_an_object_behind_its_gate_says_why_it_waits(self, world: World, job: Job) -> None:
        assert isinstance(world.adapter, Inspects)
        ref = await job.start()
        assert (await world.adapter.inspect(job.name, ref)).pending_reason
