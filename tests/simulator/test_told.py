"""What people are told of histories that faults made: never an exception, never a job that hangs in silence."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dispatch.supervisor import Result
from dispatch.why import why
from projections.fleet import decode, encode, entry_of
from projections.receipt import Written, receipt
from projections.record import Record
from projections.status import SETTLED, Around, State, Status, document, status
from tests.simulator import calm
from tests.simulator.waking import ByRounds
from tests.simulator.world import World

STEPS = 1200
ROUNDS_MAX = 160
STILL = 60
SEEDS = range(40)


def around(world: World) -> Around:
    """What a pass knows beside the record: that the history went back, where it found that."""
    ended = world.last_pass
    back = ended.why if ended is not None and ended.result is Result.REGRESSED else ""
    return Around(now=world.now, controls=world.processes[0].controls, regressed=back)


def told(world: World, record: Record) -> Status:
    """Everything that is told of this prefix, each of it consistent with the rest."""
    known = around(world)
    shown = status(record, known)
    document(shown)
    document(why(record, known))
    entry = entry_of(record, known)
    assert decode(encode(entry)) == entry
    assert (entry.state, entry.needs_person) == (shown.state, shown.needs_person)
    for command in record.commands:
        answered = receipt(record, command, Written(world.now, "replica:sv-a"))
        assert answered is not None
        assert answered.sentence
    if shown.state in SETTLED and not shown.alerts:
        assert shown.waits == ()
    elif not record.empty and shown.state is not State.RUNNING:
        assert shown.waits, f"{shown.state} waits for nothing that is told"
    if shown.needs_person and shown.waits:
        assert shown.waits[0].nature.needs_person or any(a.needs_person for a in shown.alerts)
    return shown


def left_alone(world: World) -> bool:
    """Faults are over and nobody helps: whether the history has stopped moving for good without being settled."""
    world.calm = True
    world.moves.settle_down()
    world.store_is_down = False
    for process in world.processes:
        process.skew, process.drift = timedelta(0), 0.0
    world.operators.put_controls_right()
    waking = ByRounds(world)
    still, revision = 0, -1
    for _ in range(ROUNDS_MAX):
        calm._round(world, waking)
        record = world.watch.record
        if record.settled or record.empty:
            return False
        still = still + 1 if record.revision == revision else 0
        revision = record.revision
        if still >= STILL:
            return True
    return False


@pytest.mark.parametrize("seed", SEEDS)
def test_every_prefix_can_be_told_and_a_job_that_stands_still_is_said_to_need_a_person(seed: int) -> None:
    world = World(seed)
    world.begin()
    revision = -1
    for _ in range(STEPS):
        world.step()
        if world.watch.record.revision != revision:
            revision = world.watch.record.revision
            told(world, world.watch.record)
    if left_alone(world):
        shown = told(world, world.watch.record)
        assert shown.needs_person or shown.state is State.RUNNING, (shown.state, shown.waits)
