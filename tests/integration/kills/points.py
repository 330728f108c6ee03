"""Ports that count every await, and kill or freeze their own process at the one asked for.

Each await has three points: before it (nothing was sent), in it (sent, not answered) and after it (answered, and
the answer lost with the process).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

POINTS = ("before", "in", "after")


class Points:
    """Counts points once armed; at number `at` the process gets the signal: gone, or frozen until it is continued."""

    def __init__(self, at: int, number: signal.Signals, tell: Callable[[str], None]) -> None:
        self.at = at
        self.number = number
        self.armed = False
        self.passed = 0
        self._tell = tell

    def point(self, name: str) -> None:
        if not self.armed:
            return
        self.passed += 1
        if self.passed == self.at:
            self._tell(name)
            os.kill(os.getpid(), self.number)

    async def through(self, name: str, call: Coroutine[Any, Any, Any]) -> Any:
        self.point(f"before {name}")
        task = asyncio.ensure_future(call)
        for _ in range(3):
            await asyncio.sleep(0)
        self.point(f"in {name}")
        answer = await task
        self.point(f"after {name}")
        return answer


class Counted:
    """Any port, each of its coroutine methods led through the points."""

    def __init__(self, port: Any, name: str, points: Points) -> None:
        self._port = port
        self._name = name
        self._points = points

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._port, attribute)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def counted(*args: Any, **kwargs: Any) -> Any:
            return await self._points.through(f"{self._name}.{attribute}", found(*args, **kwargs))

        return counted
