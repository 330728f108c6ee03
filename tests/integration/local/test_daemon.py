"""One host at a time, whoever calls; its clock never goes back, and a late call never lands."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from adapters import wire
from adapters.errors import DeadlinePassedError, UnreachableError
from adapters.local import daemon
from adapters.local.adapter import LocalAdapter
from adapters.local.inbox import Inbox
from adapters.local.processes import Process, all_processes
from streams.messages.values import CauseKind, Phase
from tests.conformance.local_world import LocalWorld, processes_of
from tests.conformance.scheduler_world import Behaviour, Job, eventually, job_of
from tests.integration.local import daemons
from tests.integration.local.jobs import appears, begin, ends, start_call

OTHER_PROCESS = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Behaviour, job_of
async def main(folder, numbers):
    world = LocalWorld(Path(folder))
    jobs = [job_of(world, f"job-{number}", behaviour=Behaviour.COMPLETES) for number in numbers]
    refs = [await job.start() for job in jobs]
    for job, ref in zip(jobs, refs):
        await job.open(ref)
asyncio.run(main(sys.argv[2], json.loads(sys.argv[3])))
"""


async def is_there(condition: bool) -> bool | None:
    return True if condition else None


async def test_a_call_that_is_taken_up_after_its_deadline_is_refused(world: LocalWorld, job: Job) -> None:
    """The host is frozen with the call in its inbox, and goes on when the deadline has passed."""
    ref = await job.start()
    call = await job.open_call(ref, within_s=0.3)
    inbox = Inbox(world.state_dir)
    await world.cut()
    posted = inbox.post(wire.encode(call))
    await world.pass_time(0.6)
    await world.heal()

    async def replied() -> bytes | None:
        return inbox.collect(posted)

    reply = wire.decode_reply(await eventually(world, replied, "the host replies"))
    assert isinstance(reply, wire.Failed)
    assert reply.kind == "late"
    assert "past its deadline" in reply.sentence
    assert (await job.see(ref)).phase is Phase.GATED


@pytest.mark.parametrize("moment_s", [0.0, 0.0005, 0.001, 0.002, 0.004, 0.008])
async def test_once_a_find_says_that_a_call_is_over_the_call_has_had_its_effect_or_never_will(
    world: LocalWorld, job: Job, moment_s: float
) -> None:
    """The host is frozen at some moment of the call, and goes on when a newer decision could have been made."""
    ref = await job.start()
    call = await job.open_call(ref, within_s=0.2)
    Inbox(world.state_dir).post(wire.encode(call))
    await world.pass_time(moment_s)
    await world.cut()
    await world.pass_time(0.3)
    await world.heal()
    found = await job.find()
    assert found.as_of > call.deadline_at
    [sighting] = found.sightings
    await world.pass_time(world.calm_s)
    if sighting.phase is Phase.GATED:
        assert (await job.see(ref)).phase is Phase.GATED
        assert await job.executions() == []
    else:
        await job.reaches(ref, Phase.RUNNING)


async def test_a_call_that_was_not_looked_at_is_withdrawn_and_surely_not_done(world: LocalWorld, job: Job) -> None:
    ref = await job.start()
    call = await job.open_call(ref)
    adapter = LocalAdapter(world.state_dir, cluster=world.cluster, reply_within_s=0.2)
    await world.cut()
    with pytest.raises(UnreachableError, match="withdrawn: the host did not look at it"):
        await adapter.open(call)
    await world.heal()
    await world.pass_time(world.calm_s)
    assert (await job.see(ref)).phase is Phase.GATED


async def test_a_caller_that_gives_up_takes_its_call_back(world: LocalWorld, job: Job) -> None:
    ref = await job.start()
    call = await job.open_call(ref)
    await world.cut()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await world.adapter.open(call)
    await world.heal()
    await world.pass_time(world.calm_s)
    assert (await job.see(ref)).phase is Phase.GATED


