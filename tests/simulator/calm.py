"""The quiet phase: faults are over, everything answers, time passes, and one diligent person reads `dispatch why`.

In it the job must be settled within a bound of rounds, or wait for what only an upgrade can give.
"""

from __future__ import annotations

from datetime import timedelta

from dispatch.next_steps import gate
from dispatch.situation import Situation
from projections.record import Record
from projections.settled import settled
from streams.messages.values import Phase
from tests.simulator.broken import LawBroken
from tests.simulator.process import INSTALLATION
from tests.simulator.telling import waits_of
from tests.simulator.waking import ByRounds, ByTimer, drawn
from tests.simulator.world import World

ROUNDS_MAX = 160
ASKS_EVERY = 3
AGAIN_EVERY = 7
AFTERMATH = 8


def head_start(world: World) -> None:
    """Bring the job some way before the trouble begins: to its gate, into the queue, or into its first run."""
    world.calm = True
    wanted = world.swarm.head_start
    for number in range(20):
        world.processes[number % len(world.processes)].wake()
        world.land_all()
        if wanted != "queued":
            world.moves.head_start()
        world.watch.look()
        world.now += timedelta(seconds=2)
        began = bool(world.cluster.truth.executions)
        queued = any(job.phase is Phase.QUEUED for job in world.cluster.jobs)
        if began or (wanted == "gated" and world.cluster.jobs) or (wanted == "queued" and queued):
            break
    world.calm = False


def quiet(world: World) -> None:
    """Let the world come to rest. Raises LawBroken where the job does not."""
    world.calm = True
    world.store_is_down = False
    world.say("the quiet phase begins")
    world.moves.settle_down()
    for process in world.processes:
        process.skew, process.drift = timedelta(0), 0.0
    world.operators.put_controls_right()
    waking = drawn(world)
    waking.begin()
    for number in range(ROUNDS_MAX):
        _round(world, waking, number)
        record = world.watch.record
        if record.settled:
            break
        if any(strange.upgrade for strange in record.strange):
            return
        if number % AGAIN_EVERY == AGAIN_EVERY - 1 and isinstance(waking, ByRounds):
            _again(world)
        if number % ASKS_EVERY == ASKS_EVERY - 1:
            command = world.operators.diligent(record)
            if command is not None:
                world.say(f"the diligent person asks: {command}")
                world.operators.publish(command)
    else:
        raise LawBroken("liveness", f"not settled after {ROUNDS_MAX} quiet rounds: {waits(world)}")
    for number in range(AFTERMATH):
        _round(world, ByRounds(world), number)
    # One that begins with nothing finds nothing to do either.
    world.kill(world.processes[0])
    _again(world)


def _again(world: World) -> None:
    """Everybody is woken again, and nothing has happened since the last pass."""
    rested, before = world.last_pass, len(world.ledger.entries)
    for process in world.processes:
        process.wake()
    world.land_all()
    if rested is not None:
        world.watch.repeated(rested, before)


def _round(world: World, waking: ByRounds | ByTimer, number: int = 0) -> None:
    """The cluster goes on, commands are answered, time passes, and whoever is woken makes a pass."""
    for _ in range(2):
        world.moves.calm()
        world.watch.look()
        for waiting in world.operators.waiting():
            world.processes[0].receive(waiting)
            world.land_all()
        world.land_all()
        world.watch.look()
    waking.go_on(number)
    world.watch.look()


def waits(world: World) -> str:
    """What the system itself says it waits for, and what is recorded of each object."""
    ended, record = world.last_pass, world.watch.record
    if ended is None:
        return "no pass was ever made"
    told = [f"pass {ended.result.value} {ended.why}"]
    if record.over:
        told += [f"{c.name}: {c.waits_for}" for c in settled(record, ended.found, ended.capabilities) if not c.holds]
    else:
        told += _gate(world, record)
    return " | ".join([*told, waits_of(world)])


def _gate(world: World, record: Record) -> list[str]:
    ended, held = world.last_pass, record.canonical()
    if held is None or ended is None or ended.found is None or ended.capabilities is None:
        return []
    situation = Situation(
        record=record,
        found=ended.found,
        capabilities=ended.capabilities,
        controls=world.processes[0].controls,
        installation=INSTALLATION,
        asked_at=world.now,
        now=world.now,
    )
    return [f"{c.name}: {c.waits_for}" for c in gate.conditions(situation, held) if not c.holds]
