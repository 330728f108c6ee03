"""A stop ends every process of the object, and says that they are gone only when they are."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from streams.messages.values import CauseKind, CessationAnswer, Phase
from tests.conformance.local_world import LocalWorld, read_marks
from tests.conformance.scheduler_world import Job
from tests.integration.local.jobs import appears, begin, child_of, ends, leaves_a_child, runner_pid


@pytest.mark.parametrize("clean", [False, True], ids=["marked", "cleaned"])
@pytest.mark.parametrize("close", [False, True], ids=["locked", "closed"])
async def test_a_process_that_left_its_group_session_and_environment_is_ended_by_a_stop(
    world: LocalWorld, job: Job, tmp_path: Path, clean: bool, close: bool
) -> None:
    ref = await begin(world, job, leaves_a_child(tmp_path, clean=clean, close=close))
    child_lives = await child_of(world, tmp_path)
    assert child_lives()
    await job.stop(ref)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED
    assert not child_lives()
    assert await job.answer(ref, 0) is CessationAnswer.CEASED
    assert await job.alive() == 0


async def test_nothing_is_called_gone_while_a_process_that_ignores_term_lives(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    ref = await begin(world, job, leaves_a_child(tmp_path), stop_grace=4)
    child_lives = await child_of(world, tmp_path)
    await job.stop(ref)
    ending = await job.reaches(ref, Phase.ENDING)
    assert ending.cause is not None
    assert ending.cause.kind is CauseKind.STOPPED
    while await job.answer(ref, 0) is CessationAnswer.MAY_RUN:
        await world.pass_time(world.step_s)
    assert not child_lives()
    assert (await job.see(ref)).phase is Phase.ENDED


async def test_a_rank_that_cleans_up_on_term_has_its_grace(world: LocalWorld, job: Job, tmp_path: Path) -> None:
    then = f"""
import signal
def bye(*_):
    time.sleep(0.5)
    open('{tmp_path}/saved', 'w').close()
    sys.exit(0)
signal.signal(signal.SIGTERM, bye)
open('{tmp_path}/ready', 'w').close()
time.sleep(3600)
"""
    ref = await begin(world, job, then, stop_grace=30)
    await appears(world, tmp_path / "ready")
    await job.stop(ref)
    await job.reaches(ref, Phase.ENDED)
    assert (tmp_path / "saved").exists()


async def test_a_suspended_rank_is_ended_too(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "os.kill(os.getpid(), 19)", stop_grace=30)
    await job.begins(1)
    await job.stop(ref)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED


async def test_a_stop_while_the_runner_is_starting_leaves_nothing_behind(world: LocalWorld, job: Job) -> None:
    for attempt in range(1, 7):
        ref = await job.start(1, attempt)
        await job.open(ref)
        await job.stop(ref)
        await job.reaches(ref, Phase.ENDED)
        begun = len(read_marks(world.marks, job.name))
        assert await job.alive() == 0
        await world.pass_time(world.calm_s)
        assert len(read_marks(world.marks, job.name)) == begun


async def test_a_stopped_object_is_stopped_for_good(job: Job) -> None:
    ref = await job.start()
    await job.stop(ref)
    ended = await job.see(ref)
    assert ended.phase is Phase.ENDED
    assert ended.end_final
    assert ended.nodes == ()


async def test_an_end_by_itself_is_not_final_until_it_is_stopped(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "")
    ended = await job.reaches(ref, Phase.ENDED)
    assert not ended.end_final
    await job.stop(ref)
    again = await job.see(ref)
    assert again.end_final
    assert again.cause == ended.cause
    assert ended.nodes == (os.uname().nodename,)


async def test_a_term_to_the_runner_by_hand_is_a_stop_from_outside(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "time.sleep(3600)")
    await job.begins(1)
    os.kill(runner_pid(world, ref), signal.SIGTERM)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED_OUTSIDE
    assert await job.alive() == 0
