"""A command and the record give an event or a refusal. Pure: one case a command.

A command whose id the record already holds is answered `Already`: it is the same command, typed twice.
"""

from __future__ import annotations

from typing import assert_never

from dispatch.decide import dispose, jobs, lifecycle
from dispatch.decide.answers import Already, Answered, Decided, Facts, Refused
from projections.record import Record
from streams.messages import commands
from streams.messages.commands import Command
from streams.messages.reasons import RefusalCode
from streams.messages.values import MessageRef

__all__ = ["Already", "Answered", "Decided", "Facts", "Refused", "decide"]


BECOMES: dict[type[Command], tuple[str, ...]] = {
    commands.SubmitJob: ("JobSubmitted",),
    commands.CancelJob: ("JobCancelled",),
    commands.HoldJob: ("HoldAsked",),
    commands.ReleaseJob: ("HoldLifted",),
    commands.RequeueJob: ("RequeueAuthorized", "SubmissionAuthorized"),
    commands.Dispose: ("TargetDisposed",),
    commands.AttestNodeOff: ("CessationSeen",),
    commands.SetControls: ("ControlsSet",),
}


def decide(record: Record, command: Command, facts: Facts) -> Answered:
    """What becomes of this command at this revision of the record."""
    known = record.commands.get(command.command)
    if known is not None and known.event not in BECOMES[type(command)]:
        return Refused(
            RefusalCode.COMMAND_ID_USED,
            f'the id "{command.command}" was another command\'s of this job (#{known.number}): use a new one',
            known.revision,
        )
    if known is not None:
        return Already(known.revision, known.number)
    if record.strange and not _disposes_of_message(command):
        return Refused(
            RefusalCode.DECISIONS_STOPPED,
            f"r{record.strange[0].revision} of this job cannot be read ({record.strange[0].text}): "
            "dispose of that message first",
        )
    match command:
        case commands.SubmitJob():
            return jobs.submit(record, command, facts)
        case commands.CancelJob():
            return jobs.cancel(record, command)
        case commands.HoldJob():
            return lifecycle.hold(record, command, facts)
        case commands.ReleaseJob():
            return lifecycle.release(record, command)
        case commands.RequeueJob():
            return lifecycle.requeue(record, command, facts)
        case commands.Dispose():
            return dispose.dispose(record, command, facts)
        case commands.AttestNodeOff():
            return dispose.attest(record, command, facts)
        case commands.SetControls():
            return lifecycle.controls(command, facts)
        case _:
            assert_never(command)


def _disposes_of_message(command: Command) -> bool:
    return isinstance(command, commands.Dispose) and isinstance(command.target, MessageRef)
