"""What a benchmark finds: a figure, what it was measured beside in the same run, and the bar it should reach."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is a ratio unless `unit` says otherwise. `bar` None: reported only. `parts`: what it was made from."""

    name: str
    what: str
    value: float
    unit: str = ""
    bar: float | None = None
    less_is_better: bool = False
    parts: dict[str, float] = {}

    @property
    def met(self) -> bool | None:
        """Whether the bar is reached; None without one."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.less_is_better else self.value >= self.bar

    @property
    def wanted(self) -> str:
        """The bar in words."""
        if self.bar is None:
            return "reported"
        return f"{'at most' if self.less_is_better else 'at least'} {self.bar:,g}"


Measured = Callable[[], Awaitable[None]]


class Turns:
    """Seconds of two sides, ours and the bare one, measured in turns, of which the middle one is told.

    What else the machine does falls on both sides of a turn alike, so the figure is what the turn in the middle says
    (of an even number the lower of the two), never a quotient of two lucky moments; and it is made from that turn's own
    seconds, so that the quotient of the parts is the figure.
    """

    def __init__(self, pairs: Sequence[tuple[float, float]]) -> None:
        ordered = sorted(pairs, key=lambda pair: pair[0] / pair[1])
        self.ours_s, self.bare_s = ordered[(len(ordered) - 1) // 2]

    @property
    def ratio(self) -> float:
        """How long ours takes in units of the bare one's time."""
        return self.ours_s / self.bare_s


async def in_turns(rounds: int, ours: Measured, bare: Measured) -> Turns:
    """Each side once a turn, the first one changing."""
    pairs = []
    for number in range(rounds):
        sides = (ours, bare) if number % 2 == 0 else (bare, ours)
        took = [await _seconds(side) for side in sides]
        pairs.append((took[0], took[1]) if number % 2 == 0 else (took[1], took[0]))
    return Turns(pairs)


async def _seconds(side: Measured) -> float:
    begun = time.perf_counter()
    await side()
    return time.perf_counter() - begun


def best_cpu_s(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """The least processor time of each side, in seconds, measured in turns."""
    best = [float("inf")] * len(sides)
    for _ in range(rounds):
        for place, side in enumerate(sides):
            begun = time.process_time()
            side()
            best[place] = min(best[place], time.process_time() - begun)
    return best
