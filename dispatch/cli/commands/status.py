"""`dispatch status [JOB]`: what is going on, in one job or in all of them."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.commands.why import refuse_both
from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool


@dataclass(frozen=True, slots=True)
class StatusOptions:
    """What `status` takes."""

    job: str | None = argument("[JOB]", required=False, complete=job_names)
    submission: int | None = option("--submission", type=int, metavar="N", help="only what concerns submission N")
    at: str | None = option("--at", metavar="EVENT", help="as it was at that event")
    live: bool = option("--live", is_flag=True, help="also ask the cluster now; never recorded")


@command(StatusOptions)
def status(tool: Tool, options: StatusOptions) -> Exit:
    """What is going on: one job, or without a name clusters, replicas, counts and alerts."""
    if options.job is None and (options.submission is not None or options.at is not None or options.live):
        raise CliError("--submission, --at and --live are of one JOB, and none is named", code="bad-usage")
    refuse_both(options.at, live=options.live)
    return tool.run(_everything(tool) if options.job is None else _one(tool, options, options.job))


async def _one(tool: Tool, options: StatusOptions, job: str) -> Exit:
    from dispatch.cli.looking import frame_of, number_of
    from dispatch.cli.views.status import status_lines

    async with tool.session() as session:
        read = await session.read(job)
        if options.at is not None:
            read = read.until(number_of(read, options.at, default=len(read.entries)))
        frame = await frame_of(session, read, live=options.live, then=options.at is not None)
    told = frame.status()
    if options.submission is not None:
        from dispatch.cli.views.submission import only

        told = only(told, frame, options.submission)
    tool.answer("status", told, lambda: status_lines(frame, told))
    return Exit.DONE


async def _everything(tool: Tool) -> Exit:
    from dispatch.cli.fleet import read_fleet
    from dispatch.cli.typed_cluster import where_shown
    from dispatch.cli.views.listing import fleet_lines

    async with tool.session() as session:
        fleet = await read_fleet(session)
    data = {
        "open": len(fleet.open),
        "needs_person": [entry.job for entry in fleet.needing],
        "clusters": fleet.clusters(),
        "replicas": fleet.replicas,
        "silent_replicas": fleet.living.silent,
        "waiting": fleet.waiting,
        "unattended": fleet.unattended,
        "complete_to": fleet.checkpoint.complete_to if fleet.checkpoint else None,
    }
    tool.answer("fleet", data, lambda: fleet_lines(where_shown(tool), fleet, tool.times(), tool.screen))
    return Exit.DONE
