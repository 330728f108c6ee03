"""The scheduler's host: its clock, and the way a call takes to it.

A call leaves its caller, arrives at the host, where its deadline is checked (L10), and lands on the scheduler at
most CallBound later, or never. What happens in between is the `Channel`'s to say.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from adapters.errors import DeadlinePassedError
from streams.messages.calls import Call

T = TypeVar("T")
Clock = Callable[[], datetime]


class HostClock:
    """A clock that never goes back: set back, it runs on from the greatest instant it has told."""

    __slots__ = ("_clock", "_lead", "_told")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told = clock()
        self._lead = timedelta(0)

    def now(self) -> datetime:
        """The present instant; each answer is at least the one before."""
        now = self._clock() + self._lead
        if now < self._told:
            self._lead += self._told - now
            return self._told
        self._told = now
        return now


class Request(Generic[T]):
    """One call on its way: `arrive` checks the deadline and looks, `land` acts.

    Reads have no deadline and, but for those that prepare a write, no `call`.
    """

    __slots__ = ("_act", "_bound", "_deadline_at", "_expires_at", "_host", "_look", "call", "verb")

    def __init__(self, host: HostClock, verb: str, act: Callable[[], T], call: Call | None = None) -> None:
        self._host = host
        self._act = act
        self._look: Callable[[], None] | None = None
        self._deadline_at: datetime | None = None
        self._bound = timedelta(0)
        self._expires_at: datetime | None = None
        self.verb = verb
        self.call = call

    def by(self, deadline_at: datetime, bound: timedelta, look: Callable[[], None]) -> Request[T]:
        """This request, to be refused after `deadline_at` and to land within `bound` of its arrival.

        `look` is what its adapter checks on the host before it acts; by the time the call lands, things may differ.
        """
        self._deadline_at = deadline_at
        self._bound = bound
        self._look = look
        return self

    @property
    def writes(self) -> bool:
        return self._deadline_at is not None

    def arrive(self) -> None:
        """Reach the scheduler's host. Raises DeadlinePassedError past it: nothing will happen."""
        if self._deadline_at is None:
            return
        now = self._host.now()
        if now > self._deadline_at:
            raise DeadlinePassedError(f"{self.verb}: its deadline {self._deadline_at:%H:%M:%S} has passed on this host")
        self._expires_at = now + self._bound
        if self._look is not None:
            self._look()

    @property
    def can_land(self) -> bool:
        """Whether the scheduler would still take it: before CallBound has passed since it arrived."""
        return self._expires_at is None or self._host.now() < self._expires_at

    @property
    def might_land(self) -> bool:
        """Whether it can still act: not yet arrived and in time, or arrived and within its bound."""
        if self._expires_at is not None or self._deadline_at is None:
            return self.can_land
        return self._host.now() <= self._deadline_at

    @property
    def left(self) -> timedelta | None:
        """How long it can still arrive, or, once it has, land; None for a read, which may at any time."""
        last_at = self._expires_at or self._deadline_at
        return None if last_at is None else last_at - self._host.now()

    def land(self) -> T:
        """Act on the scheduler; what it answers, or raises."""
        return self._act()


class Channel(Protocol):
    """The way between a caller and the scheduler's host."""

    async def carry(self, request: Request[T]) -> T:
        """The answer of `request.land()`. Raises what the call raises, or OutcomeUnknownError or UnreachableError."""
        ...


class Direct:
    """The way where nothing is lost or late."""

    async def carry(self, request: Request[T]) -> T:
        request.arrive()
        return request.land()
