"""Calls in flight: every await of the real code on a port is one `Flight`, which the world moves on step by step.

A flight leaves, arrives, lands and is answered. Its caller may give up or die at any of these; what was sent goes on
without it, lands later, or never.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from adapters.errors import AdapterError, OutcomeUnknownError, UnreachableError
from adapters.simulated.host import Request
from streams import codec
from streams.errors import BusUnreachableError, StreamError, UndecidedError
from streams.messages.events import Envelope

if TYPE_CHECKING:
    from tests.simulator.process import Process, Task
    from tests.simulator.world import World

LEAVING, ARRIVED, ANSWERED, DEAD = range(4)


class Flight:
    """`answer` or `error` is set once it is answered. Before step `held_until` it does not move by itself.

    `known`: the newest revision that its sender had been told when it left.
    """

    __slots__ = ("answer", "error", "held_until", "known", "landed_at", "process", "stage", "task", "world")
    kind = "?"

    def __init__(self, world: World, process: Process) -> None:
        self.world = world
        self.process = process
        self.task: Task | None = None
        self.stage = LEAVING
        self.held_until = 0
        self.landed_at = self.known = 0
        self.answer: Any = None
        self.error: BaseException | None = None

    def __await__(self) -> Generator[Flight, Any, Any]:
        return (yield self)

    def advance(self) -> None:
        """One stage further."""
        raise NotImplementedError

    def lost(self) -> BaseException:
        """What its caller is told when no answer comes; the flight itself may go on."""
        raise NotImplementedError

    @property
    def goes_on(self) -> bool:
        """Whether it can still do something once its caller has gone."""
        return False

    def fail(self, error: BaseException) -> None:
        self.error = error
        self.stage = ANSWERED
        self.landed_at = self.world.steps

    def reply(self, answer: object) -> None:
        self.answer = answer
        self.stage = ANSWERED
        self.landed_at = self.world.steps


class CallFlight(Flight):
    """A request to the scheduler's host."""

    __slots__ = ("request",)
    kind = "call"

    def __init__(self, world: World, process: Process, request: Request[Any]) -> None:
        super().__init__(world, process)
        self.request = request

    def advance(self) -> None:
        request = self.request
        try:
            if self.stage == LEAVING:
                request.arrive()
                if request.writes:
                    self.stage = ARRIVED
                    return
            if not request.can_land:
                self.stage = DEAD
                return
            self.reply(request.land())
        except AdapterError as error:
            self.fail(error)
        self.world.landed(self)

    def lost(self) -> BaseException:
        if not self.request.writes:
            return UnreachableError("no answer from the scheduler")
        return OutcomeUnknownError("no answer from the scheduler")

    @property
    def goes_on(self) -> bool:
        return self.request.writes and self.stage in (LEAVING, ARRIVED)


class AppendFlight(Flight):
    """One event on its way to the store."""

    __slots__ = ("data", "envelope", "generation")
    kind = "append"

    def __init__(self, world: World, process: Process, envelope: Envelope) -> None:
        super().__init__(world, process)
        self.envelope = envelope
        self.data = codec.encode_event(envelope)
        self.generation = process.generation

    def advance(self) -> None:
        if self.world.store_is_down:
            self.fail(BusUnreachableError("the store does not answer"))
            return
        try:
            revision, new = self.world.ledger.append(self.envelope, self.data, self.generation)
        except StreamError as error:
            self.fail(error)
            return
        self.reply(revision)
        if new:
            self.world.stored(self)

    def lost(self) -> BaseException:
        return UndecidedError(f"{self.envelope.tenant}.{self.envelope.job}", self.envelope.id)

    @property
    def goes_on(self) -> bool:
        return self.stage == LEAVING


class ReadFlight(Flight):
    """One read of a history."""

    __slots__ = ("after", "generation", "job")
    kind = "read"

    def __init__(self, world: World, process: Process, job: str, after: int) -> None:
        super().__init__(world, process)
        self.job = job
        self.after = after
        self.generation = process.generation

    def advance(self) -> None:
        if self.world.store_is_down:
            self.fail(BusUnreachableError("the store does not answer"))
            return
        try:
            self.reply(self.world.ledger.read(self.job, self.after, self.generation, self.world.staleness()))
        except StreamError as error:
            self.fail(error)

    def lost(self) -> BaseException:
        return BusUnreachableError("no answer from the store")


class TellFlight(Flight):
    """A receipt, a wake-up or an acknowledgement on its way: lost or not, nothing is decided by it (L13)."""

    __slots__ = ("what",)
    kind = "tell"

    def __init__(self, world: World, process: Process, what: str) -> None:
        super().__init__(world, process)
        self.what = what

    def advance(self) -> None:
        self.reply(None)

    def lost(self) -> BaseException:
        return BusUnreachableError("no answer from the bus")
