"""`dispatch cancel JOB…`: final. Commits first, then stops; `--wait` says how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dispatch.cli.completing import job_names
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Read, Session

STAGES = ("stopped", "complete", "proven")


@dataclass(frozen=True, slots=True)
class CancelOptions:
    """What `cancel` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, required=False, complete=job_names)
    labels: tuple[str, ...] = option(
        "-l", "--label", multiple=True, metavar="K=V", help="every open job with this label"
    )
    wait: str | None = option(
        "--wait", type=click.Choice(STAGES), metavar="[=STAGE]", help="wait until stopped (default), complete or proven"
    )
    if_unknown: str = option(
        "--if-unknown",
        type=click.Choice(("refuse", "record")),
        default="refuse",
        help="a name never seen: refuse, or record it as cancelled, so that a submit on its way is refused",
    )


@command(CancelOptions, changes=True, alone=[("--wait", "stopped")])
def cancel(tool: Tool, options: CancelOptions) -> int:
    """End jobs for good. Nothing is authorized afterwards, and everything of them is stopped."""
    if options.wait is not None:
        tool.waits()
    return tool.run(_cancel(tool, options))


async def _cancel(tool: Tool, options: CancelOptions) -> int:
    from dispatch.cli import change
    from dispatch.cli.orders import Order, carry_out, chosen, described
    from dispatch.cli.times import Times
    from streams.messages.commands import CancelJob, IfUnknown

    change.reason_of(tool, required=True)
    if_unknown = IfUnknown(options.if_unknown)

    def asks(read: Read, times: Times) -> str | None:
        if not read.entries:
            return f"cancel {read.job}, a name never seen? A submit of it that comes later is refused for ever."
        return f"cancel {described(read, times)}? A cancel is final."

    order = Order(
        "cancel",
        lambda _, fields: CancelJob(**fields, if_unknown=if_unknown),
        asks,
        followed=options.wait is not None,
    )
    async with tool.session() as session:
        never_seen = if_unknown is IfUnknown.RECORD and not options.labels
        reads = await _reads(session, options) if never_seen else []
        reads = reads or await chosen(session, options.jobs, options.labels)
        code = await carry_out(session, reads, order)
        if options.wait is None or code is not Exit.DONE or tool.change.dry_run:
            return code
        from dispatch.cli.cancelled import await_all

        return await await_all(session, [read.job for read in reads], options.wait)


async def _reads(session: Session, options: CancelOptions) -> list[Read]:
    """The jobs named, also those never seen."""
    from dispatch.cli.errors import CliError
    from streams.subjects import is_token

    for name in options.jobs:
        if not is_token(name):
            raise CliError(f"{name[:70]!r} is no job's name", why="1 to 63 of a-z, 0-9 and -", code="bad-usage")
    return [await session.maybe(name) for name in dict.fromkeys(options.jobs)]
