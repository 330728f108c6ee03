"""`up --stop-jobs`: cancel what is open before everything ends, wait until it has stopped, and say what became of each.

What is open is read from the history, every tenant's, and a submit that still waits on the bus is waited for: neither
the status bucket nor a receipt is taken for the record.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.tool import Tool
from dispatch.client import AsyncClient, BusSettings, Outcome, Refused, Said
from dispatch.config import read_up
from dispatch.replica.follower import Name, OpenJobs
from streams import codec
from streams.errors import StreamError
from streams.jetstream.connect import connect
from streams.messages.events import Envelope, JobCancelled
from streams.ports import Bus

WITHIN_S = 60.0
POLL_S = 0.1
NAMED_MAX = 4
SAID = Said(note="dispatch up --stop-jobs")


@dataclass(frozen=True, slots=True)
class Left:
    """What became of the jobs that were open.

    `cancelled`: settled after a cancel of theirs; `stopping`: the cancel is committed, something of them may yet live;
    `refused`: not cancelled, each with the sentence why; `undecided`: nobody has decided their cancel. `waiting`:
    commands that nobody has decided, a submit of a further job may be among them.
    """

    cancelled: tuple[Name, ...] = ()
    stopping: tuple[Name, ...] = ()
    refused: tuple[tuple[Name, str], ...] = ()
    undecided: tuple[Name, ...] = ()
    waiting: int = 0

    @property
    def exit(self) -> Exit:
        """As of a command that does this for one job; of several the one that says most."""
        if self.undecided or self.waiting:
            return Exit.UNDECIDED
        if self.refused:
            return Exit.REFUSED
        return Exit.TIMED_OUT if self.stopping else Exit.DONE

    def sentence(self) -> str:
        """All of it in one line, the names of those that are not cancelled included."""
        told = [f"{_jobs(len(self.cancelled))} cancelled" if self.cancelled else ""]
        if self.stopping:
            told.append(f"still stopping: {_named(self.stopping)} (the cancels stand, the next `dispatch up` goes on)")
        if self.refused:
            told.append("NOT cancelled: " + "; ".join(f"{_job(name)} ({why})" for name, why in self.refused))
        if self.undecided:
            told.append(f"UNDECIDED: {_named(self.undecided)} (may run on until the next `dispatch up` decides)")
        if (others := self.waiting - len(self.undecided)) > 0:
            told.append(
                f"{others} command{'s wait' if others > 1 else ' waits'} for the next `dispatch up`, a submit maybe"
            )
        return "; ".join(part for part in told if part) or "no job was open"


def _jobs(count: int) -> str:
    return "1 job was" if count == 1 else f"{count} jobs were"


def _job(name: Name) -> str:
    return f"{name[1]} of {name[0]}"


def _named(names: tuple[Name, ...]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(_job(name) for name in names[:NAMED_MAX]) + more


async def cancel_open(tool: Tool, directory: Path) -> Left:
    """Cancel every open job of the bus that `up` keeps there; what became of each, a minute later at most."""
    place = read_up(directory)
    if place is None or place.bus is None:
        raise CliError(
            "--stop-jobs: no job was cancelled",
            why=f"{directory}/up.json, where the bus is, cannot be read",
            code="no-bus",
        )
    bus = await connect(BusSettings(urls=place.bus.urls, creds=place.bus.creds, name="dispatch-up"))
    try:
        return await Stopping(tool, bus).run(WITHIN_S)
    finally:
        await bus.close()


class Stopping:
    """One cancel for each job that is open, and a look at the history until none is."""

    def __init__(self, tool: Tool, bus: Bus) -> None:
        self._tool = tool
        self._bus = bus
        self._jobs = OpenJobs()
        self._committed: set[Name] = set()
        self._ours: set[Name] = set()
        self._asked: dict[Name, Outcome] = {}
        self._sending = False

    async def run(self, within_s: float) -> Left:
        """Raises the errors of the bus; once a cancel may have been sent, CliError (7) in their place."""
        try:
            return await self._until_none(time.monotonic() + within_s)
        except StreamError as error:
            if not self._sending:
                raise
            raise CliError(
                "--stop-jobs: what became of the jobs cannot be told",
                why=(str(error), "a cancel that was sent takes effect, at the latest with the next `dispatch up`"),
                do="dispatch up, and there: dispatch list --all",
                code="bus-lost",
            ) from error

    async def _until_none(self, end: float) -> Left:
        while True:
            waiting = await self._bus.commands.waiting()  # first: what is decided before this look is in the history
            await self._look()
            if (not self._jobs.open - self._refused.keys() and not waiting) or time.monotonic() >= end:
                return self._left(waiting)
            if unasked := sorted(self._jobs.open - self._committed - self._asked.keys()):
                await self._cancel(unasked, end - time.monotonic())
            else:
                await asyncio.sleep(POLL_S)

    async def _look(self) -> None:
        """What the history tells since the last look."""
        async for stored in self._bus.history.stored(after=self._jobs.revision):
            entry = codec.decode_event(
                stored.subject, stored.data, revision=stored.revision, stored_at=stored.stored_at
            )
            self._jobs.apply(entry)
            if isinstance(entry.content, Envelope) and isinstance(entry.content.event, JobCancelled):
                self._committed.add((entry.tenant, entry.job))
        self._ours |= self._jobs.open

    async def _cancel(self, names: list[Name], within_s: float) -> None:
        """Ask for all of them at once, so that one without an answer keeps no other from being asked."""
        self._tool.screen.say(f"cancelling {len(names)} open job{'s' if len(names) > 1 else ''}")
        self._sending = True
        actor = self._tool.settings.actor
        asked = [
            AsyncClient(self._bus, tenant=tenant, actor=actor, timeout_s=within_s).cancel(job, said=SAID)
            for tenant, job in names
        ]
        self._asked.update(zip(names, await asyncio.gather(*asked), strict=True))

    @property
    def _refused(self) -> dict[Name, str]:
        """The jobs whose cancel was refused, each with the sentence why."""
        return {name: told.receipt.sentence for name, told in self._asked.items() if isinstance(told, Refused)}

    def _left(self, waiting: int) -> Left:
        pending = sorted(self._jobs.open - self._committed)
        refused = self._refused
        return Left(
            cancelled=tuple(sorted((self._committed & self._ours) - self._jobs.open)),
            stopping=tuple(sorted(self._jobs.open & self._committed)),
            refused=tuple((name, refused[name]) for name in pending if name in refused),
            undecided=tuple(name for name in pending if name not in refused),
            waiting=waiting,
        )
