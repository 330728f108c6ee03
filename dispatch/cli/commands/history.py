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
    from projections.timeline import Line

KINDS = ("command", "decision", "call", "evidence")


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """What `history` takes."""

    job: str = argument("JOB", complete=job_names)
    first: str | None = option("--from", metavar="E", help="from this event on")
    last: str | None = option("--to", metavar="E", help="up to this event")
    only: str | None = option("--only", metavar="KINDS", help="some of command,decision,call,evidence")
    full: bool = option("--full", is_flag=True, help="add the bus revision, the event's id and its fields")
    follow: bool = option("-f", "--follow", is_flag=True, help="go on with what happens; Ctrl-C leaves")


@command(HistoryOptions)
def history(tool: Tool, options: HistoryOptions) -> int:
    """Every event of a job as a sentence, with who and why."""
    return tool.run(_history(tool, options, _kinds(options.only)))


def _kinds(only: str | None) -> frozenset[str] | None:
    if only is None:
        return None
    kinds = frozenset(word.strip() for word in only.split(","))
    if unknown := kinds - set(KINDS):
        raise CliError(f"--only {','.join(sorted(unknown))}: no such kind", why=", ".join(KINDS), code="bad-usage")
    return kinds


async def _history(tool: Tool, options: HistoryOptions, kinds: frozenset[str] | None) -> int:
    from dispatch.cli.looking import number_of
    from dispatch.cli.views.history import chosen
    from projections.timeline import timeline

    async with tool.session() as session:
        read = await session.read(options.job)
        first = number_of(read, options.first, default=1)
        last = number_of(read, options.last, default=len(read.entries))
        lines = chosen(timeline(read.entries)[first - 1 : last], kinds)
        fields = _fields(read.entries) if options.full else {}
        if not options.follow:
            _print(tool, options, lines, fields)
            return Exit.DONE
        from dispatch.cli.following import Follower, Goal

        follower = Follower(session, read, Goal("never", kinds=kinds), first)
        return await follower.run()


def _fields(entries: object) -> dict[int, dict[str, object]]:
    """Every field of each event, by its number."""
    import json

    from projections.jsonl import dump_line

    assert isinstance(entries, tuple)
    return {number: json.loads(dump_line(entry)) for number, entry in enumerate(entries, 1)}


def _print(tool: Tool, options: HistoryOptions, lines: list[Line], fields: dict[int, dict[str, object]]) -> None:
    from dispatch.cli.columns import table
    from dispatch.cli.following import line_document
    from dispatch.cli.views.history import full_row, row

    times = tool.times()
    if tool.flags.json:
        events = [line_document(line) | ({"stored": fields[line.number]} if options.full else {}) for line in lines]
        tool.document("history", {"job": options.job, "events": events})
    elif options.full:
        rows = table([full_row(times, line) for line in lines], free=4, width=None, right=frozenset({0}))
        for text, line in zip(rows, lines, strict=True):
            tool.screen.say(text)
            tool.screen.say(f"      {_flat(fields[line.number])}")
    elif lines:
        told = [row(times, line) for line in lines]
        tool.screen.lines(table(told, free=4, width=tool.screen.width, right=frozenset({0})))


def _flat(stored: dict[str, object]) -> str:
    """The event's own fields on one line of JSON."""
    import json

    envelope = stored.get("event")
    event = envelope.get("event") if isinstance(envelope, dict) else stored
    return json.dumps(event, separators=(",", ":"))