async def test_a_directory_whose_daemon_cannot_start_is_unreachable_and_says_where_to_look(
    world: LocalWorld, job: Job
) -> None:
    world.adapter.daemon_command = (sys.executable, "-c", "raise SystemExit(1)")
    adapter = LocalAdapter(world.state_dir, cluster=world.cluster, reply_within_s=0.5)
    adapter.daemon_command = world.adapter.daemon_command
    with pytest.raises(UnreachableError, match=r"does not start: see its daemon\.log"):
        await adapter.find(job.name)


async def test_two_processes_that_start_at_once_share_one_daemon_and_every_job_runs_once(
    world: LocalWorld, tmp_path: Path
) -> None:
    argv = (sys.executable, "-c", OTHER_PROCESS, str(Path(__file__).parents[3]), str(tmp_path))
    numbers = [list(range(5)), list(range(5, 10)), list(range(3, 8))]
    others = [await asyncio.create_subprocess_exec(*argv, json.dumps(some)) for some in numbers]
    assert [await other.wait() for other in others] == [0, 0, 0]
    for number in range(10):
        job = job_of(world, f"job-{number}")
        [sighting] = (await job.find()).sightings
        assert (await ends(job, sighting.object)).kind is CauseKind.COMPLETED
        assert len(await job.executions()) == 1

    async def one() -> bool | None:
        return await is_there(len([p for p in processes_of(world.state_dir) if is_daemon(p)]) == 1)

    await eventually(world, one, "one daemon is left")


def is_daemon(process: Process) -> bool:
    return b"adapters.local.daemon" in Path(f"/proc/{process.pid}/cmdline").read_bytes()


async def test_objects_that_do_not_fit_wait_in_the_order_of_their_opening(tmp_path: Path) -> None:
    world = LocalWorld(tmp_path, slots=2)
    try:
        names = [("first", 2), ("large", 2), ("small", 1), ("held", 1)]
        jobs = {name: job_of(world, name, ranks=ranks) for name, ranks in names}
        refs = {name: await job.start() for name, job in jobs.items()}
        await jobs["held"].hold(refs["held"])
        for name in ("first", "large", "held", "small"):
            await jobs[name].open(refs[name])
        await jobs["first"].reaches(refs["first"], Phase.RUNNING)
        for name, position in (("large", 1), ("small", 2), ("held", None)):
            assert (await jobs[name].see(refs[name])).phase is Phase.QUEUED
            assert (await world.adapter.inspect(jobs[name].name, refs[name])).position == position
        detail = dict((await jobs["large"].find()).detail)
        assert detail[refs["large"]] == "waits for slots: needs 2, 0 of 2 free"
        await jobs["first"].stop(refs["first"])
        await jobs["large"].reaches(refs["large"], Phase.RUNNING)
        assert (await jobs["small"].see(refs["small"])).phase is Phase.QUEUED
        await jobs["large"].stop(refs["large"])
        await jobs["small"].reaches(refs["small"], Phase.RUNNING)
        assert await jobs["held"].executions() == []
        await jobs["held"].release(refs["held"])
        await jobs["held"].reaches(refs["held"], Phase.RUNNING)
    finally:
        await world.close()


async def test_more_slots_given_later_let_more_begin(world: LocalWorld) -> None:
    adapter = LocalAdapter(world.state_dir, cluster=world.cluster, slots=1)
    jobs = [job_of(world, "one"), job_of(world, "two")]
    refs = [await begin(world, job, "time.sleep(3600)") for job in jobs]
    await jobs[0].reaches(refs[0], Phase.RUNNING)
    assert (await jobs[1].see(refs[1])).phase is Phase.QUEUED
    assert adapter.settings.slots == 1
    LocalAdapter(world.state_dir, cluster=world.cluster, slots=2)
    await jobs[1].reaches(refs[1], Phase.RUNNING)


