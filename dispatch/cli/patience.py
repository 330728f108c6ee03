"""Waiting beside a bus that may go away: said once when it is lost, and once when it is back.

A command that waits asks the bus again and again. One read that fails ends no wait; `--timeout` does, also while the
bus is away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dispatch.cli.looking import frame_of
from dispatch.cli.session import Read, Session, folded
from dispatch.cli.times import elapsed
from dispatch.cli.tool import Tool
from dispatch.cli.views.frame import Frame
from streams.errors import BusClosedError, BusUnreachableError

T = TypeVar("T")


class Patience:
    """What one wait knows of the bus: whether it is lost, and since when."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._lost_at: float | None = None

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T | None:
        """The answer; None while the bus is away, or when `--timeout` ends the wait first.

        Raises BusClosedError: a connection that was closed for good does not come back.
        """
        until = self._tool.wait_until
        try:
            async with asyncio.timeout(None if until is None else max(0.0, until - time.monotonic())):
                return await question()
        except BusClosedError:
            raise
        except BusUnreachableError:
            if self._lost_at is None:
                self._lost_at = time.monotonic()
                self._tool.screen.hint("the bus does not answer; waiting for it")
        except TimeoutError:
            pass
        return None

    def back(self, number: int) -> None:
        """The bus answers, and the job is read to event `number`."""
        if self._lost_at is not None:
            lost = elapsed(time.monotonic() - self._lost_at)
            self._tool.screen.hint(f"bus lost {lost}, resumed at #{number}")
            self._lost_at = None

    @property
    def over(self) -> bool:
        """Whether `--timeout` has ended the wait."""
        until = self._tool.wait_until
        return until is not None and time.monotonic() >= until


def unread(session: Session, job: str) -> Read:
    """The job of exactly this name, before it is read."""
    return Read(job, (), folded(session.tenant, job, ()))


class Watched:
    """One job, read again and again from the last event seen. `read` may be empty: it is then read to begin with."""

    def __init__(self, session: Session, read: Read) -> None:
        self.read = read
        self.patience = Patience(session.tool)
        self._session = session
        self._frame: Frame | None = None
        self._framed: Read | None = None

    async def look(self, *, around: bool = False) -> Frame | None:
        """The job now; as it was last seen while the bus is away, None before it was ever seen.

        `around`: also what stands beside its history is looked at again, though nothing was added to it.
        """
        found = await self.patience.ask(lambda: self._seen(around=around))
        if found is not None:
            self._frame = found
            self.patience.back(self.read.record.number)
        return self._frame

    async def _seen(self, *, around: bool) -> Frame | None:
        """None where the history cannot be read yet, though a receipt tells of it."""
        read = self.read
        read = await (self._session.refreshed(read) if read.entries else self._session.maybe(read.job))
        if not read.entries:
            return None
        self.read = read
        if self._frame is not None and self._framed is read and not around:
            return self._frame
        frame = await frame_of(self._session, read)
        self._framed = read
        return frame
