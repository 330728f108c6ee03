"""One run of the simulator: a seed, so many busy steps, and the quiet phase."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from tests.simulator.broken import LawBroken
from tests.simulator.calm import head_start, quiet
from tests.simulator.world import World

STEPS = 300
TOLD = range(40, 52)
AFTER_SETTLED = 80
RAISED = "raised"


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one run. `law` None: every law held and the job came to rest."""

    seed: int
    world: World
    law: str | None = None
    what: str = ""

    @property
    def broken(self) -> bool:
        return self.law is not None


def run(
    seed: int,
    *,
    steps: int = STEPS,
    script: Sequence[int] | None = None,
    shape: str | None = None,
    trace: bool = False,
) -> Ran:
    """Run the world of this seed, or of this script of draws. Anything the real code raises is a broken law too."""
    world = World(seed, script=script, shape=shape, trace=trace)
    try:
        world.begin()
        if world.swarm.head_start:
            head_start(world)
        settled_for, steps = 0, steps + world.steps
        while world.steps < steps and settled_for < AFTER_SETTLED:
            world.step()
            settled_for += world.watch.record.settled
        quiet(world)
    except LawBroken as broken:
        return Ran(seed=seed, world=world, law=broken.law, what=broken.what)
    except Exception as error:  # any: what the real code raises here, it would raise on the bus
        return Ran(seed=seed, world=world, law=RAISED, what=f"{type(error).__name__}: {error}")
    return Ran(seed=seed, world=world)


def digest(seeds: Iterable[int] = TOLD) -> str:
    """What happens on these seeds, step by step, and what was drawn for it, in one number: SHA-256, hexadecimal."""
    told = hashlib.sha256()
    for seed in seeds:
        world = run(seed, trace=True).world
        told.update("\n".join(world.trace or ()).encode())
        told.update(repr(world.draws.log).encode())
    return told.hexdigest()
