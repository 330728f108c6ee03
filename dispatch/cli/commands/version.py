"""`dispatch version`: this tool; with a bus also the replicas, the agents and the servers, and whether they differ."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from dispatch.cli.exits import Exit
from dispatch.cli.params import command, option
from dispatch.cli.tool import Tool
from dispatch.identity import version as own_version
from dispatch.units import whole_number

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class VersionOptions:
    """What `version` takes."""

    schemas: bool = option(
        "--schemas", is_flag=True, help="print the JSON Schemas of commands, events, receipts and --json documents"
    )


@command(VersionOptions)
def version(tool: Tool, options: VersionOptions) -> Exit:
    """Versions of this tool, and with a bus of everything that runs there."""
    if options.schemas:
        from dispatch.cli.schemas import schemas

        every = schemas()
        tool.answer("schemas", every, lambda: [json.dumps(every, separators=(",", ":"))])
        return Exit.DONE
    found = tool.run(_found(tool)) if _has_bus(tool) else Running()
    data = {
        "dispatch": own_version(),
        "schema": SCHEMA,
        "replicas": found.replicas,
        "agents": found.agents,
        "bus": found.bus,
    }
    tool.answer("version", data, lambda: [_line(found)])
    if any(theirs != own_version() for theirs in (*found.replicas.values(), *filter(None, found.agents.values()))):
        tool.screen.hint("warning: versions differ; a newer event type stops decisions of an older replica")
    return Exit.DONE


@dataclass(frozen=True, slots=True)
class Running:
    """What runs on the bus: versions of the live replicas by name, of the agents by cluster, of the server.

    An agent that does not answer, or is older than this question, has none.
    """

    replicas: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str | None] = field(default_factory=dict)
    bus: str | None = None


def _has_bus(tool: Tool) -> bool:
    return tool.settings.address is not None and tool.settings.tenant.value is not None


async def _found(tool: Tool) -> Running:
    """What is live; nothing when the bus does not answer."""
    from dispatch.cli.cluster import agents, server_version
    from dispatch.cli.looking import beats
    from streams.errors import StreamError

    try:
        async with tool.session() as session:
            living = (await beats(session)).replicas or ()
            clusters = sorted({cluster for beat in living for cluster in beat.clusters})
            versions = {beat.name: beat.version for beat in living}
            return Running(versions, await agents(session, clusters), server_version(session))
    except StreamError as error:
        tool.screen.hint(f"the bus does not answer: {error}")
        return Running()


def _line(found: Running) -> str:
    parts = [f"dispatch {own_version()}", f"schema {SCHEMA}"]
    if found.replicas:
        parts.append(", ".join(_one(name, theirs) for name, theirs in sorted(found.replicas.items())))
    if found.agents:
        told = (
            f"agent {_one(name, theirs) if theirs else f'{name} ?'}" for name, theirs in sorted(found.agents.items())
        )
        parts.append(", ".join(told))
    if found.bus:
        parts.append(f"bus {found.bus}")
    return " · ".join(parts)


def _one(name: str, theirs: str) -> str:
    if theirs == own_version():
        return f"{name} {theirs}"
    return f"{name} {theirs} ({'older' if _numbers(theirs) < _numbers(own_version()) else 'newer'})"


def _numbers(text: str) -> tuple[int, ...]:
    numbers = map(whole_number, text.split("+", maxsplit=1)[0].split("."))
    return tuple(number for number in numbers if number is not None)
