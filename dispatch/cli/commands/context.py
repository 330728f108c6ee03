"""`dispatch context`: which bus, in whose name, and where each value came from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dispatch.cli.columns import table
from dispatch.cli.exits import Exit
from dispatch.cli.params import VerbGroup, argument, command, contexts
from dispatch.cli.tool import Tool
from dispatch.config import Found, Settings
from dispatch.contexts import ContextsFile, contexts_path, read_contexts, set_current
from streams.addresses import shown


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Nothing but the common flags."""


@dataclass(frozen=True, slots=True)
class UseOptions:
    """What `context use` takes."""

    name: str = argument("NAME", complete=contexts)


def _file() -> ContextsFile:
    return read_contexts(contexts_path(os.environ))


@command(NoOptions)
def list_(tool: Tool, _options: NoOptions) -> Exit:
    """Every context; the current one is marked."""
    file = _file()
    rows = [["", "CONTEXT", "TENANT", "CLUSTER", "PROTECT", "BUS"]]
    for name, each in sorted(file.contexts.items()):
        mark = "*" if name == file.current else ""
        protect = "yes" if each.protect else "no"
        rows.append([mark, name, each.tenant or "-", each.cluster or "-", protect, ",".join(map(shown, each.bus.urls))])
    data = [{"name": row[1], "current": row[0] == "*", "bus": row[5].split(",")} for row in rows[1:]]
    tool.answer("context-list", data, lambda: table(rows, free=5, width=tool.screen.width))
    if not file.contexts:
        tool.screen.hint(f"no contexts: {file.path} {'holds none' if file.path.exists() else 'does not exist'}")
    return Exit.DONE


@command(UseOptions)
def use(tool: Tool, options: UseOptions) -> Exit:
    """Make a context the current one."""
    file = _file()
    file.get(options.name)
    set_current(file, options.name)
    tool.answer("context-use", {"current": options.name}, lambda: [f"current context: {options.name} (in {file.path})"])
    return Exit.DONE


@command(NoOptions)
def none(tool: Tool, _options: NoOptions) -> Exit:
    """Make no context the current one."""
    file = _file()
    set_current(file, None)
    tool.answer("context-use", {"current": None}, lambda: [f"no current context (in {file.path})"])
    return Exit.DONE


@command(NoOptions)
def show(tool: Tool, _options: NoOptions) -> Exit:
    """Each setting, and the place it came from."""
    found = _told(tool.settings)
    rows = [[name, each.value or "-", _source(each)] for name, each in found.items()]
    data = {name: {"value": each.value, "source": each.source or None} for name, each in found.items()}
    tool.answer("context-show", data, lambda: table(rows, free=2, width=None))
    return Exit.DONE


def _source(found: Found) -> str:
    others = f" ({'; '.join(found.others)})" if found.others else ""
    return f"from {found.source}{others}" if found.value is not None and found.source else ""


def _told(settings: Settings) -> dict[str, Found]:
    """Every setting in the order of the screen. No secret: of credentials only the path, of an address no user."""
    address = settings.address
    creds: Path | None = address.creds if address else None
    bus = Found(",".join(map(shown, address.urls)) if address else None, settings.bus_source)
    return {
        "context": settings.context,
        "bus": bus,
        "creds": Found(str(creds) if creds else None, settings.bus_source),
        "inbox_prefix": Found(address.inbox_prefix if address else None, settings.bus_source),
        "tenant": settings.tenant,
        "cluster": settings.cluster,
        "actor": Found(settings.actor, "the credentials' name" if creds else "the person at this machine"),
        "protect": Found("yes" if settings.protect else "no", settings.protect_source),
    }


context = VerbGroup(
    "context",
    {"list": list_, "use": use, "show": show, "none": none},
    "Which bus, in whose name; `show` gives each value and where it came from.",
)
