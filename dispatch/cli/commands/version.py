"""`dispatch version`: this tool; with a bus also the replicas, and whether they differ."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dispatch.cli.exits import Exit
from dispatch.cli.params import command, option
from dispatch.cli.tool import Tool
from dispatch.identity import version as own_version

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class VersionOptions:
    """What `version` takes."""

    schemas: bool = option("--schemas", is_flag=True, help="print the JSON Schemas of commands, events and receipts")


@command(VersionOptions)
def version(tool: Tool, options: VersionOptions) -> Exit:
    """Versions of this tool, and with a bus of everything that runs there."""
    if options.schemas:
        from dispatch.cli.schemas import schemas

        tool.screen.say(json.dumps(schemas(), separators=(",", ":")))
        return Exit.DONE
    others = tool.run(_others(tool)) if _has_bus(tool) else {}
    data = {"dispatch": own_version(), "schema": SCHEMA, "replicas": others}
    tool.answer("version", data, lambda: [_line(others)])
    if any(theirs != own_version() for theirs in others.values()):
        tool.screen.hint("warning: versions differ; a newer event type stops decisions of an older replica")
    return Exit.DONE


def _has_bus(tool: Tool) -> bool:
    return tool.settings.address is not None and tool.settings.tenant.value is not None


async def _others(tool: Tool) -> dict[str, str]:
    """The version of each live replica; nothing when the bus does not answer."""
    from dispatch.cli.looking import beats
    from streams.errors import StreamError

    try:
        async with tool.session() as session:
            found = await beats(session)
    except StreamError as error:
        tool.screen.hint(f"the bus does not answer: {error}")
        return {}
    return {beat.name: beat.version for beat in found.replicas or ()}


def _line(others: dict[str, str]) -> str:
    parts = [f"dispatch {own_version()}", f"schema {SCHEMA}"]
    if others:
        parts.append(", ".join(_one(name, theirs) for name, theirs in sorted(others.items())))
    return " · ".join(parts)


def _one(name: str, theirs: str) -> str:
    if theirs == own_version():
        return f"{name} {theirs}"
    return f"{name} {theirs} ({'older' if _numbers(theirs) < _numbers(own_version()) else 'newer'})"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("+", maxsplit=1)[0].split(".") if part.isdigit())
