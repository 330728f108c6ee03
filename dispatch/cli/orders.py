"""One order to one or several jobs: listed, asked about once, answered one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dispatch.cli import change
from dispatch.cli.ask import confirm
from dispatch.cli.dry_run import WouldBe, decided
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.session import Read, Session
from dispatch.cli.times import Times
from dispatch.cli.tool import Tool
from dispatch.cli.typed_cluster import refuse_elsewhere, where_of
from dispatch.client import Accepted, OrderFields
from projections.status import since_of, state_of
from streams.messages.commands import Command

Build = Callable[[Read, OrderFields], Command]
Asks = Callable[[Read, Times], "str | None"]


@dataclass(frozen=True, slots=True)
class Order:
    """What is ordered: its verb, how its command is made, and what is asked first (None: nothing is).

    `followed`: what is accepted is waited for, and the one document is printed then.
    """

    verb: str
    build: Build
    asks: Asks | None = None
    needs_reason: bool = True
    followed: bool = False


def described(read: Read, times: Times) -> str:
    """`llama-7b, running 10m49s on 8 nodes`: what a question shows of a job."""
    record = read.record
    since = since_of(record)
    lasted = f" {times.since(since)}" if since is not None else ""
    nodes = f" on {record.spec.nodes} node{'s' if record.spec.nodes > 1 else ''}" if record.spec else ""
    return f"{read.job}, {state_of(record).value}{lasted}{nodes}"


async def carry_out(session: Session, reads: Sequence[Read], order: Order) -> Exit:
    """Ask once, then send one command a job; `--dry-run` sends nothing. The highest exit code."""
    tool = session.tool
    refuse_elsewhere(tool, reads)
    said = change.said(tool, required=order.needs_reason)
    if said.command is not None and len(reads) > 1:
        raise CliError("--command-id repeats one command, and these are several jobs", code="bad-usage")
    commands = [order.build(read, session.client.fields(read.job, said)) for read in reads]
    if tool.change.dry_run:
        return _dry_run(session, reads, commands)
    _ask(tool, reads, order)
    _say_what(tool, reads, order, commands)
    told = await change.send_each(session, commands, _answer)
    if order.followed and tool.flags.json and all(each.exit_code is Exit.DONE for each in told):
        return Exit.DONE
    return change.show(tool, order.verb, told)


def _say_what(tool: Tool, reads: Sequence[Read], order: Order, commands: Sequence[Command]) -> None:
    """Where it acts and what is about to be sent, with the id under which it is repeated."""
    names = ", ".join(read.job for read in reads[:8]) + (f" and {len(reads) - 8} more" if len(reads) > 8 else "")
    ids = f" (command {commands[0].command})" if len(commands) == 1 else ""
    tool.screen.hint(f"{where_of(tool, reads)}     {order.verb} {names}{ids}")


def _ask(tool: Tool, reads: Sequence[Read], order: Order) -> None:
    """The one question for all of them; it holds all that the answer rests on, since hints may be silent."""
    if order.asks is None:
        return
    times = tool.times()
    where = where_of(tool, reads)
    questions = [question for read in reads if (question := order.asks(read, times)) is not None]
    if not questions:
        return
    if len(questions) == 1:
        confirm(tool, f"{where}     {questions[0]}", reads[0].job if len(reads) == 1 else f"{len(reads)} jobs")
        return
    listed = "".join(f"  {described(read, times)}\n" for read in reads)
    confirm(tool, f"{where}\n{listed}{order.verb} these {len(reads)} jobs?", f"{len(reads)} jobs")


def _answer(command: Command) -> Callable[[Accepted], str]:
    """The line for a command that became an event."""

    def accepted(done: Accepted) -> str:
        receipt = done.receipt
        return f"{command.job}  {'' if done.already else f'accepted #{receipt.number}: '}{receipt.sentence}"

    return accepted


def _dry_run(session: Session, reads: Sequence[Read], commands: Sequence[Command]) -> Exit:
    verdicts: list[tuple[str, WouldBe]] = [
        (read.job, decided(read.record, command, None, session.client.actor))
        for read, command in zip(reads, commands, strict=True)
    ]
    documents = [{"job": job} | verdict.document for job, verdict in verdicts]
    lines = [f"{job}  {verdict.line}; nothing was sent" for job, verdict in verdicts]
    session.tool.answer("dry-run", documents[0] if len(documents) == 1 else {"results": documents}, lambda: lines)
    return max(verdict.exit_code for _, verdict in verdicts)


async def chosen(session: Session, names: Sequence[str], labels: Sequence[str]) -> list[Read]:
    """The jobs named, each exactly, or all open ones with these labels. Raises CliError (2, 3)."""
    if bool(names) == bool(labels):
        raise CliError("one of JOB… and -l K=V is needed", code="bad-usage")
    if names:
        return [await session.exactly(name) for name in dict.fromkeys(names)]
    from dispatch.cli.fleet import labelled

    found = await labelled(session, labels)
    if not found:
        where = f" on {session.tool.flags.cluster}" if session.tool.flags.cluster is not None else ""
        raise CliError(f"no open job{where} has {', '.join(labels)}", do="dispatch list -l K=V", code="no-such-job")
    return [await session.exactly(name) for name in found]


async def order_jobs(tool: Tool, names: Sequence[str], labels: Sequence[str], order: Order) -> Exit:
    """The whole way of a command that changes jobs."""
    change.reason_of(tool, required=order.needs_reason)
    async with tool.session() as session:
        return await carry_out(session, await chosen(session, names, labels), order)
