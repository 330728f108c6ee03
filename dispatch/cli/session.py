"""One connection of one command: find a job by its name or the beginning of it, read it, send and wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dispatch.cli.errors import CliError
from dispatch.cli.tool import TIMEOUT_S, Tool
from dispatch.client import AsyncClient, BusSettings, connect
from dispatch.config import Settings
from dispatch.replica import beat as beats
from projections.evolve import fold
from projections.record import Record
from streams.errors import StreamError
from streams.messages.events import Entry
from streams.subjects import is_token

NEAR_MAX = 12
AGAIN_S = 0.05


def bus_settings(settings: Settings, *, name: str, timeout_s: float = TIMEOUT_S) -> BusSettings:
    """How to connect by these settings. Raises ConfigError."""
    address = settings.bus()
    return BusSettings(
        urls=address.urls,
        name=name,
        creds=address.creds,
        tls_ca=address.tls_ca,
        inbox_prefix=address.inbox_prefix or "_INBOX",
        monitoring_urls=address.monitoring,
        connect_within_s=min(timeout_s, 5.0),
        read_within_s=timeout_s,
        publish_within_s=min(timeout_s, 5.0),
    )


async def opened(settings: Settings, *, timeout_s: float) -> AsyncClient:
    """A client by these settings. Raises ConfigError and the errors of the bus; nothing is sent."""
    bus = bus_settings(settings, name="dispatch-cli", timeout_s=timeout_s)
    return await connect(bus, tenant=settings.tenant_name(), actor=settings.actor, timeout_s=timeout_s)


@dataclass(frozen=True, slots=True)
class Read:
    """One job's history as it was read, and its fold."""

    job: str
    entries: tuple[Entry, ...]
    record: Record

    def until(self, number: int) -> Read:
        """What was known at event `number`."""
        entries = self.entries[:number]
        return Read(self.job, entries, folded(self.record.tenant, self.job, entries))


def folded(tenant: str, job: str, entries: Sequence[Entry]) -> Record:
    """The record that these entries make."""
    return fold(Record(tenant=tenant, job=job), entries)


class Session:
    """Reads and sends of one command."""

    def __init__(self, tool: Tool, client: AsyncClient) -> None:
        self.tool = tool
        self.client = client
        self.bus = client.bus
        self.tenant = client.tenant
        self._receipts: dict[str, int] = {}

    def answered(self, job: str, number: int | None) -> None:
        """A receipt said that the job has an event of this number: no view of this session shows less."""
        self._receipts[job] = max(number or 0, self._receipts.get(job, 0))

    async def names(self) -> list[str]:
        """Every job of the tenant, from the status bucket, in order of name."""
        keys = [entry.key async for entry in self.bus.buckets.list_status(tenant=self.tenant)]
        return sorted(key.partition(".")[2] for key in keys if "." in key)

    async def read(self, name: str) -> Read:
        """The history of the job of that name, or of the only one whose name begins so. Raises CliError (3)."""
        if not is_token(name.rstrip("-") or "x"):
            raise CliError(f"{name[:70]!r} is no job's name", why="1 to 63 of a-z, 0-9 and -", code="no-such-job")
        if is_token(name):
            found = await self._read(name)
            if found.entries:
                return found
        fits = [job for job in await self.names() if job.startswith(name)]
        if len(fits) == 1:
            return await self._read(fits[0])
        raise await self._unclear(name, fits)

    async def exactly(self, name: str) -> Read:
        """The history of the job of exactly this name, as commands that change want it. Raises CliError (3)."""
        if is_token(name):
            found = await self._read(name)
            if found.entries:
                return found
        fits = [job for job in await self.names() if job.startswith(name)]
        if fits:
            raise CliError(
                f"no job is named {name[:70]!r}",
                why=f"what changes a job wants its whole name; {self._listed(fits)}",
                code="no-such-job",
            )
        raise await self._unclear(name, [])

    async def _unclear(self, name: str, fits: list[str]) -> CliError:
        if fits:
            return CliError(f"{name!r} fits {len(fits)} jobs", why=self._listed(fits), code="several-jobs")
        what = f"no job is named {name[:70]!r} in tenant {self.tenant}"
        waiting = await self.waiting()
        if waiting == 0:
            why = f"nothing was ever submitted to {self.tool.settings.bus_name()} under it"
            return CliError(what, why=why, do="dispatch list --all", code="no-such-job")
        some = "1 command waits" if waiting == 1 else f"{waiting or 'maybe some'} commands wait"
        return CliError(
            what,
            why=f"it has no event yet, and {some} on {self.tool.settings.bus_name()} for a supervisor to decide",
            do="dispatch list, which says whether a supervisor is live",
            code="no-such-job",
        )

    async def waiting(self) -> int | None:
        """How many commands, of all tenants, nobody has decided yet; None where the credentials do not show it."""
        try:
            return await self.bus.commands.waiting()
        except StreamError:
            return None

    @staticmethod
    def _listed(fits: list[str]) -> str:
        more = f" and {len(fits) - NEAR_MAX} more" if len(fits) > NEAR_MAX else ""
        return ", ".join(fits[:NEAR_MAX]) + more

    async def _read(self, job: str) -> Read:
        entries = await self.client.history(job)
        read = Read(job, entries, folded(self.tenant, job, entries))
        return await self._past(read, self._receipts.get(job, 0))

    async def maybe(self, name: str) -> Read:
        """The history of the job of exactly this name, empty for one never seen."""
        return await self._read(name)

    async def refreshed(self, read: Read) -> Read:
        """The same job with what has been stored since."""
        more = await self.client.history(read.job, after=read.record.revision)
        if not more:
            return read
        return Read(read.job, (*read.entries, *more), fold(read.record, more))

    async def _past(self, read: Read, number: int) -> Read:
        """The job once its event `number` is read, which an old copy may lack for a while; or it is said to be behind."""
        deadline = time.monotonic() + self.tool.timeout_s
        while read.record.number < number and time.monotonic() < deadline:
            await asyncio.sleep(AGAIN_S)
            read = await self.refreshed(read)
        if read.record.number < number:
            self.tool.screen.hint(f"behind: at #{read.record.number}, the receipt says #{number}")
        return read

    async def alive(self) -> list[str] | None:
        """The names of the live replicas that take work; None when the bucket does not answer."""
        try:
            return sorted(beats.that_take_work(beats.read(await self.bus.buckets.replicas())))
        except StreamError:
            return None
