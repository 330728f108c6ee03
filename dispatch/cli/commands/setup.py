"""`dispatch setup`: make what a bus needs, restore a history, print permissions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import DURATION, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from streams.jetstream.generation import RestoreReport
    from streams.jetstream.layout import Layout
    from streams.jetstream.settings import BusSettings
    from streams.jetstream.setup import SetupReport

ROLES = ("service", "supervisor", "agent", "auditor")


@dataclass(frozen=True, slots=True)
class SetupOptions:
    """What `setup` takes."""

    replicas: int = option("--replicas", type=click.Choice(["1", "3", "5"]), default="3", help="copies of each stream")
    shards: int = option("--shards", type=click.IntRange(1, 256), default=64, help="parts the work is shared in")
    lease: float = option("--lease", type=DURATION, default=30.0, metavar="DURATION", help="until a message comes back")
    new_generation: bool = option("--new-generation", is_flag=True, help="restore a history; needs --from")
    source: str | None = option("--from", metavar="EXPORT", help="the export to restore")
    role: str | None = option("--print-permissions", type=click.Choice(ROLES), help="NATS permissions of a role")
    yes: bool = option("-y", "--yes", is_flag=True, help="answer the question with yes")
    confirm: str | None = option("--confirm", metavar="NAME", help="the name that would have to be typed")


@command(SetupOptions)
def setup(tool: Tool, options: SetupOptions) -> Exit:
    """With an admin's credentials: make streams, buckets and consumers. What exists and differs is told, not changed."""
    if options.role is not None:
        return _permissions(tool, options.role)
    if options.new_generation != (options.source is not None):
        raise CliError("--new-generation and --from EXPORT go together", code="bad-usage")
    if options.source is not None:
        return _restore(tool, options, Path(options.source))
    return _made(tool, options)


def _layout(options: SetupOptions) -> Layout:
    from dispatch.setup import new_installation
    from streams.jetstream.layout import Layout

    return Layout(
        installation=new_installation(),
        replicas=int(options.replicas),
        shards=options.shards,
        lease_s=options.lease,
    )


def _made(tool: Tool, options: SetupOptions) -> Exit:
    from dispatch.cli.session import bus_settings
    from dispatch.setup import set_up

    layout, settings = _layout(options), bus_settings(tool.settings, name="dispatch-setup")
    tool.screen.hint(f"{tool.settings.bus_name()}     make what is missing")
    report = tool.run(set_up(settings, layout))
    tool.answer("setup", report, lambda: _lines(report, layout))
    return Exit.DONE


def _lines(report: SetupReport, layout: Layout) -> list[str]:
    """What was created, and what was there already."""
    streams = [name for name in report.created if "/" not in name]
    lines = []
    if streams:
        copies = f"{layout.replicas} replica{'s' if layout.replicas != 1 else ''}"
        lines.append(f"created {', '.join(streams)} ({copies}, file) · {layout.shards} shards")
    consumers = len(report.created) - len(streams)
    if consumers:
        lines.append(f"created {consumers} consumers")
    if report.kept:
        kept = [name for name in report.kept if "/" not in name]
        lines.append(f"kept {', '.join(kept) or 'nothing'} and {len(report.kept) - len(kept)} consumers, as they are")
    return [*lines, f"history generation {report.generation}"]


def _restore(tool: Tool, options: SetupOptions, path: Path) -> Exit:
    from msgspec.structs import replace

    from dispatch.cli.session import bus_settings
    from dispatch.exporting import ExportError, read_manifest

    try:
        manifest = read_manifest(path)
    except ExportError as error:
        raise CliError(str(error), code="bad-usage") from error
    if not manifest.whole:
        raise CliError(
            f"{path} is not whole: it cannot be restored",
            why="a restore needs every message of every tenant, nothing redacted",
            do="dispatch export --all --every-tenant --output F",
            code="bad-usage",
        )
    _ask(tool, options, f"{manifest.jobs} jobs, {manifest.events:,} events, to r{manifest.last_revision}")
    layout, settings = _layout(options), bus_settings(tool.settings, name="dispatch-setup")
    tool.screen.hint(f"{tool.settings.bus_name()}     restore {path}")
    report = tool.run(_loaded(settings, replace(layout, installation=manifest.installation), path))
    lines = [
        f"restored {report.messages:,} messages up to r{report.last_revision} as generation {report.generation}",
        "older writers are refused from now on; supervisors start again by themselves",
    ]
    tool.answer("setup-restore", report, lambda: lines)
    return Exit.DONE


def _ask(tool: Tool, options: SetupOptions, what: str) -> None:
    from dataclasses import replace

    from dispatch.cli.ask import confirm

    tool.change = replace(tool.change, yes=options.yes, confirm=options.confirm)
    confirm(
        tool, f"restore {what} as the history of {tool.settings.bus_name()}? Later events are left behind.", "restore"
    )


async def _loaded(settings: BusSettings, layout: Layout, path: Path) -> RestoreReport:
    from dispatch.exporting import exported, read_manifest
    from dispatch.setup import known_layout
    from streams.jetstream.generation import new_generation
    from streams.jetstream.wire import Wire

    known = await known_layout(settings)
    if known is not None and known.installation != layout.installation:
        raise CliError(
            f"this bus was set up as installation {known.installation}, the export is of {layout.installation}",
            why="under another name no object would be found again, and a second run could begin beside the first",
            do="restore onto a bus on which nothing was set up; dispatch setup comes after",
            code="unsafe-settings",
        )
    wire = Wire(settings)
    await wire.connect()
    try:
        return await new_generation(wire, known or layout, exported(path), above=read_manifest(path).generation)
    finally:
        await wire.close()


def _permissions(tool: Tool, role: str) -> Exit:
    from streams.permissions import permissions_of

    tenant = tool.settings.tenant_name()
    permissions = permissions_of(role, tenant)
    data = {"role": role, "tenant": tenant, "permissions": permissions}
    tool.answer("setup-permissions", data, lambda: [permissions])
    return Exit.DONE
