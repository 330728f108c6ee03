"""Completion of names from the status bucket: at most 300 ms, silent when it fails."""

from __future__ import annotations

import asyncio

import click

WITHIN_S = 0.3


def job_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The jobs whose names begin so."""
    return [name for name in _ask(context, "jobs") if name.startswith(begun)]


def cluster_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The clusters that live replicas name."""
    return [name for name in _ask(context, "clusters") if name.startswith(begun)]


def _ask(context: click.Context, what: str) -> list[str]:
    """The names, or nothing: whatever goes wrong, a completion says nothing of it."""
    try:
        return asyncio.run(asyncio.wait_for(_names(context, what), WITHIN_S))
    except Exception:  # any: a completion has no place to tell an error
        return []


async def _names(context: click.Context, what: str) -> list[str]:
    from dispatch.cli.looking import beats
    from dispatch.cli.params import GlobalFlags
    from dispatch.cli.tool import Tool

    given = context.params
    flags = GlobalFlags(
        context=given.get("context"),
        nats=given.get("nats"),
        creds=given.get("creds"),
        tenant=given.get("tenant"),
        timeout=WITHIN_S,
    )
    tool = Tool(flags)
    async with tool.session() as session:
        if what == "jobs":
            return await session.names()
        replicas = (await beats(session)).replicas or ()
        return sorted({name for beat in replicas for name in beat.clusters})
