"""Killed at any point, a daemon or a runner is replaced or accounted for, and nothing runs twice.

Every point is every change that the process makes: a rename, a link, a removal, a new file, a new process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from adapters import wire
from adapters.local import daemon
from adapters.local.inbox import Inbox
from streams.messages.values import CauseKind, CessationAnswer, Phase
from tests.conformance.local_world import LocalWorld, read_marks
from tests.conformance.scheduler_world import Behaviour, Job, job_of
from tests.integration.local import daemons
from tests.integration.local.jobs import appears, begin, child_of, ends, leaves_a_child, runner_pid

POINTS_MAX = 150
AT_ONCE = 3


def flawed(world: LocalWorld, mode: str, word: str) -> Path:
    """Let the world's daemons have this flaw; the file that holds its word."""
    file = world.state_dir.parent / mode
    file.write_text(word)
    world.adapter.daemon_command = (sys.executable, daemons.__file__, mode, str(file))
    return file


async def whole_life(job: Job) -> None:
    """Started, run, requeued, run again, stopped: each run began once, and at the end nothing lives."""
    job.behaviour = Behaviour.RUNS_ON
    ref = await job.start()
    assert (await job.see(ref)).phase is Phase.GATED
    await job.open(ref)
    await job.reaches(ref, Phase.RUNNING)
    await job.begins(1)
    await job.requeue(ref, 0)
    await job.reaches(ref, Phase.GATED, run=1)
    assert await job.alive() == 0
    await job.open(ref, 1)
    await job.reaches(ref, Phase.RUNNING)
    await job.begins(2)
    await job.stop(ref)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED
    assert await job.answer(ref, 1) is CessationAnswer.CEASED
    assert [(e.run, e.alive) for e in await job.executions()] == [(0, False), (1, False)]
    assert len(read_marks(job.world.marks, job.name)) == 2  # type: ignore[attr-defined]


async def lives_through(folder: Path, mode: str, point: str) -> bool:
    """Lead one job through its life with a crash at this point; whether the point was reached."""
    folder.mkdir(parents=True)
    world = LocalWorld(folder)
    world.adapter = type(world.adapter)(world.state_dir, cluster=world.cluster, reply_within_s=20.0)
    try:
        left = flawed(world, mode, point)
        await whole_life(job_of(world))
        return not left.exists()
    finally:
        await world.close()


async def every_point(folder: Path, mode: str, kind: str) -> int:
    """Crash at the first change of this kind, the second, and so on, until one is not reached; how many there were."""
    for first in range(1, POINTS_MAX, AT_ONCE):
        points = range(first, first + AT_ONCE)
        lives = (lives_through(folder / str(point), mode, f"{point} {kind}") for point in points)
        reached = await asyncio.gather(*lives)
        if not all(reached):
            return first + reached.index(False) - 1
    raise AssertionError(f"more than {POINTS_MAX} points")


@pytest.mark.timeout(600)
async def test_a_daemon_killed_at_any_point_is_replaced_with_nothing_lost_and_nothing_run_twice(tmp_path: Path) -> None:
    assert await every_point(tmp_path, "crash", "objects/") > 30


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["taken/", "replies/", "drafts/", "floors/", "daemon."])
async def test_a_daemon_killed_between_taking_and_answering_a_request_loses_none(tmp_path: Path, kind: str) -> None:
    reached = await asyncio.gather(
        *(lives_through(tmp_path / str(point), "crash", f"{point} {kind}") for point in range(1, 4))
    )
    assert reached[0]


