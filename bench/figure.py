"""What a benchmark finds: a figure, what it was measured beside in the same run, and the bar it should reach."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

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


async def best_s(rounds: int, *sides: Measured) -> list[float]:
    """The shortest time of each side, in seconds, measured in turns: what else the machine did falls on all alike."""
    best = [float("inf")] * len(sides)
    for _ in range(rounds):
        for place, side in enumerate(sides):
            begun = time.perf_counter()
            await side()
            best[place] = min(best[place], time.perf_counter() - begun)
            await asyncio.sleep(0)
    return best


def best_cpu_s(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """The least processor time of each side, in seconds, measured in turns."""
    best = [float("inf")] * len(sides)
    for _ in range(rounds):
        for place, side in enumerate(sides):
            begun = time.process_time()
            side()
            best[place] = min(best[place], time.process_time() - begun)
    return best
