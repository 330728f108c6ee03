"""How a run ended is told by a typed cause, from what was seen, never guessed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from streams.messages.spec import Resources, Run, SignalBeforeLimit, SignalName
from streams.messages.values import CauseKind, Phase
from tests.conformance.local_world import LocalWorld, read_marks
from tests.conformance.scheduler_world import Job
from tests.integration.local.jobs import appears, begin, child_of, ends, leaves_a_child, runner_pid

MIB = 1024 * 1024


async def test_the_first_rank_that_fails_ends_the_run_and_gives_the_cause(world: LocalWorld, job: Job) -> None:
    then = """
while open(sys.argv[1]).read().count("\\n") < 3:
    time.sleep(0.01)
sys.exit(7) if os.environ["RANK"] == "1" else time.sleep(3600)
"""
    ref = await begin(world, job, then, ranks=3)
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code, cause.rank) == (CauseKind.EXIT_CODE, 7, 1)
    assert cause.nodes == (os.uname().nodename,)
    assert sorted(rank for _, _, rank, _ in read_marks(world.marks, job.name)) == [0, 1, 2]
    assert await job.alive() == 0


async def test_of_two_ranks_that_failed_while_the_runner_stood_still_the_first_gives_the_cause(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    then = f"""
rank = int(os.environ["RANK"])
while not os.path.exists("{tmp_path}/go-" + str(rank)):
    time.sleep(0.005)
os._exit(10 + rank)
"""
    ref = await begin(world, job, then, ranks=3)
    await job.reaches(ref, Phase.RUNNING)
    while len(read_marks(world.marks, job.name)) < 3:
        await world.pass_time(world.step_s)
    runner = runner_pid(world, ref)
    os.kill(runner, signal.SIGSTOP)
    for left, rank in enumerate((2, 0, 1), start=1):
        (tmp_path / f"go-{rank}").touch()
        while sum(alive for *_, alive in read_marks(world.marks, job.name)) > 3 - left:
            await world.pass_time(world.step_s)
    os.kill(runner, signal.SIGCONT)
    cause = await ends(job, ref)
    assert (cause.exit_code, cause.rank) == (12, 2)


async def test_a_rank_that_ignores_term_when_another_failed_is_killed_after_the_grace(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    then = f"""
import signal
if os.environ["RANK"] == "0":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("{tmp_path}/deaf", "w").close()
    time.sleep(3600)
while not os.path.exists("{tmp_path}/deaf"):
    time.sleep(0.01)
sys.exit(5)
"""
    ref = await begin(world, job, then, ranks=2)
    await job.reaches(ref, Phase.ENDING)
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code, cause.rank) == (CauseKind.EXIT_CODE, 5, 1)
    assert await job.alive() == 0


async def test_a_run_is_completed_only_when_every_rank_is(world: LocalWorld, job: Job, tmp_path: Path) -> None:
    then = f"""
while os.environ["RANK"] == "1" and not os.path.exists("{tmp_path}/go"):
    time.sleep(0.01)
"""
    ref = await begin(world, job, then, ranks=2)
    await job.begins(1)
    await world.pass_time(world.calm_s)
    assert (await job.see(ref)).phase is Phase.RUNNING
    (tmp_path / "go").touch()
    assert (await ends(job, ref)).kind is CauseKind.COMPLETED


async def test_what_completed_ranks_leave_behind_is_ended_before_the_run_is_over(
    world: LocalWorld, job: Job, tmp_path: Path
) -> None:
    then = f"while not os.path.exists('{tmp_path}/child'): time.sleep(0.01)"
    ref = await begin(world, job, leaves_a_child(tmp_path, then=then))
    child_lives = await child_of(world, tmp_path)
    assert (await ends(job, ref)).kind is CauseKind.COMPLETED
    assert not child_lives()


async def test_a_signal_is_the_cause_and_a_sigkill_is_never_called_out_of_memory(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "os.kill(os.getpid(), 9)", resources=Resources(memory_per_node=10**12))
    cause = await ends(job, ref)
    assert (cause.kind, cause.signal, cause.rank) == (CauseKind.SIGNAL, 9, 0)


async def test_a_run_over_its_memory_is_ended_as_out_of_memory(world: LocalWorld, job: Job) -> None:
    then = f"hoard = b'x' * {400 * MIB}; time.sleep(3600)"
    ref = await begin(world, job, then, resources=Resources(memory_per_node=150 * MIB))
    cause = await ends(job, ref)
    assert (cause.kind, cause.rank) == (CauseKind.OUT_OF_MEMORY, 0)
    assert cause.raw["by"] in {"cgroup", "measured"}
    assert cause.raw["limit"] == str(150 * MIB)
    assert await job.alive() == 0


async def test_memory_that_ranks_share_is_counted_once(world: LocalWorld, job: Job) -> None:
    then = f"""
import mmap
shared = mmap.mmap(-1, {100 * MIB})
for _ in range(100):
    shared.write(b"x" * {MIB})
for _ in range(3):
    if os.fork() == 0:
        sum(shared[page] for page in range(0, {100 * MIB}, 4096))
        time.sleep(2)
        os._exit(0)
for _ in range(3):
    os.wait()
"""
    ref = await begin(world, job, then, resources=Resources(memory_per_node=250 * MIB))
    assert (await ends(job, ref)).kind is CauseKind.COMPLETED


async def test_the_time_limit_ends_the_run_and_is_announced_before(world: LocalWorld, job: Job, tmp_path: Path) -> None:
    then = f"""
import signal
def warned(*_):
    open("{tmp_path}/warned-" + os.environ["RANK"], "w").close()
signal.signal(signal.SIGUSR1, warned)
while True:
    time.sleep(1)
"""
    before = SignalBeforeLimit(signal=SignalName.USR1, before=1)
    ref = await begin(world, job, then, ranks=2, time_limit=2, signal_before_limit=before)
    await appears(world, tmp_path / "warned-0")
    await appears(world, tmp_path / "warned-1")
    assert await job.alive() == 1
    cause = await ends(job, ref)
    assert cause.kind is CauseKind.TIME_LIMIT
    assert await job.alive() == 0


@pytest.mark.parametrize(
    ("change", "step"),
    [
        ({"run": Run(command=("no-such-program",))}, "command"),
        ({"run": Run(command=("true",), workdir="no/such/place")}, "workdir"),
        ({"run": Run(command=("a\0b",))}, "command"),
        ({"output": "marks/{submission}.{run}/{rank}"}, "output"),
    ],
    ids=["command", "workdir", "zero-byte", "output"],
)
async def test_a_rank_that_cannot_be_started_is_a_failed_launch_that_names_the_step(
    world: LocalWorld, job: Job, change: dict[str, Any], step: str
) -> None:
    world.marks.touch()
    ref = await begin(world, job, "", **change)
    cause = await ends(job, ref)
    assert cause.kind is CauseKind.LAUNCH_FAILED
    assert step in cause.raw["error"]
    assert str(world.state_dir.parent) not in cause.raw["error"]
    assert not (world.state_dir.parent / "no").exists()


async def test_a_rank_that_cannot_be_started_ends_those_that_were(world: LocalWorld, job: Job, tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    ref = await begin(world, job, "time.sleep(3600)", ranks=2, output="{rank}")
    cause = await ends(job, ref)
    assert cause.kind is CauseKind.LAUNCH_FAILED
    assert "rank 1" in cause.raw["error"]
    assert await job.alive() == 0
