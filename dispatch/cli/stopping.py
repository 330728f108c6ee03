"""`up --stop-jobs`: cancel what is open before everything ends, and wait until it has stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dispatch.cli.tool import Tool
from dispatch.client import AsyncClient, BusSettings, Said, connect
from dispatch.config import read_up
from projections.fleet import decode

WITHIN_S = 60.0
POLL_S = 0.1


async def cancel_open(tool: Tool, directory: Path, tenant: str) -> None:
    """Cancel every open job and wait until each is settled, a minute at most."""
    place = read_up(directory)
    if place is None or place.bus is None:
        return
    settings = BusSettings(urls=place.bus.urls, creds=place.bus.creds, name="dispatch-up")
    async with await connect(settings, tenant=tenant, actor=tool.settings.actor) as client:
        entries = [decode(held.data) async for held in client.bus.buckets.list_status(tenant=tenant)]
        names = [entry.job for entry in entries if entry is not None and not entry.settled]
        if not names:
            return
        tool.screen.say(f"cancelling {len(names)} open job{'s' if len(names) > 1 else ''}")
        for name in names:
            await client.cancel(name, said=Said(note="dispatch up --stop-jobs"))
        try:
            async with asyncio.timeout(WITHIN_S):
                for name in names:
                    await _settled(client, name)
        except TimeoutError:
            tool.screen.hint("some jobs have not stopped yet; the cancels stand, the next `dispatch up` goes on")


async def _settled(client: AsyncClient, name: str) -> None:
    record = await client.record(name)
    while not record.settled:
        await asyncio.sleep(POLL_S)
        record = await client.record(name)
