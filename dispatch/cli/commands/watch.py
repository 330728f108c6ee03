"""`dispatch watch JOB…`: the state in one line, then what happens from now on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import click

from dispatch.cli.commands.submit import UNTIL, UNTIL_DEFAULT
from dispatch.cli.completing import job_names
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What `watch` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, complete=job_names)
    until: str = option("--until", type=click.Choice(UNTIL), default=UNTIL_DEFAULT, help="how far")
    first: str | None = option("--from", metavar="EVENT", help="resume: begin with this event, or the next one")
    job_exit: bool = option("--job-exit", is_flag=True, help="exit as the first failing rank did")


@command(WatchOptions)
def watch(tool: Tool, options: WatchOptions) -> int:
    """The state in one line, then what happens from now on. Ends by itself; Ctrl-C leaves, the job goes on."""
    tool.waits()
    return tool.run(_watch(tool, options))


async def _watch(tool: Tool, options: WatchOptions) -> int:
    from dispatch.cli.following import Follower, Goal
    from dispatch.cli.looking import begin_of

    goal = Goal(options.until, job_exit=options.job_exit, named=len(options.jobs) > 1)
    async with tool.session() as session:
        reads = [await session.read(job) for job in options.jobs]
        followers = []
        for read in reads:
            start = begin_of(read, options.first) if options.first is not None else None
            followers.append(Follower(session, read, goal, start))
        codes = await asyncio.gather(*(follower.run() for follower in followers))
    return max(codes, default=Exit.DONE)
