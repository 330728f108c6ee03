"""Who is woken in a quiet phase, and when: by rounds, or as a replica is, by what its wake-ups and its one timer tell.

Waking by timer keeps the promise of `Pass.due_at`: nobody looks before it but those who are told of something, and of
what they are told any may be lost, late or repeated (L13). The sweep that finds what was missed has no part in it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulator.world import World

ROUND = timedelta(seconds=20)
LOOKS_MAX = 12
ARRIVES, LOST, LATE, TWICE = range(4)


class ByRounds:
    """One process after another, each round one."""

    def __init__(self, world: World) -> None:
        self.world = world

    def begin(self) -> None:
        """Nobody needs to be told."""

    def go_on(self, number: int) -> None:
        """A round passes, and at its end one of them looks."""
        self.world.now += ROUND
        self.world.processes[number % len(self.world.processes)].wake()
        self.world.land_all()


class ByTimer:
    """`watched`: the cluster tells of changes, so that looking without being told is rare. `loses`: not all arrives.

    `for_nothing`: some are woken for no reason at all.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.watched = world.draws.below(2) == 1
        self.loses = world.draws.below(2) == 1
        self.for_nothing = world.draws.below(2) == 1
        self._owed = 0
        self._late = 0
        self._changes = world.cluster.changes

    def begin(self) -> None:
        """Each replica looks once as it starts: what was told in the trouble before is lost."""
        if self.watched:
            self.world.cluster.otherwise = {**self.world.cluster.otherwise, "watch": True}
        self.world.say(f"by timer: watched {self.watched}, loses {self.loses}, for nothing {self.for_nothing}")
        self._owed = len(self.world.processes)

    def go_on(self, number: int) -> None:
        """A round passes; whoever is woken in it looks."""
        world = self.world
        until = world.now + ROUND
        for _ in range(LOOKS_MAX):
            self._hear()
            if not self._owed:
                due = world.timer_at
                if due is None or due > until:
                    break
                world.timer_at = None
                world.now = max(world.now, due)
                self._owed = 1
            self._look()
        self._owed += self._late
        self._late = 0
        if self.for_nothing and world.draws.below(4) == 3:
            world.now += timedelta(seconds=world.draws.below(20))
            self._look()
        world.now = max(world.now, until)

    def _hear(self) -> None:
        """What was told since: a reply or a command of the job, and, where it is watched, any change of the cluster."""
        world = self.world
        if world.woken:
            world.woken = False
            self._arrives("wake-up")
        if world.cluster.changes != self._changes:
            self._changes = world.cluster.changes
            if self.watched:
                self._arrives("watch-event")

    def _arrives(self, what: str) -> None:
        how = self.world.draws.below(4) if self.loses else ARRIVES
        if how == ARRIVES:
            self._owed += 1
            return
        self.world.faults[f"{what}-{('', 'lost', 'late', 'repeated')[how]}"] += 1
        if how == LATE:
            self._late += 1
        elif how == TWICE:
            self._owed += 2

    def _look(self) -> None:
        """One of them makes a pass; where none comes to its end, the message comes back."""
        world, before = self.world, self.world.last_pass
        world.draws.pick(world.processes).wake()
        world.land_all()
        world.watch.look()
        self._owed = max(0, self._owed - 1)
        if world.last_pass is before:
            self._owed += 1


def drawn(world: World) -> ByRounds | ByTimer:
    """How this run's quiet phase is woken."""
    return ByTimer(world) if world.draws.below(2) == 1 else ByRounds(world)
