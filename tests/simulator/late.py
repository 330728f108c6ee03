"""What is late: held back for some steps, or, of a call, to the last instant at which it can still arrive or land.

The last instant is where a rule that waits too little loses: whatever was decided meanwhile, the call undoes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.simulator.flight import LEAVING, CallFlight, Flight

if TYPE_CHECKING:
    from tests.simulator.world import World

TO_THE_LAST = 1 << 30
TICK = timedelta(milliseconds=1)


LATE = {"call": "call-late", "append": "append-late"}


def is_late(world: World, flight: Flight) -> bool:
    """Whether this flight is to be late. A look alone seldom is: a pass that waits for it does nothing else."""
    fault = LATE.get(flight.kind)
    if fault is None or world.calm:
        return False
    level = world.swarm.levels[fault]
    looks = isinstance(flight, CallFlight) and not flight.request.writes and not _prepares(flight)
    if not world.draws.chance(level // 4 if looks else 2 * level):
        return False
    world.faults[fault] += 1
    return True


def _prepares(flight: Flight) -> bool:
    """Whether it is one of the looks that an admission begins with: what they saw is to be old by then."""
    return isinstance(flight, CallFlight) and ":" in flight.request.verb


def caller_gives_up(world: World, flight: Flight) -> bool:
    """Whether whoever waits for this late flight waits no more."""
    patience = 64 if _prepares(flight) else 8
    return world.draws.below(patience) == patience - 1


def hold_back(world: World, flight: Flight) -> None:
    """This flight is late from now on."""
    draws = world.draws
    how = draws.below(4) if isinstance(flight, CallFlight) and flight.request.writes else 0
    if how == 3:
        flight.advance()
    flight.held_until = TO_THE_LAST if how > 1 else world.steps + 30 + draws.below(120)


def time_passes(world: World, passing: timedelta) -> None:
    """Time passes, and on its way each call that was held to the last arrives, or lands, right before it is over."""
    until = world.now + passing
    held = [f for f in _flying(world) if f.held_until == TO_THE_LAST]
    while held:
        flight = min(held, key=lambda f: f.request.left or passing)
        left = flight.request.left
        left = None if left is None else world.host_takes(left)
        if left is None or world.now + left > until:
            break
        world.now += max(left - TICK, timedelta(0))
        leaving = flight.stage == LEAVING
        flight.held_until = 0
        flight.advance()
        if leaving and flight.goes_on:
            flight.held_until = TO_THE_LAST
        else:
            held.remove(flight)
        if flight in world.orphans and not flight.goes_on:
            world.orphans.remove(flight)
        world.watch.look()
    world.now = max(world.now, until)


def _flying(world: World) -> list[CallFlight]:
    flying = [task.flight for task in world.tasks] + list(world.orphans)
    return [f for f in flying if isinstance(f, CallFlight) and f.goes_on]
