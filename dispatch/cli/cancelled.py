"""Waiting for a cancel to get as far as was asked, each stage printed with the event that reached it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.patience import Watched, unread
from dispatch.cli.session import Session
from dispatch.cli.tool import Tool
from dispatch.cli.views.frame import Frame
from projections.receipt import Written, receipt
from projections.record import CancelRecord
from projections.status import Status

POLL_S = 0.25
ORDER = ("asked", "committed", "stopped", "complete", "settled")
NEEDED = {"stopped": "stopped", "complete": "complete", "proven": "settled"}


async def await_all(session: Session, jobs: Sequence[str], stage: str) -> Exit:
    """Wait for each cancel in turn, telling its stages; with `--json` one document of all. The highest exit code."""
    ends = [await await_stage(session, job, stage) for job in jobs]
    tool = session.tool
    if tool.flags.json and len(ends) > 1:
        tool.document("cancel", {"results": [document for _, document in ends]})
    elif tool.flags.json:
        document = ends[0][1]
        if isinstance(document, dict):
            tool.failed("cancel", document)
        else:
            tool.document("cancel", document)
    return max(code for code, _ in ends)


async def await_stage(session: Session, job: str, stage: str) -> tuple[Exit, Status | dict[str, object]]:
    """Print the stages of the job's cancel as they come, until `stage`; 8 when `--timeout` passed first.

    With the status of the job then, or the error, for a program. A bus that is away is waited for.
    """
    tool, watched = session.tool, Watched(session, unread(session, job))
    shown = 0
    while True:
        frame = await watched.look(around=True)
        if frame is not None:
            stages = reached(frame)
            _say(tool, [f"  {line}" for _, line in stages[shown:]])
            shown = len(stages)
            if any(name == NEEDED[stage] for name, _ in stages):
                if frame.record.settled:
                    _say(tool, [f"cancelled, settled #{frame.record.settled_number}"])
                return Exit.DONE, frame.status()
        if watched.patience.over:
            late = CliError(f"--timeout ended the wait; the cancel of {job} stands and goes on", code="timed-out")
            tool.screen.hint(late.what)
            return Exit.TIMED_OUT, {"job": job, **late.document()}
        await asyncio.sleep(POLL_S)


def _say(tool: Tool, lines: Sequence[str]) -> None:
    """Lines for a person; a program gets one document at the end."""
    if not tool.flags.json:
        for line in lines:
            tool.screen.say(line)


def reached(frame: Frame) -> list[tuple[str, str]]:
    """The stages that the cancel has reached, each with its line."""
    record = frame.record
    cancel = record.cancel
    if cancel is None:
        return []
    at = frame.times.at
    told = [
        ("asked", f"asked      {at(cancel.asked_at or cancel.at)}  {cancel.command or ''}".rstrip()),
        ("committed", f"committed  {at(cancel.at)}  #{cancel.number}  {_committed(cancel)}"),
    ]
    if cancel.stopped:
        told.append(("stopped", f"stopped    {at(cancel.stopped_at)}  #{cancel.stopped_number}  {_stopped(frame)}"))
    if cancel.complete:
        told.append(("complete", f"complete   {at(cancel.complete_at)}  #{cancel.complete_number}  {_sentence(frame)}"))
    if record.settled:
        told.append(("settled", f"settled    {at(record.settled_at)}  #{record.settled_number}  all is accounted for"))
    return told


def _committed(cancel: CancelRecord) -> str:
    return "nothing of it is authorized any more" + ("; holds lifted, intents dropped" if cancel.number else "")


def _stopped(frame: Frame) -> str:
    ended = [frame.picture.called(ref) for ref, held in frame.record.objects.items() if held.accounted]
    return f"{', '.join(ended)} ended" if ended else "no object of it was ever alive"


def _sentence(frame: Frame) -> str:
    """The receipt's own words on how far it got."""
    cancel = frame.record.cancel
    command = cancel.command if cancel is not None else None
    told = receipt(frame.record, command, Written(frame.times.now, "")) if command is not None else None
    return told.sentence if told is not None else "nothing of it can land any more"
