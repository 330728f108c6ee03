"""Wake-ups off the bus: one pass over the job, its status, its next timer, then the acknowledgement."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from dispatch.act import Hands
from dispatch.replica.commands import read_controls
from dispatch.supervisor import Pass, Result, run_pass
from projections.controls import Controls
from projections.evolve import empty
from projections.record import Record
from streams.errors import BusUnreachableError, UndecidedError
from streams.ports import WakeUps

AGAIN_MAX = 5
RETRY_AFTER = {
    Result.UNREACHABLE: timedelta(seconds=5),
    Result.NO_ADAPTER: timedelta(seconds=30),
    Result.REGRESSED: timedelta(seconds=10),
    Result.STRANGE: timedelta(seconds=60),
}

log = structlog.get_logger("dispatch.passes")


class Records:
    """Folds held between passes, the least recently used forgotten first. A cache: a pass reads the tail anyway."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[str, str], Record] = OrderedDict()

    def take(self, tenant: str, job: str) -> Record:
        return self._held.get((tenant, job)) or empty(tenant, job)

    def keep(self, record: Record) -> None:
        """Keep what may be needed again; a settled job is let go."""
        key = (record.tenant, record.job)
        self._held.pop(key, None)
        if record.empty or record.settled:
            return
        self._held[key] = record
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    def forget(self) -> None:
        """Let every fold go."""
        self._held.clear()

    def __len__(self) -> int:
        return len(self._held)


class Passes:
    """Runs passes for whoever is woken. `tell` writes the status of a pass to the bus."""

    def __init__(
        self, hands: Hands, wakeups: WakeUps, records: Records, tell: Callable[[Pass, Controls], Awaitable[object]]
    ) -> None:
        self._hands = hands
        self._wakeups = wakeups
        self._records = records
        self._tell = tell
        self._controls: dict[str, Controls] = {}
        self._forgotten = 0

    async def look(self, tenant: str, job: str) -> Pass:
        """One job looked at until nothing moves under it; its status written and its next timer set.

        Raises what the bus raises: the wake-up is then not acknowledged and comes back.
        """
        done, controls = await self._from_held(tenant, job)
        if done.result is Result.REGRESSED and done.record.empty:
            # The store is behind what was held: look again from nothing, so that status says what is there.
            self.forget()
            done, controls = await self._from_held(tenant, job)
        await self._tell(done, controls)
        due_at = self._due_at(done)
        if due_at is not None:
            await self._wakeups.wake_at(tenant, job, due_at)
        return done

    def forget(self) -> None:
        """Let every fold go, of jobs and of controls: what was held may be newer than what the store has now (L14)."""
        self._records.forget()
        self._controls.clear()
        self._forgotten += 1

    async def _from_held(self, tenant: str, job: str) -> tuple[Pass, Controls]:
        """A look from the folds held, which are kept for the next one unless they were to be forgotten meanwhile."""
        forgotten = self._forgotten
        controls = await read_controls(self._hands, tenant, self._controls.get(tenant))
        done = await self._until_still(self._records.take(tenant, job), controls)
        if forgotten == self._forgotten:
            self._controls[tenant] = controls
            self._records.keep(done.record)
        return done, controls

    async def _until_still(self, held: Record, controls: Controls) -> Pass:
        done = await run_pass(self._hands, held, controls)
        for _ in range(AGAIN_MAX):
            if done.result is not Result.MOVED:
                break
            done = await run_pass(self._hands, done.record, controls)
        if done.result is not Result.QUIET:
            _log(done)
        return done

    def _due_at(self, done: Pass) -> datetime | None:
        wait = RETRY_AFTER.get(done.result)
        return self._hands.clock() + wait if wait is not None else done.due_at


def _log(done: Pass) -> None:
    """One line with the numbers that find the pass in the history."""
    record, newest = done.record, done.record.newest
    log.info(
        "pass",
        result=done.result.value,
        tenant=record.tenant,
        job=record.job,
        submission=newest.number if newest is not None else None,
        revision=record.revision,
        why=done.why,
    )


async def keep_hold(
    in_progress: Callable[[], Awaitable[None]], lease_s: float, displaced: Callable[[], None] = lambda: None
) -> None:
    """Say every third of a lease that the message is still in hand; a missed one costs nothing but a repeat."""
    while True:
        await asyncio.sleep(lease_s / 3)
        try:
            await in_progress()
        except (BusUnreachableError, UndecidedError):
            log.warning("displaced", why="the bus does not confirm that the message is still in hand")
            displaced()