async def survives_its_runner(folder: Path, point: int) -> tuple[bool, CauseKind]:
    """Run one job whose runner is killed at this point, then once more; (whether it was reached, how it ended)."""
    folder.mkdir(parents=True)
    world = LocalWorld(folder)
    try:
        left = flawed(world, "crash-runner", f"{point} /")
        job = job_of(world)
        ref = await begin(world, job, "", ranks=2)
        cause = await ends(job, ref)
        assert await job.answer(ref, 0) is CessationAnswer.CEASED
        assert [(e.run, e.alive) for e in await job.executions()] in ([], [(0, False)])
        assert len(read_marks(world.marks, job.name)) <= 2
        await job.requeue(ref, 0)
        await job.open(ref, 1)
        assert (await job.reaches(ref, Phase.ENDED, run=1)).cause.kind is CauseKind.COMPLETED  # type: ignore[union-attr]
        return not left.exists(), cause.kind
    finally:
        await world.close()


@pytest.mark.timeout(300)
async def test_a_runner_killed_at_any_point_leaves_nothing_alive_and_its_object_can_run_again(tmp_path: Path) -> None:
    causes = set()
    for first in range(1, POINTS_MAX, AT_ONCE):
        points = range(first, first + AT_ONCE)
        lives = await asyncio.gather(*(survives_its_runner(tmp_path / str(point), point) for point in points))
        causes |= {cause for _, cause in lives}
        if not all(reached for reached, _ in lives):
            break
    assert causes == {CauseKind.COMPLETED, CauseKind.UNKNOWN}


