"""Every state of a small world, by replay along every prefix of choices; coroutines cannot be copied.

A state that was met before is not gone on from. A law broken anywhere ends the exploration with the way there: the
choices by number, which make the same world break the same law again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import msgspec

from tests.simulator.broken import LawBroken
from tests.simulator.calm import quiet
from tests.simulator.small.key import key_of
from tests.simulator.small.world import Fault, Small, SmallWorld

Path = tuple[int, ...]
BOTH, SENT, STRUCK = "both at work", "sent ", "struck "


class Explored(msgspec.Struct, kw_only=True):
    """What an exploration came to.

    `interleavings`: different ways from the beginning to an end, counted over the graph of states. `left`: prefixes
    that were not gone along, 0 where every one was. `seconds`: of one core. `law`: what broke, at the end of `path`.
    `tally`: in how many states both supervisors were at work, each call had been sent, the fault had struck what.
    """

    small: Small
    states: int = 0
    steps: int = 0
    ends: int = 0
    interleavings: int = 0
    longest: int = 0
    left: int = 0
    seconds: float = 0.0
    law: str = ""
    what: str = ""
    path: Path = ()
    tally: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def struck(self) -> int:
        """In how many states the fault had struck, whatever it was that it struck."""
        return sum(count for what, count in self.tally.items() if what.startswith(STRUCK))

    @property
    def lacks(self) -> tuple[str, ...]:
        """What this world is there for and no state of it showed."""
        wanted = [SENT + verb for verb in self.small.calls]
        if self.small.fault == Fault.CALL:
            wanted += [STRUCK + verb for verb in self.small.calls]
        found = [what for what in wanted if not self.tally[what]]
        if self.small.fault != Fault.NONE and not self.struck:
            found.append(self.small.fault)
        if self.small.passes > 1 and not self.tally[BOTH]:
            found.append(BOTH)
        return tuple(found)

    @property
    def complete(self) -> bool:
        return self.left == 0 and not self.law and not self.lacks


class Broken(Exception):  # noqa: N818  # it is a finding, not an error of the program that raises it
    """A law broke at the end of this path."""

    def __init__(self, path: Path, law: str, what: str) -> None:
        super().__init__(f"{law}: {what}")
        self.path, self.law, self.what = path, law, what


class Explorer:
    """One exploration. `graph` holds, by state, the states that follow it."""

    def __init__(self, small: Small) -> None:
        self.small = small
        self.graph: dict[bytes, list[bytes]] = {}
        self.frontier: list[tuple[Path, bytes | None]] = [((), None)]
        self.explored = Explored(small=small)

    def explore(self, states_max: int | None = None) -> Explored:
        """Until nothing is left, a law breaks, or so many states were met."""
        done, began = self.explored, time.process_time()
        try:
            while self.frontier and (states_max is None or len(self.graph) < states_max):
                self._go(*self.frontier.pop())
        except Broken as broken:
            done.law, done.what, done.path = broken.law, broken.what, broken.path
        done.states, done.left = len(self.graph), len(self.frontier)
        done.interleavings = 0 if done.left or done.law else ways(self.graph)
        done.seconds = time.process_time() - began
        return done

    def _go(self, path: Path, before: bytes | None) -> None:
        """Along this prefix and on from it, always by the first choice, up to a state that is known or an end."""
        world = walk(self.small, path)
        while True:
            key = key_of(world)
            if before is not None:
                self.graph[before].append(key)
                self.explored.steps += 1
            if key in self.graph:
                return
            self.graph[key] = []
            self.explored.tally.update(shown(world))
            options = world.options()
            self.explored.longest = max(self.explored.longest, len(path))
            if not options:
                self.explored.ends += 1
                _checked(path, partial(quiet, world))
                return
            self.frontier += [((*path, index), key) for index in range(len(options) - 1, 0, -1)]
            path, before = (*path, 0), key
            _checked(path, partial(world.take, options[0]))


def shown(world: SmallWorld) -> list[str]:
    """What a state is an instance of, for the tally."""
    found = [SENT + verb for verb in sorted(world.sent)]
    if world.struck:
        found.append(STRUCK + world.struck)
    if all(process.passing for process in world.processes):
        found.append(BOTH)
    return found


def _checked(path: Path, act: Callable[[], None]) -> None:
    try:
        act()
    except LawBroken as broken:
        raise Broken(path, broken.law, broken.what) from broken
    except Exception as error:  # any: what the real code raises here, it would raise on the bus
        raise Broken(path, "raised", f"{type(error).__name__}: {error}") from error


def walk(small: Small, path: Path, *, trace: bool = False) -> SmallWorld:
    """The world at the end of this path. Raises Broken where a law breaks on it."""
    world = SmallWorld(small, trace=trace)
    for place, index in enumerate(path):
        option = world.options()[index]
        _checked(path[: place + 1], partial(world.take, option))
    return world


def ways(graph: dict[bytes, list[bytes]]) -> int:
    """How many different ways lead from the first state to any end: sums over a graph without cycles."""
    first = next(iter(graph))
    counted: dict[bytes, int] = {}
    stack = [first]
    while stack:
        key = stack[-1]
        todo = [after for after in graph[key] if after not in counted]
        if todo:
            stack += todo
            continue
        stack.pop()
        counted[key] = sum(counted[after] for after in graph[key]) or 1
    return counted[first]


def explore(small: Small, states_max: int | None = None) -> Explored:
    return Explorer(small).explore(states_max)


def trace(small: Small, path: Path) -> list[str]:
    """What happens along this path, and from its end in the quiet, a line each; last, what breaks."""
    world = SmallWorld(small, trace=True)
    try:
        for place, index in enumerate(path):
            option = world.options()[index]
            _checked(path[: place + 1], partial(world.take, option))
        if not world.options():
            _checked(path, partial(quiet, world))
    except Broken as broken:
        return [*(world.trace or ()), str(broken)]
    return list(world.trace or ())
