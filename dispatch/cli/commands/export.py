"""`dispatch export`: histories as JSON lines with revisions, a manifest and a SHA-256."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.cli import typed_cluster
from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.progress import Progress
    from dispatch.cli.session import Session
    from dispatch.exporting import Manifest, Writer

UNTOUCHED = "nothing was written: an earlier export at this place is as it was"


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What `export` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, required=False, complete=job_names)
    every: bool = option("--all", is_flag=True, help="every job of the tenant")
    tenants: bool = option("--every-tenant", is_flag=True, help="with --all: of every tenant, as a restore needs it")
    output: str = option("--output", "-o", metavar="F", required=True, help="the file; its manifest is put beside it")
    redact: str | None = option("--redact", metavar="env,reason", help="leave out values of env, people's words")


@command(ExportOptions)
def export(tool: Tool, options: ExportOptions) -> Exit:
    """Write histories to a file that `verify --file` reads anywhere."""
    from dispatch.exporting import REDACTABLE

    if bool(options.jobs) == options.every:
        raise CliError("one of JOB… and --all is needed", code="bad-usage")
    if options.every:
        typed_cluster.takes_none(
            tool,
            "export --all",
            why="it writes every job of the tenant",
            do="name the jobs: dispatch list --cluster C --all",
        )
    redact = tuple(word.strip() for word in (options.redact or "").split(",") if word.strip())
    if unknown := set(redact) - set(REDACTABLE):
        known = ", ".join(REDACTABLE)
        raise CliError(f"--redact {', '.join(sorted(unknown))}: no such thing", why=known, code="bad-usage")
    return tool.run(_export(tool, options, redact))


async def _export(tool: Tool, options: ExportOptions, redact: tuple[str, ...]) -> Exit:
    from dispatch.cli.progress import Progress
    from dispatch.exporting import NotWrittenError, Writer

    path = Path(options.output)
    progress = Progress(tool.screen, "exported")
    async with tool.session() as session:
        try:
            with Writer(path, redact) as writer:
                manifest = await _written(session, options, writer, progress)
        except NotWrittenError as error:
            raise CliError(str(error), why=error.why, do=UNTOUCHED, code="not-written") from error
    progress.done()
    size = f"{manifest.bytes / 1024:.0f} KiB"
    jobs = f"{manifest.jobs} job{'s' if manifest.jobs != 1 else ''}"
    line = f"{jobs}, {manifest.events:,} events, {size} → {path} (sha256 {manifest.sha256[:8]}…)"
    tool.answer("export", {"file": str(path), "manifest": manifest}, lambda: [line])
    return Exit.DONE


async def _written(session: Session, options: ExportOptions, writer: Writer, progress: Progress) -> Manifest:
    from dispatch.exporting import Origin
    from dispatch.identity import now
    from streams.jetstream.connect import JetStreamBus

    bus = session.bus
    origin = Origin(bus.layout.installation if isinstance(bus, JetStreamBus) else "memory", bus.generation)
    if options.every:
        async for stored in bus.history.stored(tenant=None if options.tenants else session.tenant):
            writer.stored(stored)
            progress.at(writer.events)
    for name in options.jobs:
        for entry in (await session.read(name)).entries:
            writer.entry(entry)
            progress.at(writer.events)
    if not writer.events:
        whose = "the history is empty" if options.tenants else f"tenant {session.tenant} has no job"
        raise CliError(f"{whose}: there is nothing to export", do=UNTOUCHED, code="no-such-job")
    return writer.finish(origin, at=now(), whole=options.every and options.tenants)
