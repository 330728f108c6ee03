"""`dispatch history JOB`: every event as a sentence, with who and the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Read
    from projections.timeline import Line

NUMBER_MAX = 10**18 - 1
KINDS = ("command", "decision", "call", "evidence")


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """What `history` takes."""

    job: str = argument("JOB", complete=job_names)
    first: str | None = option("--from", metavar="E", help="from this event on; resume with the next one")
    last: str | None = option("--to", metavar="E", help="up to this event")
    only: str | None = option("--only", metavar="KINDS", help="some of command,decision,call,evidence")
    full: bool = option("--full", is_flag=True, help="add the bus revision, the event's id and its fields")
    follow: bool = option(
        "-f", "--follow", is_flag=True, help="go on with what happens until it is settled, or to --to"
    )


@command(HistoryOptions)
def history(tool: Tool, options: HistoryOptions) -> int:
    """Every event of a job as a sentence, with who and why."""
    if options.follow:
        tool.waits()
    return tool.run(_history(tool, options, _kinds(options.only)))


def _kinds(only: str | None) -> frozenset[str] | None:
    if only is None:
        return None
    kinds = frozenset(word.strip() for word in only.split(","))
    if unknown := kinds - set(KINDS):
        raise CliError(f"--only {','.join(sorted(unknown))}: no such kind", why=", ".join(KINDS), code="bad-usage")
    return kinds


async def _history(tool: Tool, options: HistoryOptions, kinds: frozenset[str] | None) -> int:
    from dispatch.cli.looking import begin_of, number_of
    from dispatch.cli.views.history import chosen
    from projections.timeline import timeline

    async with tool.session() as session:
        read = await session.read(options.job)
        first = begin_of(read, options.first)
        if not options.follow:
            last = number_of(read, options.last, default=len(read.entries))
            _print(tool, options, chosen(timeline(read.entries)[first - 1 : last], kinds), read)
            return Exit.DONE
        from dispatch.cli.following import Follower, Goal

        to = number_of(read, options.last, default=0, highest=NUMBER_MAX) or None
        follower = Follower(session, read, Goal("told", kinds=kinds, full=options.full, last=to), first)
        return await follower.run()


def _print(tool: Tool, options: HistoryOptions, lines: list[Line], read: Read) -> None:
    from dispatch.cli.columns import table
    from dispatch.cli.views.history import event_document, full_lines, row

    times = tool.times()
    if tool.flags.json:
        events = [event_document(line, read.entries, full=options.full) for line in lines]
        tool.document("history", {"job": read.job, "events": events})
    elif options.full:
        for text in full_lines(times, lines, read.entries):
            tool.screen.say(text)
    elif lines:
        told = [row(times, line) for line in lines]
        tool.screen.lines(table(told, free=4, width=tool.screen.width, right=frozenset({0})))
