"""`dispatch dispose`: a person's decision about what dispatch may not decide alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Read
    from streams.messages.values import Target

_ATTEMPT = re.compile(r"(?P<submission>[1-9][0-9]{0,8})/(?P<attempt>[1-9][0-9]{0,2})\Z")
_MESSAGE = re.compile(r"r(?P<revision>[1-9][0-9]{0,17})\Z")


@dataclass(frozen=True, slots=True)
class DisposeOptions:
    """What `dispose` takes."""

    job: str = argument("JOB", complete=job_names)
    object: str | None = argument("[OBJECT]", required=False)
    disposition: str = option(
        "--as", type=click.Choice(("adopt", "ignore", "stop", "gone")), required=True, help="what becomes of it"
    )
    attempt: str | None = option("--attempt", metavar="N/A", help="an attempt that was never answered and never found")
    message: str | None = option("--message", metavar="rREVISION", help="a message that cannot be read")


@command(DisposeOptions, changes=True)
def dispose(tool: Tool, options: DisposeOptions) -> Exit:
    """Decide about a foreign object, an unmatched attempt, or a message that cannot be read."""
    if sum(each is not None for each in (options.object, options.attempt, options.message)) != 1:
        raise CliError("one of OBJECT, --attempt and --message is needed", code="bad-usage")
    return tool.run(_dispose(tool, options))


async def _dispose(tool: Tool, options: DisposeOptions) -> Exit:
    from dispatch.cli import change
    from dispatch.cli.orders import Order, carry_out
    from dispatch.cli.times import Times
    from streams.messages.commands import Dispose
    from streams.messages.values import Disposition

    change.reason_of(tool, required=True)
    async with tool.session() as session:
        read = await session.exactly(options.job)
        target, named = target_of(read, options)
        disposition = Disposition(options.disposition)

        def asks(_: Read, times: Times) -> str | None:
            return f"{_last_look(read, times)}\ndispose of {named} of {read.job} as {disposition.value}?"

        order = Order("dispose", lambda _, fields: Dispose(**fields, target=target, disposition=disposition), asks)
        return await carry_out(session, [read], order)


def _last_look(read: Read, times: object) -> str:
    """The last recorded Find, which the decision rests on."""
    from dispatch.cli.times import Times

    assert isinstance(times, Times)
    shown = [f"{ref.id} {held.phase.value}" for ref, held in read.record.objects.items() if not held.missing]
    return f"the last Find, {times.since(read.record.as_of)} ago, shows {', '.join(shown) or 'nothing'}"


def target_of(read: Read, options: DisposeOptions) -> tuple[Target, str]:
    """What is disposed of, and what it is called. Raises CliError (2, 3)."""
    from streams.messages.values import AttemptRef, MessageRef

    if options.attempt is not None:
        found = _ATTEMPT.match(options.attempt)
        if found is None:
            raise CliError(f"--attempt {options.attempt[:30]!r} is not N/A, such as 1/2", code="bad-usage")
        attempt = AttemptRef(submission=int(found["submission"]), attempt=int(found["attempt"]))
        return attempt, f"attempt {options.attempt}"
    if options.message is not None:
        found = _MESSAGE.match(options.message)
        if found is None:
            raise CliError(f"--message {options.message[:30]!r} is not rREVISION, such as r48219", code="bad-usage")
        return MessageRef(revision=int(found["revision"])), f"message {options.message}"
    return _object(read, options.object or "")


def _object(read: Read, name: str) -> tuple[Target, str]:
    from dispatch.cli.views.frame import short_id

    refs = [
        ref
        for ref in read.record.objects
        if name in {ref.id, short_id(read.job, ref.id), f"{ref.cluster}/{ref.id}", ref.created}
    ]
    if len(refs) == 1:
        return refs[0], refs[0].id
    known = ", ".join(f"{ref.id} ({ref.created})" for ref in read.record.objects) or "none"
    raise CliError(
        f"{read.job} has {'several objects' if refs else 'no object'} named {name[:60]!r}",
        why=f"it has {known}",
        do=f"dispatch status {read.job}",
        code="no-such-object",
    )
