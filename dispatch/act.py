"""The one way to commit and to call: append the intent, call, append the reply.

A decision is appended at the revision it was made from, and a conflict ends it (L5). Evidence is never refused:
on a conflict the tail is folded and the event built again, or dropped where it is no longer news (L6). A call is
sent only by the pass whose own append of its intent was accepted, once (L7).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from adapters.errors import DeadlinePassedError, OutcomeUnknownError, RefusedError, UnreachableError
from adapters.port import Adapter, Holds, Requeues
from dispatch.situation import Step
from projections.evolve import fold
from projections.record import Record
from streams.errors import ConflictError, UndecidedError
from streams.messages import calls
from streams.messages.events import (
    AttemptCommitted,
    CallCommitted,
    CallReplied,
    Entry,
    Envelope,
    Event,
    SeenEvent,
)
from streams.messages.reasons import Reason
from streams.messages.values import Floor, ObjectRef, ReplyOutcome, Tag, Verb
from streams.ports import History

# Tries may be spent on a server whose reads lag; what then stays unsaid is unknown, never wrong.
EVIDENCE_TRIES_MAX = 32
DETAIL_MAX = 500


@dataclass(frozen=True)
class Hands:
    """What a supervisor acts with. No state of its own; every effect goes through here.

    `spawn` runs a call beside the pass; `wake` asks for another pass; `publish` writes the receipts of a record.
    """

    history: History
    adapter_of: Callable[[str], Adapter | None]
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    by: str
    installation: str
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    wake: Callable[[str, str], Awaitable[None]]
    publish: Callable[[Record], Awaitable[None]]


class Asked(NamedTuple):
    """Who asked for a decision: copied from the command, since the queue forgets it."""

    command: str
    actor: str
    on_behalf_of: str | None
    note: str | None
    asked_at: datetime


def envelope(hands: Hands, record: Record, event: Event, reason: Reason | None, asked: Asked | None) -> Envelope:
    """The event with everything around it, to be appended right after the record's revision."""
    return Envelope(
        id=hands.new_id(),
        tenant=record.tenant,
        job=record.job,
        expected=record.revision,
        at=hands.clock(),
        by=hands.by,
        event=event,
        reason=reason,
        command=asked.command if asked else None,
        actor=asked.actor if asked else None,
        on_behalf_of=asked.on_behalf_of if asked else None,
        note=asked.note if asked else None,
        asked_at=asked.asked_at if asked else None,
    )


def _after(record: Record, stored: Envelope, revision: int) -> Record:
    entry = Entry(tenant=record.tenant, job=record.job, revision=revision, stored_at=stored.at, content=stored)
    return fold(record, (entry,))


async def decide(
    hands: Hands, record: Record, event: Event, reason: Reason | None, asked: Asked | None = None
) -> Record:
    """Append a decision at the revision it was made from; the record after it.

    Raises ConflictError, RegressionError, UndecidedError and the rest of `streams.errors`: in each of these cases
    nothing may be sent on its strength.
    """
    stored = envelope(hands, record, event, reason, asked)
    return _after(record, stored, await hands.history.append(stored))


async def witness(hands: Hands, record: Record, build: Callable[[Record], SeenEvent | None]) -> tuple[Record, bool]:
    """Append evidence at whatever the revision is now, as long as it is still news (L6).

    Returns the record after it, and whether somebody else's events came in between: then nothing more may be
    decided from what was looked at before. Raises UndecidedError when the bus does not say.
    """
    moved = False
    there = 0
    event = build(record)
    for _ in range(EVIDENCE_TRIES_MAX):
        if event is None:
            return record, moved
        stored = envelope(hands, record, event, None, None)
        try:
            return _after(record, stored, await hands.history.append(stored)), moved
        except ConflictError as error:
            there = max(there, error.current or 0)
        except UndecidedError:
            moved = True
        tail = await hands.history.read(record.tenant, record.job, after=record.revision)
        moved = moved or bool(tail)
        record = fold(record, tail)
        if stored.id in record.ids:
            return record, moved
        news = build(record)
        # No read is linearizable: what is no news up to here may be, against what this tail still lacks.
        event = news if news is not None or record.revision >= there else event
    raise UndecidedError(f"{record.tenant}.{record.job}", "evidence")


async def perform(hands: Hands, record: Record, step: Step) -> Record:
    """Append one step; if it is a call's intent, send that call beside the pass, once (L7)."""
    record = await decide(hands, record, step.event, step.reason)
    if step.is_call:
        call = call_of(record, step.event, hands.installation)
        adapter = hands.adapter_of(record.spec.cluster) if record.spec else None
        if adapter is not None:
            hands.spawn(send(hands, adapter, record, call))
    return record


