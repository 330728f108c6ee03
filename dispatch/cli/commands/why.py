"""`dispatch why JOB`: which condition stops the next step. Exit 0 also when nothing does."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool


@dataclass(frozen=True, slots=True)
class WhyOptions:
    """What `why` takes."""

    job: str = argument("JOB", complete=job_names)
    at: str | None = option("--at", metavar="EVENT", help="what dispatch knew then, and would have done")
    every: bool = option("--all", is_flag=True, help="also what holds, line by line")
    live: bool = option("--live", is_flag=True, help="also ask the cluster now; never recorded")


@command(WhyOptions)
def why(tool: Tool, options: WhyOptions) -> Exit:
    """Which condition stops the next step, and which clause stops settlement."""
    refuse_both(options.at, live=options.live)
    return tool.run(_why(tool, options))


def refuse_both(at: str | None, *, live: bool) -> None:
    """Raises CliError (2): a cluster can be asked about now, never about an earlier event."""
    if at is not None and live:
        raise CliError("one of --at and --live: a cluster answers for now alone", code="bad-usage")


async def _why(tool: Tool, options: WhyOptions) -> Exit:
    from dispatch.cli.looking import frame_of, number_of
    from dispatch.cli.views.why import answer, why_lines

    async with tool.session() as session:
        read = await session.read(options.job)
        if options.at is not None:
            read = read.until(number_of(read, options.at, default=len(read.entries)))
        frame = await frame_of(session, read, live=options.live, then=options.at is not None)
    told = answer(frame)
    tool.answer("why", told, lambda: why_lines(frame, told, everything=options.every))
    return Exit.DONE
