"""One supervisor for one job, in a process of its own that may be killed at any await. Everything it uses is real."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from adapters.local.adapter import LocalAdapter
from adapters.port import Adapter
from dispatch import identity
from dispatch.act import Hands
from dispatch.replica import commands
from dispatch.replica.passes import Passes, Records
from dispatch.replica.telling import Teller
from dispatch.supervisor import Result
from projections.record import Record
from streams import codec, subjects
from streams.jetstream.connect import connect
from streams.jetstream.settings import BusSettings
from streams.messages.calls import Capabilities
from streams.messages.commands import Command
from tests.integration.kills.points import Counted, Points

INSTALLATION = "kills"
WITHIN_S = 80.0
PAUSE_S = 0.1


class QuickAdapter(LocalAdapter):
    """The local adapter with short deadlines, so that a call lost with its supervisor is soon over."""

    async def capabilities(self) -> Capabilities:
        return replace(await super().capabilities(), start_deadline_s=5.0, call_deadline_s=5.0, call_bound_s=2.0)


class Handed:
    """A command in hand without a queue: never redelivered, so that the kill decides what becomes of it."""

    def __init__(self, command: Command) -> None:
        self.subject = subjects.command(command.tenant, "ana", codec.verb_of(command), command.job)
        self.data = codec.encode_command(command)
        self.sequence = 1

    async def ack(self) -> None: ...

    async def in_progress(self) -> None: ...


@dataclass(frozen=True)
class Scenario:
    """`armed` says from when on awaits count; `order` is a command given once the record is as `when` says."""

    submit: Command
    armed: Callable[[Record], bool]
    order: Command | None = None
    when: Callable[[Record], bool] = lambda record: False


@dataclass(frozen=True)
class Place:
    """Where everything is: the bus, the local cluster's directory."""

    url: str
    state_dir: Path


class Lone:
    """Drives one job alone: its command, its passes, its calls one after another."""

    def __init__(self, place: Place, points: Points) -> None:
        self.place = place
        self.points = points
        self._calls: list[Coroutine[Any, Any, None]] = []

    async def run(self, scenario: Scenario) -> int:
        """The whole scenario; the number of points passed, if nothing hit it."""
        async with self._hands() as (hands, passes, buckets):
            await self._drive(hands, passes, buckets, scenario)
        return self.points.passed

    async def carry_on(self, scenario: Scenario) -> Record:
        """What whoever comes next does: the commands are delivered again, and passes go on until it is settled."""
        async with self._hands() as (hands, passes, buckets):
            await commands.handle(hands, buckets, Handed(scenario.submit))
            if scenario.order is not None:
                await commands.handle(hands, buckets, Handed(scenario.order))
            while True:
                record = await self._look(passes, scenario)
                if record.settled:
                    return record

    @contextlib.asynccontextmanager
    async def _hands(self) -> AsyncIterator[tuple[Hands, Passes, Any]]:
        bus = await connect(BusSettings(urls=(self.place.url,)))
        points = self.points
        adapter = cast(Adapter, Counted(QuickAdapter(self.place.state_dir), "adapter", points))
        history = cast(Any, Counted(bus.history, "history", points))
        buckets = cast(Any, Counted(bus.buckets, "buckets", points))
        wakeups = cast(Any, Counted(bus.wakeups, "wakeups", points))

        async def publish(record: Record) -> None:
            await teller.receipts(record)

        hands = Hands(
            history=history,
            adapter_of=lambda cluster: adapter,
            clock=identity.now,
            new_id=identity.new_event_id,
            by=f"replica:lone-{os.getpid()}",
            installation=INSTALLATION,
            spawn=self._calls.append,
            wake=wakeups.wake,
            publish=publish,
        )
        teller = Teller(buckets, hands, lambda cluster: None)
        try:
            yield hands, Passes(hands, wakeups, Records(10), teller.tell), buckets
        finally:
            for call in self._calls:
                call.close()
            await bus.close()

    async def _drive(self, hands: Hands, passes: Passes, buckets: Any, scenario: Scenario) -> None:
        self.points.armed = scenario.armed(Record(tenant=scenario.submit.tenant, job=scenario.submit.job))
        await commands.handle(hands, buckets, Handed(scenario.submit))
        order = scenario.order
        until = asyncio.get_running_loop().time() + WITHIN_S
        while asyncio.get_running_loop().time() < until:
            record = await self._look(passes, scenario)
            self.points.armed = self.points.armed or scenario.armed(record)
            if order is not None and scenario.when(record):
                self.points.armed = True
                await commands.handle(hands, buckets, Handed(order))
                order = None
            if record.settled:
                return
        raise AssertionError(f"{scenario.submit.job} did not settle by itself")

    async def _look(self, passes: Passes, scenario: Scenario) -> Record:
        """One pass, and then the calls that it sent, one after another."""
        done = await passes.look(scenario.submit.tenant, scenario.submit.job)
        while self._calls:
            await self._calls.pop(0)
        if done.result in (Result.QUIET, Result.UNREACHABLE):
            await asyncio.sleep(PAUSE_S)  # waits: a process of the job to change by itself
        return done.record


@dataclass(frozen=True)
class Fault:
    """Which signal the process gives itself, at which of its points (0: at none), and where it tells of it."""

    at: int
    number: signal.Signals
    told: Path


def child(place: Place, scenario: Scenario, fault: Fault) -> None:
    """In a forked process: run until hit, or leave the number of points passed where it tells."""
    points = Points(fault.at, fault.number, lambda name: _write(fault.told, f"hit {name}"))
    passed = asyncio.run(Lone(place, points).run(scenario))
    if fault.at == 0:
        _write(fault.told, f"whole {passed}")


def _write(told: Path, text: str) -> None:
    new = told.with_suffix(".new")
    with new.open("w") as file:
        file.write(text)
    new.replace(told)
