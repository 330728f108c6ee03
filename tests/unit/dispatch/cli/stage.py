"""A stage for commands: a bus in memory, one job of a driver, and a tool that speaks to both and keeps what it said."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.cli.screen import Screen
from dispatch.cli.session import Session
from dispatch.cli.times import Times
from dispatch.cli.tool import Tool
from dispatch.cli.views.frame import Frame
from dispatch.client import AsyncClient
from dispatch.config import Found, Settings
from dispatch.contexts import BusAddress
from dispatch.replica.commands import handle
from projections.status import Around
from tests.driver import Driver

SETTINGS = Settings(
    address=BusAddress(("memory://",)),
    bus_source="context prod",
    tenant=Found("nlp", "context prod"),
    cluster=Found("sim", "context prod"),
    context=Found("prod", "current"),
    actor="ana",
)


class Stage(Tool):
    """A tool over the driver's bus. `supervised`: commands are decided, by the code that a replica runs."""

    def __init__(
        self,
        driver: Driver,
        flags: GlobalFlags | None = None,
        change: ChangeFlags | None = None,
        *,
        width: int | None = None,
        supervised: bool = True,
    ) -> None:
        super().__init__(flags or GlobalFlags(timeout=0.5), change)
        self.driver = driver
        self.supervised = supervised
        self.out, self.err = io.StringIO(), io.StringIO()
        self.__dict__["screen"] = Screen(self.out, self.err, width=width, quiet=self.flags.json)
        self.__dict__["settings"] = SETTINGS

    def protected(self) -> Stage:
        """The same, in a context with `protect`."""
        self.__dict__["settings"] = replace(SETTINGS, protect=True)
        return self

    def quiet(self, *, on: bool = True) -> Stage:
        """The same with `--quiet`: no hints."""
        self.__dict__["screen"] = replace(self.screen, quiet=on)
        return self

    def times(self) -> Times:
        return Times(self.driver.at, UTC)

    @property
    def said(self) -> str:
        return self.out.getvalue()

    @property
    def hinted(self) -> str:
        return self.err.getvalue()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        client = AsyncClient(self.driver.bus, tenant="nlp", actor="ana", timeout_s=self.timeout_s)
        deciding = asyncio.create_task(decide(self.driver)) if self.supervised else None
        try:
            yield Session(self, client)
        finally:
            if deciding is not None:
                deciding.cancel()
                await asyncio.gather(deciding, return_exceptions=True)


async def decide(driver: Driver) -> None:
    """Answer every command on the driver's bus, as a replica does."""

    async def serve(shard: int) -> None:
        while True:
            delivery = await driver.bus.commands.receive(shard, rank=0)
            if delivery is not None:
                await handle(driver.hands, driver.bus.buckets, delivery)

    await asyncio.gather(*(serve(shard) for shard in range(driver.bus.shards)))


def frame(driver: Driver, *, width: int | None = None, colour: bool = False, **around: Any) -> Frame:
    """The driver's job as a view gets it, one live replica beside it."""
    screen = Screen(io.StringIO(), io.StringIO(), width=width, colour=colour)
    known = Around(now=driver.at, attended=True, **around)
    return Frame(driver.record, known, screen, Times(driver.at, UTC), ("sv-a",))


EXAMPLES = Path(__file__).parents[4] / "examples" / "jobs"