def call_of(record: Record, event: Event, installation: str) -> calls.Call:
    """The call that a committed intent, the last event of this record, authorizes."""
    name = calls.JobName(installation=installation, tenant=record.tenant, job=record.job)
    pair = Floor(revision=record.revision, nonce=record.intents[record.revision])
    if isinstance(event, AttemptCommitted):
        return _start(record, event, name, pair)
    if not isinstance(event, CallCommitted):
        raise TypeError(f"{type(event).__name__} authorizes no call")
    base: dict[str, Any] = {"name": name, "call": event.call, "deadline_at": event.deadline_at, "pair": pair}
    if event.verb is Verb.STOP_JOB:
        spare = tuple(ref for ref, held in record.objects.items() if held.ignored)
        return calls.StopJobCall(spare=spare, **base)
    ref = event.object
    if ref is None:
        raise ValueError(f"call {event.call} ({event.verb.value}) names no object")
    match event.verb:
        case Verb.OPEN | Verb.ADMIT:
            submission = record.objects[ref].submission or 0
            return calls.OpenCall(object=ref, run=event.run or 0, submission=submission, **base)
        case Verb.HOLD:
            return calls.HoldCall(object=ref, instances=event.instances, **base)
        case Verb.RELEASE:
            return calls.ReleaseCall(object=ref, instances=event.instances, run=event.run, **base)
        case Verb.REQUEUE:
            return calls.RequeueCall(object=ref, run=event.run or 0, **base)
        case _:
            return calls.StopCall(object=ref, **base)


def _start(record: Record, event: AttemptCommitted, name: calls.JobName, pair: Floor) -> calls.StartCall:
    submission = record.submission(event.submission)
    if record.spec is None or submission is None:
        raise ValueError(f"attempt {event.submission}/{event.attempt} has no submission")
    tag = Tag(
        installation=name.installation,
        tenant=name.tenant,
        job=name.job,
        submission=event.submission,
        attempt=event.attempt,
        revision=pair.revision,
        nonce=pair.nonce,
    )
    return calls.StartCall(
        name=name,
        call=event.call,
        deadline_at=event.deadline_at,
        pair=pair,
        tag=tag,
        spec=record.spec,
        avoid_nodes=submission.avoid_nodes,
    )


async def send(hands: Hands, adapter: Adapter, record: Record, call: calls.Call) -> None:
    """Make the call and append what came of it, then ask for a pass.

    A supervisor that dies in here leaves a call without a reply: unknown, until its bound has passed (L9).
    """
    reply = await answer(adapter, call)
    # A reply that is not stored leaves the call unknown to the next pass; nothing rests on it.
    with suppress(UndecidedError):
        await witness(hands, record, lambda now: _news(now, reply))
    await hands.wake(record.tenant, record.job)


def _news(record: Record, reply: CallReplied) -> CallReplied | None:
    """A reply is news until a clear one is recorded; the same unknown is told once."""
    known = next((a.reply for a in record.attempts if a.call == reply.call), None)
    call = record.calls.get(reply.call)
    known = call.reply if call is not None else known
    return None if known in (ReplyOutcome.DONE, ReplyOutcome.REFUSED) or known is reply.outcome else reply


async def answer(adapter: Adapter, call: calls.Call) -> CallReplied:
    """One call, one of three outcomes: done, refused, unknown."""
    made: ObjectRef | None = None
    outcome, retry, detail = ReplyOutcome.DONE, False, ""
    try:
        made = await _dispatch(adapter, call)
    except DeadlinePassedError as error:
        outcome, retry, detail = ReplyOutcome.REFUSED, True, str(error)
    except RefusedError as error:
        outcome, detail = ReplyOutcome.REFUSED, str(error)
    except UnreachableError as error:
        outcome, retry, detail = ReplyOutcome.REFUSED, True, str(error)
    except OutcomeUnknownError as error:
        outcome, detail = ReplyOutcome.UNKNOWN, str(error)
    except Exception as error:  # any: an adapter's fault of another kind leaves the outcome unknown
        outcome, detail = ReplyOutcome.UNKNOWN, f"{type(error).__name__}: {error}"
    return CallReplied(call=call.call, outcome=outcome, object=made, retry=retry, detail=detail[:DETAIL_MAX])


async def _dispatch(adapter: Adapter, call: calls.Call) -> ObjectRef | None:
    match call:
        case calls.StartCall():
            return await adapter.start(call)
        case calls.OpenCall():
            await adapter.open(call)
        case calls.StopCall():
            await adapter.stop(call)
        case calls.StopJobCall():
            await adapter.stop_job(call)
        case calls.RequeueCall():
            if not isinstance(adapter, Requeues):
                raise RefusedError("this adapter cannot requeue")
            await adapter.requeue(call)
        case calls.HoldCall() | calls.ReleaseCall():
            if not isinstance(adapter, Holds):
                raise RefusedError("this adapter cannot hold")
            if isinstance(call, calls.HoldCall):
                await adapter.hold(call)
            else:
                await adapter.release(call)
    return None
