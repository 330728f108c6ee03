"""What every scheduler adapter keeps, real or simulated, near or behind an agent.

`RequiredSuite` is the required port; each optional capability has a suite of its own. A test class takes those its
adapter claims, in one line, and gives a `world` fixture:

    class TestLocal(RequiredSuite, HoldSuite, RequeueSuite, CessationSuite): ...

A claim without its suite, or a suite without its claim, fails in `RequiredSuite`.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from adapters.errors import DeadlinePassedError, OutcomeUnknownError, RefusedError, UnreachableError
from adapters.port import Holds, Inspects, ProvesCessation, ReadsOutput, Requeues, Watches
from streams.messages.values import CauseKind, ObjectRef, Phase
from tests.conformance.scheduler_capabilities import (
    CessationSuite,
    HoldSuite,
    InspectSuite,
    OutputSuite,
    RequeueSuite,
    Suite,
    WatchSuite,
)
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

PAST_S = -1.0


class RequiredSuite(Suite):
    async def test_what_it_claims_is_what_it_is_tested_for(self, world: World) -> None:
        can = await world.adapter.capabilities()
        assert can.kind
        assert can.call_bound_s > 0
        assert can.first_run >= 0
        claims = {
            HoldSuite: (can.holds, Holds),
            RequeueSuite: (bool(can.requeue_of), Requeues),
            CessationSuite: (can.cessation, ProvesCessation),
            WatchSuite: (can.watch, Watches),
            OutputSuite: (can.logs, ReadsOutput),
            InspectSuite: (can.inspect, Inspects),
        }
        for suite, (claimed, protocol) in claims.items():
            assert isinstance(self, suite) == claimed, suite.__name__
            assert not claimed or isinstance(world.adapter, protocol), protocol.__name__

    async def test_a_find_for_a_job_never_seen_is_complete_and_empty(self, job: Job) -> None:
        found = await job.find()
        assert found.sightings == ()
        assert found.as_of.tzinfo is not None

    async def test_as_of_never_goes_back(self, world: World, job: Job) -> None:
        told = []
        for _ in range(20):
            told.append((await job.find()).as_of)
            await world.pass_time(0.001)
        assert told == sorted(told)

    async def test_a_started_object_is_gated_bears_its_whole_tag_and_runs_nothing(self, world: World, job: Job) -> None:
        call = await job.start_call()
        ref = await world.adapter.start(call)
        assert ref.cluster == world.cluster
        await world.pass_time(world.calm_s)
        [sighting] = (await job.find()).sightings
        assert sighting.object == ref
        assert sighting.tag == call.tag
        assert sighting.phase is Phase.GATED
        assert await job.executions() == []

    async def test_an_object_keeps_its_identity_over_its_whole_life(self, job: Job) -> None:
        job.behaviour = Behaviour.COMPLETES
        ref = await job.start()
        assert (await job.see(ref)).object == ref
        await job.open(ref)
        ended = await job.reaches(ref, Phase.ENDED)
        assert ended.object == ref
        assert ended.tag is not None

    async def test_two_attempts_are_two_objects_and_both_are_found(self, job: Job) -> None:
        first, second = await job.start(1, 1), await job.start(1, 2)
        assert first != second
        found = {s.object: s.tag.attempt for s in (await job.find()).sightings if s.tag}
        assert found == {first: 1, second: 2}

    async def test_a_find_shows_one_jobs_objects_only(self, world: World, job: Job) -> None:
        others = [job_of(world, "llama2"), job_of(world, tenant="vision")]
        refs = [await other.start() for other in others]
        mine = await job.start()
        assert [s.object for s in (await job.find()).sightings] == [mine]
        for other, ref in zip(others, refs, strict=True):
            assert [s.object for s in (await other.find()).sightings] == [ref]

    async def test_an_opened_job_runs_once_and_its_end_stays_in_sight(self, world: World, job: Job) -> None:
        job.behaviour = Behaviour.COMPLETES
        ref = await job.start()
        await job.open(ref)
        ended = await job.reaches(ref, Phase.ENDED)
        assert ended.cause is not None
        assert ended.cause.kind is CauseKind.COMPLETED
        assert ended.run == (await world.adapter.capabilities()).first_run
        await world.pass_time(world.calm_s)
        assert (await job.see(ref)).phase is Phase.ENDED
        assert len(await job.executions()) == 1
        assert await job.alive() == 0

    async def test_a_failing_job_ends_with_its_exit_code(self, job: Job) -> None:
        job.behaviour = Behaviour.EXITS_WITH_3
        ref = await job.start()
        await job.open(ref)
        ended = await job.reaches(ref, Phase.ENDED)
        assert ended.cause is not None
        assert (ended.cause.kind, ended.cause.exit_code) == (CauseKind.EXIT_CODE, 3)

    async def test_a_running_object_names_its_nodes(self, job: Job) -> None:
        ref = await running(job)
        assert (await job.see(ref)).nodes
        await job.stop(ref)

    async def test_a_start_past_its_deadline_is_refused_and_makes_nothing(self, world: World, job: Job) -> None:
        with pytest.raises(DeadlinePassedError):
            await world.adapter.start(await job.start_call(within_s=PAST_S))
        assert (await job.find()).sightings == ()

    async def test_an_open_past_its_deadline_is_refused_and_the_gate_stays_shut(self, world: World, job: Job) -> None:
        ref = await job.start()
        with pytest.raises(DeadlinePassedError):
            await world.adapter.open(await job.open_call(ref, within_s=PAST_S))
        await world.pass_time(world.calm_s)
        assert (await job.see(ref)).phase is Phase.GATED
        assert await job.executions() == []

    async def test_a_stop_past_its_deadline_is_refused_and_the_job_runs_on(self, world: World, job: Job) -> None:
        ref = await running(job)
        with pytest.raises(DeadlinePassedError):
            await job.stop(ref, within_s=PAST_S)
        with pytest.raises(DeadlinePassedError):
            await job.stop_job(within_s=PAST_S)
        await world.pass_time(world.calm_s)
        assert (await job.see(ref)).phase is Phase.RUNNING
        assert await job.alive() == 1
        await job.stop(ref)

    async def test_a_gated_object_that_is_stopped_never_runs(self, world: World, job: Job) -> None:
        ref = await job.start()
        await job.stop(ref)
        await is_over(job, ref)
        await fails_or_does_nothing(job.open(ref))
        await world.pass_time(world.calm_s)
        assert await job.executions() == []

    async def test_a_running_object_that_is_stopped_ends_and_its_processes_go(self, world: World, job: Job) -> None:
        ref = await running(job)
        await job.stop(ref)
        await is_over(job, ref)

        async def gone() -> bool | None:
            return True if await job.alive() == 0 else None

        await eventually(world, gone, "the processes go")

    async def test_what_was_stopped_by_us_ends_as_stopped(self, job: Job) -> None:
        ref = await running(job)
        await job.stop(ref)
        sightings = await is_over(job, ref)
        assert [s.cause.kind for s in sightings if s.cause] == [CauseKind.STOPPED for _ in sightings]

    async def test_a_stop_may_be_repeated_and_may_name_what_is_not_there(self, world: World, job: Job) -> None:
        absent = ObjectRef(cluster=world.cluster, id="987654", created="0" * 26)
        await job.stop(absent)
        await job.stop_job()
        ref = await job.start()
        await job.stop(ref)
        await is_over(job, ref)
        await job.stop(ref)
        await job.stop_job()

    async def test_a_stop_of_the_same_id_with_another_creation_hits_nothing(self, world: World, job: Job) -> None:
        ref = await running(job)
        other = ObjectRef(cluster=ref.cluster, id=ref.id, created="z" * 26)
        await fails_or_does_nothing(job.stop(other))
        await world.pass_time(world.calm_s)
        assert (await job.see(ref)).phase is Phase.RUNNING
        assert await job.alive() == 1
        await job.stop(ref)

    async def test_an_open_of_an_object_that_is_not_there_is_refused(self, world: World, job: Job) -> None:
        absent = ObjectRef(cluster=world.cluster, id="987654", created="0" * 26)
        with pytest.raises(RefusedError):
            await job.open(absent)

    async def test_stop_job_ends_all_that_bears_the_name_and_nothing_else(self, world: World, job: Job) -> None:
        other = job_of(world, "llama2")
        theirs = await running(other)
        mine = await running(job)
        gated = await job.start(1, 2)
        await job.stop_job()
        await is_over(job, mine)
        await is_over(job, gated)
        assert (await other.see(theirs)).phase is Phase.RUNNING
        assert await other.alive() == 1
        await other.stop(theirs)

    async def test_stop_job_spares_the_objects_it_names(self, job: Job) -> None:
        spared = await running(job)
        gated = await job.start(1, 2)
        await job.stop_job(spared)
        await is_over(job, gated)
        assert (await job.see(spared)).phase is Phase.RUNNING
        await job.stop(spared)

    async def test_opening_one_run_twice_starts_it_once(self, world: World, job: Job) -> None:
        ref = await running(job)
        await fails_or_does_nothing(job.open(ref))
        await world.pass_time(world.calm_s)
        assert len(await job.executions()) == 1
        await job.stop(ref)

    async def test_the_newest_pair_it_was_called_with_comes_back_with_find(self, world: World, job: Job) -> None:
        ref = await job.start()
        await fails_or_does_nothing(job.open(ref))
        await job.stop(ref)
        floor = (await job.find()).floor
        assert floor == (job.pairs[-1] if world.keeps_floor else None)

    async def test_a_find_without_an_answer_raises_and_shows_nothing(self, world: World, job: Job) -> None:
        await job.start()
        await world.cut()
        with pytest.raises(UnreachableError):
            await job.find()
        await world.heal()
        assert len((await job.find()).sightings) == 1

    async def test_an_open_kept_back_past_its_deadline_never_lands(self, world: World, job: Job) -> None:
        ref = await job.start()
        call = await job.open_call(ref, within_s=0.5)
        await world.cut()
        with pytest.raises((UnreachableError, OutcomeUnknownError)):
            await world.adapter.open(call)
        await world.pass_time(1.0)
        await world.heal()
        over_at = call.deadline_at + timedelta(seconds=(await world.adapter.capabilities()).call_bound_s)

        async def over() -> bool | None:
            return True if (await job.find()).as_of >= over_at else None

        await eventually(world, over, "the call is over")
        assert (await job.see(ref)).phase is Phase.GATED
        assert await job.executions() == []