async def test_a_run_whose_runner_was_killed_is_ending_until_its_processes_are_gone(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    ref = await begin(world, job, leaves_a_child(tmp_path), stop_grace=2)
    child_lives = await child_of(world, tmp_path)
    os.kill(runner_pid(world, ref), signal.SIGKILL)
    ending = await job.reaches(ref, Phase.ENDING)
    assert ending.cause is None
    found = await job.find()
    assert "its runner died; still alive: pid " in dict(found.detail)[ref]
    assert await job.answer(ref, 0) is CessationAnswer.MAY_RUN
    cause = await ends(job, ref)
    assert cause.kind is CauseKind.UNKNOWN
    assert not child_lives()
    assert await job.alive() == 0
    assert await job.answer(ref, 0) is CessationAnswer.CEASED


@pytest.mark.parametrize(("clean", "close"), [(True, False), (False, True), (True, True)])
async def test_what_a_killed_runner_left_is_found_whatever_it_dropped(
    world: LocalWorld, job: Job, tmp_path: Path, clean: bool, close: bool
) -> None:
    ref = await begin(world, job, leaves_a_child(tmp_path, clean=clean, close=close), stop_grace=1)
    child_lives = await child_of(world, tmp_path)
    os.kill(runner_pid(world, ref), signal.SIGKILL)
    assert (await ends(job, ref)).kind is CauseKind.UNKNOWN
    assert not child_lives()


async def test_a_stop_of_a_run_whose_runner_was_killed_is_a_stop(world: LocalWorld, job: Job, tmp_path: Path) -> None:
    ref = await begin(world, job, leaves_a_child(tmp_path), stop_grace=1)
    await child_of(world, tmp_path)
    os.kill(runner_pid(world, ref), signal.SIGSTOP)
    await job.stop(ref)
    os.kill(runner_pid(world, ref), signal.SIGKILL)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED
    assert await job.alive() == 0


async def test_a_runner_that_stands_still_cannot_keep_a_stop_from_its_job(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "time.sleep(3600)", stop_grace=1)
    await job.begins(1)
    os.kill(runner_pid(world, ref), signal.SIGSTOP)
    await job.stop(ref)
    assert await job.alive() == 1
    assert (await ends(job, ref)).kind is CauseKind.STOPPED
    assert await job.alive() == 0
    assert await job.answer(ref, 0) is CessationAnswer.CEASED


async def test_jobs_run_on_and_end_without_a_daemon_and_are_found_as_they_ended(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    then = f"while not os.path.exists('{tmp_path}/go'): time.sleep(0.01)\nsys.exit(6)"
    ref = await begin(world, job, then)
    await job.begins(1)
    await job.reaches(ref, Phase.RUNNING)
    os.kill(world.daemon_pid(), signal.SIGKILL)
    (tmp_path / "go").touch()
    while await job.alive():
        await world.pass_time(world.step_s)
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code) == (CauseKind.EXIT_CODE, 6)
    assert len(await job.executions()) == 1


async def test_a_reboot_ends_what_ran_proves_it_gone_and_starts_what_waited(world: LocalWorld, tmp_path: Path) -> None:
    boot_id = tmp_path / "boot_id"
    boot_id.write_text("first\n")
    settings = msgspec.structs.replace(world.adapter.settings, boot_id_path=str(boot_id), slots=1)
    (world.state_dir / "settings.json").write_bytes(msgspec.json.encode(settings))
    ran, waited = job_of(world, "ran"), job_of(world, "waited", behaviour=Behaviour.COMPLETES)
    ref = await begin(world, ran, "time.sleep(3600)")
    await ran.reaches(ref, Phase.RUNNING)
    await ran.begins(1)
    waits = await waited.start()
    await waited.open(waits)
    assert (await waited.see(waits)).phase is Phase.QUEUED
    told = (await ran.find()).as_of
    await world.close()  # the power goes: daemon, runner, rank
    boot_id.write_text("second\n")
    cause = await ends(ran, ref)
    assert cause.kind is CauseKind.NODE_LOST
    assert cause.nodes == (os.uname().nodename,)
    assert await ran.answer(ref, 0) is CessationAnswer.CEASED
    assert (await ran.find()).as_of > told
    assert (await ends(waited, waits)).kind is CauseKind.COMPLETED
    assert [len(await one.executions()) for one in (ran, waited)] == [1, 1]
    await ran.requeue(ref, 0)
    await ran.open(ref, 1)
    await ran.begins(2)


async def test_an_end_that_was_written_before_the_reboot_stands(world: LocalWorld, job: Job, tmp_path: Path) -> None:
    boot_id = tmp_path / "boot_id"
    boot_id.write_text("first\n")
    settings = msgspec.structs.replace(world.adapter.settings, boot_id_path=str(boot_id))
    (world.state_dir / "settings.json").write_bytes(msgspec.json.encode(settings))
    ref = await begin(world, job, "sys.exit(8)")
    await job.reaches(ref, Phase.RUNNING, Phase.ENDING, Phase.ENDED)
    os.kill(world.daemon_pid(), signal.SIGKILL)
    [folder] = world.state_dir.glob(f"objects/*/{ref.id}/runs/0")
    await appears(world, folder / "ended")
    boot_id.write_text("second\n")
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code) == (CauseKind.EXIT_CODE, 8)


async def test_a_call_that_a_host_did_before_it_died_is_never_told_to_be_undone(world: LocalWorld, job: Job) -> None:
    """Killed between the act and the answer; the next host takes the call up when its deadline has long passed."""
    call = await job.start_call(within_s=600)
    os.kill(world.daemon_pid(), signal.SIGKILL)
    flaw = world.state_dir.parent / "crash"
    flaw.write_text("1 replies/")
    inbox = Inbox(world.state_dir)
    posted = inbox.post(wire.encode(call))
    dying = daemon.spawn(world.state_dir, (sys.executable, daemons.__file__, "crash", str(flaw)))
    _, status = await asyncio.to_thread(os.waitpid, dying, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert inbox.left_over() == [posted]
    later = world.state_dir.parent / "clock"
    later.write_text("3600")
    world.adapter.daemon_command = (sys.executable, daemons.__file__, "clock", str(later))
    [sighting] = (await job.find()).sightings
    assert sighting.tag == call.tag
    reply = wire.decode_reply(inbox.collect(posted) or b"")
    assert isinstance(reply, wire.Failed)
    assert reply.kind == "unknown"
    assert "an earlier host took the call and died" in reply.sentence
    assert "past its deadline" in reply.sentence