async def test_the_hosts_clock_runs_on_when_the_wall_clock_is_set_back(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    off_by = tmp_path / "off-by"
    off_by.write_text("3600")
    world.adapter.daemon_command = (sys.executable, daemons.__file__, "clock", str(off_by))
    first = (await job.find()).as_of
    off_by.write_text("-7200")
    second = (await job.find()).as_of
    assert first < second < first + timedelta(minutes=5)
    os.kill(world.daemon_pid(), signal.SIGKILL)
    third = (await job.find()).as_of
    assert second < third < first + timedelta(minutes=5)
    ref = await job.start()
    call = await job.open_call(ref, within_s=-1.0)
    with pytest.raises(DeadlinePassedError):
        await world.adapter.open(call)
    await job.open(ref)
    await job.reaches(ref, Phase.RUNNING)


async def test_half_written_files_harm_nobody(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "time.sleep(3600)")
    await job.reaches(ref, Phase.RUNNING)
    os.kill(world.daemon_pid(), signal.SIGKILL)
    [folder] = world.state_dir.glob(f"objects/*/{ref.id}")
    half = world.state_dir / "objects" / ".draft-half"
    (half / "runs").mkdir(parents=True)
    (half / "object").write_text('{"id": "ha')
    (folder / ".draft-state-1-2").write_text('{"run": 7, "sto')
    (folder / "runs" / "0" / ".draft-claim-1-2").write_text("{")
    (folder / "runs" / "0" / ".draft-ended-1-2").write_text("{")
    (world.state_dir / "floors" / ".draft-x").write_text("{")
    (world.state_dir / "drafts" / "x").write_text("{")
    [sighting] = (await job.find()).sightings
    assert (sighting.object, sighting.phase) == (ref, Phase.RUNNING)
    assert len(await job.executions()) == 1
    assert not half.exists()


async def test_an_object_that_cannot_be_read_makes_its_jobs_find_fail_and_no_other(world: LocalWorld, job: Job) -> None:
    other = job_of(world, "other")
    await job.start()
    await other.start()
    os.kill(world.daemon_pid(), signal.SIGKILL)
    [state] = world.state_dir.glob("objects/llama-*/*/state")
    state.write_text('{"run": "zero"}')
    with pytest.raises(UnreachableError, match="cannot be read from disk"):
        await job.find()
    assert len((await other.find()).sightings) == 1


async def test_bytes_that_are_no_request_are_refused_and_the_next_is_served(world: LocalWorld, job: Job) -> None:
    await job.find()
    inbox = Inbox(world.state_dir)
    posted = inbox.post(b'{"verb": "fnd"}')

    async def replied() -> bytes | None:
        return inbox.collect(posted)

    reply = wire.decode_reply(await eventually(world, replied, "the host replies"))
    assert isinstance(reply, wire.Failed)
    assert reply.kind == "refused"
    assert (await job.find()).sightings == ()


async def test_the_daemon_leaves_when_nobody_needs_it_and_comes_back_when_called(world: LocalWorld, job: Job) -> None:
    settings = msgspec.structs.replace(world.adapter.settings, idle_s=0.2)
    (world.state_dir / "settings.json").write_bytes(msgspec.json.encode(settings))
    ref = await begin(world, job, "time.sleep(3600)")
    await job.reaches(ref, Phase.RUNNING)
    await world.pass_time(0.6)
    assert daemon.is_up(world.state_dir)
    await job.stop(ref)

    async def left() -> bool | None:
        return await is_there(not daemon.is_up(world.state_dir))

    await eventually(world, left, "the daemon leaves")
    assert not (world.state_dir / "daemon.json").exists()
    assert (await ends(job, ref)).kind is CauseKind.STOPPED


async def test_a_term_to_the_daemon_lets_jobs_run_on(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "time.sleep(3600)")
    await job.begins(1)
    os.kill(world.daemon_pid(), signal.SIGTERM)

    async def left() -> bool | None:
        return await is_there(not daemon.is_up(world.state_dir))

    await eventually(world, left, "the daemon leaves")
    assert await job.alive() == 1
    assert (await job.see(ref)).phase is Phase.RUNNING
    assert len(await job.executions()) == 1


async def test_a_watch_replaces_a_daemon_that_was_killed_so_that_the_queue_goes_on(tmp_path: Path) -> None:
    world = LocalWorld(tmp_path, slots=1)
    woken: list[str] = []

    async def watch() -> None:
        async for name in world.adapter.watch():
            woken.append(name.job)  # noqa: PERF401 - it never ends

    watching = asyncio.create_task(watch())
    try:
        first, second = job_of(world, "first"), job_of(world, "second", behaviour=Behaviour.COMPLETES)
        then = f"while not os.path.exists('{tmp_path}/go'): time.sleep(0.01)"
        await begin(world, first, then)
        await second.open(await second.start())
        await first.begins(1)
        os.kill(world.daemon_pid(), signal.SIGKILL)
        (tmp_path / "go").touch()
        await second.begins(1)
        await eventually(world, lambda: is_there("second" in woken), "the second job is told of")
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        await world.close()


async def test_a_directory_belongs_to_one_cluster_and_one_machine(world: LocalWorld) -> None:
    with pytest.raises(ValueError, match="holds the objects of cluster conformance, not of other"):
        LocalAdapter(world.state_dir, cluster="other")
    settings = msgspec.structs.replace(world.adapter.settings, machine="0" * 32)
    (world.state_dir / "settings.json").write_bytes(msgspec.json.encode(settings))
    if world.adapter.settings.machine:
        with pytest.raises(ValueError, match="processes of another machine"):
            LocalAdapter(world.state_dir, cluster=world.cluster)


async def test_a_directory_that_is_removed_takes_its_jobs_along_and_a_new_one_there_is_another(tmp_path: Path) -> None:
    world = LocalWorld(tmp_path)
    job = job_of(world)
    ref = await begin(world, job, "time.sleep(3600)")
    await job.reaches(ref, Phase.RUNNING)
    await job.begins(1)
    first = world.daemon_pid()
    world.state_dir.rename(tmp_path / "away")
    shutil.rmtree(tmp_path / "away")
    again = LocalWorld(tmp_path)
    try:
        assert (await job_of(again).find()).sightings == ()
        assert again.daemon_pid() != first

        async def gone() -> bool | None:
            return await is_there(await job.alive() == 0 and first not in {p.pid for p in all_processes()})

        await eventually(world, gone, "the first daemon and its job are gone")
        assert (await job_of(again).find()).sightings == ()
    finally:
        await again.close()


async def test_settings_that_cannot_be_read_change_nothing(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "time.sleep(3600)")
    await job.reaches(ref, Phase.RUNNING)
    pid = world.daemon_pid()
    (world.state_dir / "settings.json").write_text('{"slots": "many"}')
    assert (await job.see(ref)).phase is Phase.RUNNING
    assert world.daemon_pid() == pid


async def test_an_object_that_ended_long_ago_is_forgotten(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "")
    await ends(job, ref)
    gated = await world.adapter.start(await start_call(world, job, ""))
    settings = msgspec.structs.replace(world.adapter.settings, keep_ended_s=0.0)
    (world.state_dir / "settings.json").write_bytes(msgspec.json.encode(settings))
    os.kill(world.daemon_pid(), signal.SIGTERM)

    async def forgotten() -> bool | None:
        return await is_there([s.object for s in (await job.find()).sightings] == [gated])

    await eventually(world, forgotten, "the ended object is forgotten")
    assert list(world.state_dir.glob(f"objects/*/{ref.id}")) == []


async def test_no_zombie_is_left_of_a_run(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "")
    await ends(job, ref)
    await appears(world, world.state_dir / "daemon.json")
    pid = world.daemon_pid()

    async def none_left() -> bool | None:
        states = [Path(f"/proc/{p}/stat").read_text() for p in children_of(pid)]
        return await is_there(not states)

    await eventually(world, none_left, "the daemon has no child, dead or alive")
    assert pid in {process.pid for process in all_processes()}


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
