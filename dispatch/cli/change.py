"""The way of everything that changes a job: say where, ask, publish one command, say how far it got."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dispatch.cli import errors, sent
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.refusals import REFUSALS
from dispatch.cli.session import Session
from dispatch.cli.tool import Tool
from dispatch.client import Accepted, AsyncClient, Outcome, Refused, Said, Stored, Undecided, outcome_of
from streams.codec import verb_of
from streams.errors import BusUnreachableError, CodecError, StreamError
from streams.messages.commands import Command, SetControls, SubmitJob
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Receipt

REASON_MAX = 500


@dataclass(frozen=True, slots=True)
class Told:
    """How one command ended: its line for a person, its document for a program, its exit code.

    `failed`: an error about this command alone, beside others that were sent; then there is no outcome.
    """

    line: str
    document: dict[str, object]
    exit_code: Exit
    outcome: Outcome | None
    why: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    failed: CliError | None = None


def reason_of(tool: Tool, *, required: bool) -> str:
    """The reason given with `--reason`. Raises CliError (2) if it is missing or too long."""
    reason = tool.change.reason.strip()
    if required and not reason:
        raise CliError(
            "a reason is needed", why="it is kept with the event for ever", do='add --reason "…"', code="bad-usage"
        )
    if len(reason) > REASON_MAX:
        raise CliError(f"the reason has {len(reason)} characters, {REASON_MAX} may be", code="bad-usage")
    return reason


def said(tool: Tool, *, required: bool = True) -> Said:
    """What goes with the command: reason and id."""
    from streams.subjects import is_token

    given = tool.change.command_id
    if given is not None and not is_token(given):
        raise CliError(f"{given[:70]!r} is no command id", why="1 to 63 of a-z, 0-9 and -", code="bad-usage")
    return Said(note=reason_of(tool, required=required), command=given)


async def send(session: Session, command: Command, accepted: Callable[[Accepted], str]) -> Told:
    """Publish the command, wait for its receipt, and tell how far it got.

    `accepted` makes the line for a command that became an event. Errors of the bus pass through.
    """
    tool, client = session.tool, session.client
    deadline = time.monotonic() + tool.timeout_s
    sequence = await _publish(client, command, deadline)
    if sequence is None:
        return _undecided(command)
    if isinstance(command, SubmitJob):
        tool.screen.hint(f"{command.job}  stored on the bus (command {command.command})")
    receipt = await _receipt(session, command, deadline)
    if receipt is None:
        return await _stored(session, command, sequence)
    outcome = outcome_of(receipt)
    sent.became(command.command, sent.Fate.REFUSED if isinstance(outcome, Refused) else sent.Fate.STANDS)
    document: dict[str, object] = {"job": command.job, "outcome": _word(outcome), "receipt": receipt}
    if isinstance(outcome, Accepted):
        session.answered(command.job, receipt.number)
        return Told(accepted(outcome), document, Exit.DONE, outcome)
    unknown = receipt.code is RefusalCode.NO_SUCH_JOB
    return Told(
        f"{command.job}  refused: {receipt.sentence}",
        document,
        Exit.NOT_FOUND if unknown else Exit.REFUSED,
        outcome,
    )


async def _receipt(session: Session, command: Command, deadline: float) -> Receipt | None:
    """The answer, None without one in time.

    A command that waits has its whole `--timeout` for it, and says meanwhile why it has none, and again if that changes.
    """
    tool, told = session.tool, ""
    until = tool.wait_until if tool.waiting else None
    while True:
        receipt = await session.client.wait_receipt(command, deadline=deadline)
        if receipt is not None or until is None or deadline >= until:
            return receipt
        if (why := await _unanswered(session, tool.timeout_s)) != told:
            tool.screen.hint(f"{command.job}  {why}; waiting for it")
        told = why
        deadline = min(until, deadline + tool.timeout_s)


async def _unanswered(session: Session, within_s: float) -> str:
    """Why a command that lies on the bus has no answer, as far as that can be read."""
    alive = await session.alive()
    if alive is None:
        return "stored; not decided yet, and whether a supervisor is live cannot be read"
    if alive:
        return f"stored, not decided within {within_s:g}s by {', '.join(alive)}"
    return "stored; no supervisor is live: nothing is decided until one starts"


async def send_each(
    session: Session, commands: Iterable[Command], accepted: Callable[[Command], Callable[[Accepted], str]]
) -> list[Told]:
    """Send one after another. An error before anything was sent passes through; later it is told of its own command.

    Once the bus is away the rest is not tried: each is told as not sent, so that the answers before are never lost.
    """
    told: list[Told] = []
    away: BusUnreachableError | None = None
    several = len(waiting := list(commands)) > 1
    for command in waiting:
        if away is not None:
            told.append(_failed(command, away))
            continue
        try:
            told.append(await send(session, command, accepted(command)))
        except (StreamError, CodecError) as error:
            if not several or not sent.anything():
                raise
            told.append(_failed(command, error))
            away = error if isinstance(error, BusUnreachableError) else None
    return told


def _failed(command: Command, error: Exception) -> Told:
    """What became of one of several commands about which the bus answered with an error."""
    found = errors.told(error)
    assert found is not None
    found = errors.after_sending(found)
    gone = sent.is_known(command.command)
    what = f"the {_order(command)} {'may take effect' if gone else 'was not sent'}: {found.what}"
    failed = CliError(what, why=found.why, do=found.do, code=found.code, exit_code=found.exit_code)
    document = {"job": command.job, "outcome": "undecided" if gone else "unsent", "command": command.command}
    return Told(what, document | {"error": failed.document()}, failed.exit_code, None, failed=failed)


def _order(command: Command) -> str:
    """The command in words, such as `cancel of llama`."""
    return "change of the retries" if isinstance(command, SetControls) else f"{verb_of(command)} of {command.job}"


async def _publish(client: AsyncClient, command: Command, deadline: float) -> int | None:
    """Publish it, so that whoever is interrupted meanwhile is told what may have been sent."""
    sent.begun(command.command, _order(command))
    try:
        sequence = await client.publish(command, deadline=deadline)
    except (StreamError, ValueError):  # each says that nothing was sent
        sent.never(command.command)
        raise
    if sequence is not None:
        sent.became(command.command, sent.Fate.STANDS)
    return sequence


def _word(outcome: Outcome) -> str:
    match outcome:
        case Accepted(already=already):
            return "already" if already else "accepted"
        case Refused():
            return "refused"
        case Stored():
            return "stored"
        case Undecided():
            return "undecided"


def again(command: Command) -> str:
    """What to add to the same words, so that they are this command once more and not another one.

    A submit is repeated by its name too: without it a name made of the file's, or by `--new`, is another job's.
    """
    name = f"--name {command.job} " if isinstance(command, SubmitJob) else ""
    return f"{name}--command-id {command.command}" + (" (without --new)" if name else "")


def _undecided(command: Command) -> Told:
    return Told(
        f"{command.job}  undecided: sent, no answer from the bus; it may take effect\n"
        f"  repeat it with {again(command)}: twice is one command",
        {"job": command.job, "outcome": "undecided", "command": command.command},
        Exit.UNDECIDED,
        Undecided(command=command.command),
        do=(f"the same with {again(command)}",),
    )


async def _stored(session: Session, command: Command, sequence: int) -> Told:
    tool = session.tool
    whole = tool.flags.timeout if tool.waiting else None
    why = await _unanswered(session, tool.timeout_s if whole is None else whole)
    return Told(
        f"{command.job}  {why}\n  to repeat it: {again(command)}",
        {"job": command.job, "outcome": "stored", "command": command.command, "sequence": sequence},
        Exit.UNDECIDED,
        Stored(command=command.command, sequence=sequence),
        do=(f"the same with {again(command)}",),
    )


def show(tool: Tool, view: str, told: list[Told]) -> Exit:
    """Print what became of each command; the exit code is the highest."""
    code = max((each.exit_code for each in told), default=Exit.DONE)
    if tool.flags.json and len(told) == 1 and code is not Exit.DONE:
        tool.failed(view, error_of(told[0]).document() | told[0].document)
    elif tool.flags.json:
        tool.document(view, told[0].document if len(told) == 1 else {"results": [each.document for each in told]})
    else:
        for each in told:
            _print(tool, each)
    return code


def _print(tool: Tool, told: Told) -> None:
    """A refusal, and what failed, in the form of every error, on stderr; all else as a line of the answer."""
    if isinstance(told.outcome, Refused) or told.failed is not None:
        first, *rest = error_of(told).lines()
        tool.screen.complain(tool.screen.paint("error:", "red") + first.removeprefix("error:"))
        for line in rest:
            tool.screen.complain(line)
    else:
        tool.screen.say(told.line)


def error_of(told: Told) -> CliError:
    """What became of a command that did not become an event, as an error."""
    if (failed := told.failed) is not None:
        why = (*told.why, *failed.why)
        return CliError(failed.what, why=why, do=failed.do, code=failed.code, exit_code=failed.exit_code)
    if not isinstance(told.outcome, Refused):
        return CliError(told.line.splitlines()[0], do=told.do, code="undecided")
    receipt = told.outcome.receipt
    sentence = receipt.sentence if receipt.job in receipt.sentence else f"{receipt.job}: {receipt.sentence}"
    return CliError(
        sentence,
        why=told.why,
        do=told.do or _do(receipt.code),
        code=receipt.code.value if receipt.code else "refused",
        exit_code=told.exit_code,
    )


def _do(code: RefusalCode | None) -> str:
    """What the reference says to do, without its links and marks."""
    if code is None:
        return ""
    return re.sub(r"\[(.+?)\]\(.+?\)", r"\1", REFUSALS[code][1]).replace("`", "")
