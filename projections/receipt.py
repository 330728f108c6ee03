"""What became of a command, from the record. A projection: any pass may write it again.

A refusal changes nothing, so no record knows it: `refused` and `malformed` are told when they are decided. All
the rest is `receipt(record, ...)`, the same whoever asks and however often.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from projections.record import Accepted, Record
from projections.sightings import waiting_nodes
from projections.status import words
from projections.status.state import running_run
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Progress, Receipt
from streams.messages.values import HoldKind

VERBS = {
    "JobSubmitted": "submit",
    "JobCancelled": "cancel",
    "HoldAsked": "hold",
    "HoldLifted": "release",
    "RequeueAuthorized": "requeue",
    "SubmissionAuthorized": "requeue",
    "TargetDisposed": "dispose",
    "CessationSeen": "attest",
    "ControlsSet": "control",
}


class Written(NamedTuple):
    """When a receipt is written, and by which replica."""

    at: datetime
    by: str


class Addressed(NamedTuple):
    """Whom a receipt answers: the command's id, and what its subject says."""

    command: str
    tenant: str
    job: str
    verb: str


def receipt(record: Record, command: str, written: Written) -> Receipt | None:
    """What became of a command that the record holds, or None of one it does not.

    `accepted`, with the event's revision and number; of a cancel also how far it got.
    """
    accepted = record.commands.get(command)
    if accepted is None:
        return None
    to = Addressed(command, record.tenant, record.job, VERBS.get(accepted.event, "unknown"))
    return replace(
        _blank(to, Answer.ACCEPTED, written),
        revision=accepted.revision,
        number=accepted.number,
        progress=progress_of(record) if accepted.event == "JobCancelled" else None,
        sentence=_sentence(record, accepted),
    )


def already(record: Record, revision: int, to: Addressed, written: Written) -> Receipt:
    """The answer to a command that asks for what stands at `revision`; to the one that caused it, its first receipt."""
    first = next((command for command, a in record.commands.items() if a.revision == revision), None)
    told = receipt(record, first, written) if first is not None else None
    if told is None:
        return replace(
            _blank(to, Answer.ALREADY, written), revision=revision, sentence=f"already accepted as r{revision}"
        )
    if told.command == to.command:
        return told
    sentence = f"already asked, and accepted as #{told.number}: {told.sentence}"
    return replace(told, command=to.command, answer=Answer.ALREADY, sentence=sentence)


def refused(
    to: Addressed, code: RefusalCode, sentence: str, written: Written, *, revision: int | None = None
) -> Receipt:
    """The answer to a command that a decision refused; `revision` is of the event that stands in the way."""
    return replace(_blank(to, Answer.REFUSED, written), code=code, sentence=sentence, revision=revision)


def malformed(to: Addressed, code: RefusalCode, sentence: str, written: Written) -> Receipt:
    """The answer to bytes that hold no command; `to.command` is `seq-<n>` when they hold no valid id either."""
    return replace(_blank(to, Answer.MALFORMED, written), code=code, sentence=sentence)


def receipts_of(record: Record, written: Written) -> tuple[Receipt, ...]:
    """Every receipt that a pass may have to write again: of a command whose work goes on after its event."""
    cancel = record.cancel
    told = receipt(record, cancel.command, written) if cancel is not None and cancel.command is not None else None
    return () if told is None else (told,)


def progress_of(record: Record) -> Progress | None:
    """How far the record's cancel got; None without one."""
    cancel = record.cancel
    if cancel is None:
        return None
    if cancel.complete:
        return Progress.COMPLETE
    return Progress.STOPPED if cancel.stopped else Progress.COMMITTED


def _blank(to: Addressed, answer: Answer, written: Written) -> Receipt:
    return Receipt(
        command=to.command,
        tenant=to.tenant,
        job=to.job,
        verb=to.verb,
        answer=answer,
        at=written.at,
        by=written.by,
    )


# one clear sentence


def _sentence(record: Record, accepted: Accepted) -> str:
    match accepted.event:
        case "JobSubmitted":
            return f"the job is accepted and will be launched; dispatch watch {record.job}"
        case "JobCancelled":
            return _cancelled(record) if record.cancel is not None else "cancelled"
        case "HoldAsked":
            return _held(record, accepted)
        case "HoldLifted":
            return _lifted(record)
        case "RequeueAuthorized" | "SubmissionAuthorized":
            return _again(record, accepted)
        case "CessationSeen":
            return "your word is recorded under your name, apart from what was observed"
        case "TargetDisposed":
            return "your decision is recorded; the next pass carries it out"
        case _:
            return "the controls stand as asked; they bind retries only"


def _cancelled(record: Record) -> str:
    match progress_of(record):
        case Progress.COMPLETE:
            return f"nothing of it can land any more; {_proven(record)}"
        case Progress.STOPPED:
            return "all that was seen has ended; what can still land is waited for, then stopped once more"
        case _:
            return f"nothing of it is authorized any more; {_being_stopped(record)}"


def _being_stopped(record: Record) -> str:
    alive = [o.ref.id for o in record.objects.values() if not o.accounted]
    return f"being stopped: {words.listed(alive)}" if alive else "no object of it is known to be alive"


def _proven(record: Record) -> str:
    """On how many nodes processes are proven gone, and on which they are not."""
    runs = [(o, r) for o in record.objects.values() if not o.ignored for r in o.runs if r.begun and r.nodes]
    nodes = {n for _, r in runs for n in r.nodes}
    waits = sorted({n for o, r in runs if r in o.unproven for n in waiting_nodes(r)})
    if not nodes:
        return "no process of it ever ran"
    if not waits:
        return f"its processes are proven gone on {len(nodes)} of {len(nodes)} nodes"
    proven = f"proven gone on {len(nodes) - len(waits)} of {len(nodes)} nodes"
    return f"its processes are {proven}, not on {words.nodes_text(waits)}"


def _held(record: Record, accepted: Accepted) -> str:
    hold = next((h for h in record.holds.values() if h.revision == accepted.revision), None)
    if hold is None or hold.lifted:
        return "held, and released since"
    run, canonical = running_run(record), record.canonical()
    if run is None or canonical is None:
        after = "no run starts until it is released"
    elif hold.now:
        after = f"{words.execution(canonical, run.run)} is being ended; the next run will wait"
    else:
        after = f"{words.execution(canonical, run.run)} runs on; the next run will wait"
    return f"held (instance {hold.instance}): {after}"


def _lifted(record: Record) -> str:
    left = [h.instance if h.kind is HoldKind.PERSON else f"{h.instance} (rule {h.rule})" for h in record.in_force]
    return (
        f"released; still held by {words.listed(left)}" if left else "released; no hold asked through dispatch is left"
    )


def _again(record: Record, accepted: Accepted) -> str:
    intent = next((r for r in record.requeues if r.revision == accepted.revision), None)
    held = record.objects.get(intent.object) if intent is not None else None
    if intent is not None and held is not None:
        return f"the next run of {held.ref.id} waits for the end of {words.execution(held, intent.run)}"
    submission = next((s for s in record.submissions if s.revision == accepted.revision), None)
    if submission is None:
        return "it will run again"
    return f"submission {submission.number} is authorized; it runs once all before it is proven dead"
