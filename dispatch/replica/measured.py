"""A history whose appends are counted. It changes nothing: what the real one returns or raises comes through."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from dispatch.replica.metrics import Metrics
from streams.errors import (
    BusUnreachableError,
    ConflictError,
    NotPermittedError,
    RegressionError,
    SettingsError,
    StreamError,
    StreamFullError,
    UndecidedError,
    WrongStreamError,
)
from streams.messages.events import Entry, Envelope
from streams.ports import Caught, History, Stored

OUTCOMES: dict[type[BaseException], str] = {
    ConflictError: "conflict",
    RegressionError: "regressed",
    UndecidedError: "undecided",
    asyncio.CancelledError: "undecided",
    BusUnreachableError: "unreachable",
    NotPermittedError: "not-permitted",
    WrongStreamError: "wrong-stream",
    StreamFullError: "full",
    SettingsError: "refused",
}


class MeasuredHistory:
    """`streams.ports.History` over another one."""

    def __init__(self, history: History, metrics: Metrics) -> None:
        self._history = history
        self._metrics = metrics

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        return await self._history.read(tenant, job, after=after)

    async def last_revision(self, tenant: str, job: str) -> int:
        return await self._history.last_revision(tenant, job)

    async def append(self, envelope: Envelope) -> int:
        begun = time.perf_counter()
        outcome = "stored"
        try:
            return await self._history.append(envelope)
        except (StreamError, asyncio.CancelledError) as error:
            outcome = OUTCOMES.get(type(error), "refused")
            raise
        finally:
            self._metrics.appended(outcome, time.perf_counter() - begun)

    def follow(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Entry | Caught]:
        return self._history.follow(after=after, tenant=tenant)

    def stored(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Stored]:
        return self._history.stored(after=after, tenant=tenant)
