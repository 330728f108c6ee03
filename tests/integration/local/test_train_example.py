"""The example trainer: two ranks that meet, checkpoint behind the fence, crash once and go on where they were."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from streams.messages.spec import Run
from streams.messages.values import CauseKind, Phase
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Job, eventually
from tests.integration.local.jobs import begin, ends

ROOT = Path(__file__).parents[3]


def trainer(*options: str) -> Run:
    argv = (sys.executable, str(ROOT / "examples" / "train.py"), "--marks", "trained", "--step-s", "0.01", *options)
    return Run(command=argv)


def marks(world: LocalWorld) -> list[tuple[str, int, int, int]]:
    """(start or end, epoch, rank, step) of every line that a rank wrote."""
    found = []
    for line in (world.state_dir.parent / "trained").read_text().splitlines():
        word, *fields = line.split()
        said = dict(field.split("=") for field in fields)
        found.append((word, int(said["epoch"]), int(said["rank"]), int(said["step"])))
    return found


async def test_a_crash_of_one_rank_ends_the_run_and_the_next_goes_on_from_the_checkpoint(
    world: LocalWorld, job: Job
) -> None:
    env = {"PYTHONPATH": str(ROOT), "TEST_STATE_DIR": str(world.state_dir)}
    run = trainer("--steps", "20", "--crash-at", "12")
    ref = await begin(world, job, "", run=run, ranks=2, env=env)
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code, cause.rank) == (CauseKind.EXIT_CODE, 3, 1)
    await job.requeue(ref, 0)
    await job.open(ref, 1)
    ended = await job.reaches(ref, Phase.ENDED, run=1)
    assert ended.cause is not None
    assert ended.cause.kind is CauseKind.COMPLETED
    told = marks(world)
    assert sorted(told[:2]) == [("start", 1_000_000, 0, 0), ("start", 1_000_000, 1, 0)]
    assert sorted(mark for mark in told if mark[1] == 1_000_001) == [
        ("end", 1_000_001, 0, 20),
        ("end", 1_000_001, 1, 20),
        ("start", 1_000_001, 0, 10),
        ("start", 1_000_001, 1, 10),
    ]
    step, weights = json.loads((world.state_dir.parent / "checkpoints" / "model.json").read_text())
    assert step == 20
    assert abs(weights[0] - 3) < 1
    assert b"rank 1 of 2: epoch 1000001, from step 10" in (await world.adapter.read_output(job.name, ref, 1, 1)).data


async def test_an_older_execution_of_the_trainer_is_turned_away_by_the_fence(world: LocalWorld, job: Job) -> None:
    env = {"PYTHONPATH": str(ROOT), "TEST_STATE_DIR": str(world.state_dir)}
    held = world.state_dir.parent / "checkpoints" / ".dispatch-epoch"
    held.parent.mkdir()
    held.write_text("2000000\n")
    ref = await begin(world, job, "", run=trainer(), env=env)
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code) == (CauseKind.EXIT_CODE, 1)
    said = (await world.adapter.read_output(job.name, ref, 0, 0, offset=-400)).data
    assert b"execution 2000000 has this directory; this is execution 1000000, and must not write" in said
    assert not (world.state_dir.parent / "trained").exists()


async def test_a_stopped_trainer_ends_in_order(world: LocalWorld, job: Job) -> None:
    env = {"PYTHONPATH": str(ROOT), "TEST_STATE_DIR": str(world.state_dir)}
    run = trainer("--steps", "100000")
    ref = await begin(world, job, "", run=run, ranks=2, env=env, stop_grace=30)

    async def trains() -> bool | None:
        return True if b"step 10:" in (await world.adapter.read_output(job.name, ref, 0, 0)).data else None

    await eventually(world, trains, "the trainer trains")
    await job.stop(ref)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED
    assert [word for word, *_ in marks(world)].count("start") == 2
