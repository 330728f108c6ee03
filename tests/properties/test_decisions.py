"""Laws of what is decided: over any record and any Find, and over walks in which the core alone decides."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dispatch import evidence
from dispatch.decide import Already, Decided, Facts, decide
from dispatch.next_steps import next_steps
from dispatch.situation import Situation
from projections.controls import Controls
from projections.evolve import empty, evolve, fold
from projections.record import Record
from streams.messages.calls import Capabilities
from streams.messages.commands import (
    AttestNodeOff,
    CancelJob,
    Command,
    Dispose,
    HoldJob,
    IfUnknown,
    ReleaseJob,
    RequeueJob,
    SubmitJob,
)
from streams.messages.events import CallCommitted, Entry, Envelope, Event
from streams.messages.reasons import Reason
from streams.messages.values import Disposition, Found, NodeAttested, Verb
from tests.properties import anything

BOUNDED = settings(max_examples=300)


def folded(history: tuple[Entry, ...]) -> Record:
    return fold(empty(anything.TENANT, anything.JOB), history)


def situation(record: Record, found: Found, able: Capabilities) -> Situation:
    now = found.as_of + timedelta(seconds=1)
    return Situation(
        record=record,
        found=found,
        capabilities=able,
        controls=Controls(),
        installation="main",
        asked_at=found.as_of,
        now=now,
    )


def stored(record: Record, event: Event, reason: Reason | None, command: str | None = None) -> Record:
    """The record with this event appended."""
    revision = record.revision + 1
    envelope = Envelope(
        id=f"{revision + 500:026d}",
        tenant=record.tenant,
        job=record.job,
        expected=record.revision,
        at=anything.BEGIN,
        by="replica:sv-a",
        event=event,
        reason=reason,
        command=command,
    )
    entry = Entry(tenant=record.tenant, job=record.job, revision=revision, stored_at=anything.BEGIN, content=envelope)
    return evolve(record, entry)


def witnessed(record: Record, found: Found) -> Record:
    """The record with what this Find is worth folded in, as a pass has it when it decides."""
    event = evidence.objects_seen(record, found, record.revision, found.as_of)
    return record if event is None else stored(record, event, None)


@BOUNDED
@given(history=anything.histories, found=anything.finds)
def test_evidence_is_worth_its_event_once(history: tuple[Entry, ...], found: Found) -> None:
    """R21: folded, the same Find is worth nothing, and nor is the same one later."""
    record = folded(history)
    event = evidence.objects_seen(record, found, record.revision, found.as_of)
    if event is None:
        return
    after = stored(record, event, None)
    assert evidence.objects_seen(after, found, record.revision, found.as_of) is None


@BOUNDED
@given(history=anything.histories, found=anything.finds, able=anything.clusters)
def test_the_same_situation_gives_the_same_steps_and_never_raises(
    history: tuple[Entry, ...], found: Found, able: Capabilities
) -> None:
    """Two replicas at one revision, with one Find, decide alike."""
    record = witnessed(folded(history), found)
    one, other = situation(record, found, able), situation(record, found, able)
    assert next_steps(one) == next_steps(other)


@BOUNDED
@given(history=anything.histories, found=anything.finds, able=anything.clusters)
def test_after_a_cancel_nothing_is_authorized_and_after_settlement_only_runs_without_leave_are_stopped(
    history: tuple[Entry, ...], found: Found, able: Capabilities
) -> None:
    """L1, L2: over any record that holds one."""
    record = witnessed(folded(history), found)
    steps = next_steps(situation(record, found, able))
    verbs = {s.event.verb for s in steps if isinstance(s.event, CallCommitted)}
    if record.settled:
        assert {s.reason for s in steps} <= {Reason.UNAUTHORIZED_RUN}
        assert verbs <= {Verb.STOP}
    elif record.over:
        kinds = {type(s.event).__name__ for s in steps}
        assert kinds <= {"CallCommitted", "ObjectRetired", "StopVerified", "TargetDisposed", "JobSettled"}
        assert verbs <= {Verb.STOP, Verb.STOP_JOB}
    if record.strange:
        assert steps == ()


@BOUNDED
@given(history=anything.histories, found=anything.finds, able=anything.clusters)
def test_taking_every_step_in_turn_comes_to_an_end(
    history: tuple[Entry, ...], found: Found, able: Capabilities
) -> None:
    """A pass never decides the same thing twice from one Find."""
    record = witnessed(folded(history), found)
    taken = []
    for _ in range(64):
        steps = next_steps(situation(record, found, able))
        if not steps:
            break
        taken.append(steps[0].event)
        record = stored(record, steps[0].event, steps[0].reason)
    assert len(taken) < 64
    plain = [replace(event, call=0) if isinstance(event, CallCommitted) else event for event in taken]
    assert len({repr(event) for event in plain}) == len(plain)


def order(seed: int) -> Command:
    """Any command but those on controls."""
    pen = anything.Pen(seed)
    fields: dict[str, Any] = {"command": "c-new", "tenant": anything.TENANT, "job": anything.JOB, "at": anything.BEGIN}
    orders: tuple[Command, ...] = (
        SubmitJob(spec=pen.one(anything.SPECS), **fields),
        CancelJob(if_unknown=pen.one(IfUnknown), **fields),
        HoldJob(now=pen.yes(), **fields),
        ReleaseJob(instances=pen.some(anything.INSTANCES), **fields),
        RequeueJob(run=pen.run(), resubmit=pen.yes(), **fields),
        Dispose(target=pen.target(), disposition=pen.one(Disposition), **fields),
        AttestNodeOff(node="n14", state=pen.one(NodeAttested), object=pen.ref(), run=pen.run(), **fields),
    )
    picked: Command = pen.one(orders)
    return picked


orders = anything.seeds.map(order)


@BOUNDED
@given(history=anything.histories, command=orders, found=st.none() | anything.finds, able=st.none() | anything.clusters)
def test_a_command_decided_is_the_same_command_ever_after(
    history: tuple[Entry, ...], command: Command, found: Found | None, able: Capabilities | None
) -> None:
    """A command delivered twice is one command, over any record; nothing raises."""
    record = folded(history)
    facts = Facts(now=anything.BEGIN, found=found, capabilities=able, actor="ana")
    answered = decide(record, command, facts)
    if not isinstance(answered, Decided):
        return
    after = stored(record, answered.event, answered.reason, command.command)
    assert decide(after, command, facts) == Already(after.revision, after.number)
