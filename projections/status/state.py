"""Which of the eleven states a prefix of a history has, and since when. One prefix, one state."""

from __future__ import annotations

from datetime import datetime

from projections.record import OPENING, CallRecord, ObjectRecord, Record, RunRecord
from projections.status.view import State
from streams.messages.values import HoldSeen, Outcome, Phase, ReplyOutcome

HELD_AT_SCHEDULER = (HoldSeen.USER, HoldSeen.ADMIN, HoldSeen.LAUNCH_FAILED, HoldSeen.SYSTEM)


def state_of(record: Record) -> State:
    """The state, from the record alone.

    `running` while a run is on, its ending included; `recovering` from a run's end until the next one is let go;
    `queued` once the scheduler may start it. A hold is the state only while no run is on.
    """
    if record.cancel is not None:
        return State.CANCELLED if record.settled else State.CANCELLING
    if record.outcome is not None:
        if not record.settled:
            return State.ENDING
        return State.SUCCEEDED if record.outcome.outcome is Outcome.SUCCEEDED else State.FAILED
    if record.submitted is None:
        return State.ACCEPTED
    if running_run(record) is not None:
        return State.RUNNING
    if record.in_force or held_at_scheduler(record.canonical()):
        return State.HELD
    if record.newest is None:
        return State.ACCEPTED
    held = record.canonical()
    if held is not None and _let_go(record, held):
        return State.QUEUED
    return State.RECOVERING if _ended_before(record) else State.LAUNCHING


def running_run(record: Record) -> RunRecord | None:
    """The run of the newest submission's object that was last seen on, or None."""
    held = record.canonical()
    run = held.run_record(held.run) if held is not None else None
    if held is None or run is None or run.ended or held.accounted:
        return None
    on = held.phase in (Phase.RUNNING, Phase.ENDING) or (held.phase is Phase.UNCLEAR and run.started_at is not None)
    return run if on and run.started_at is not None else None


def held_at_scheduler(held: ObjectRecord | None) -> bool:
    """Whether the scheduler shows a hold on an object that waits."""
    return (
        held is not None
        and held.phase in (Phase.GATED, Phase.QUEUED, Phase.UNCLEAR)
        and held.hold in HELD_AT_SCHEDULER
        and not held.missing
    )


def foreign_hold(record: Record) -> HoldSeen | None:
    """The hold that the scheduler shows on the waiting object and that no instance of ours can be, or None."""
    held = record.canonical()
    if held is None or not held_at_scheduler(held):
        return None
    ours = any(not h.released if h.lifted else h.placed for h in record.holds.values())
    return None if ours and held.hold is HoldSeen.USER else held.hold


def _let_go(record: Record, held: ObjectRecord) -> bool:
    if held.ended or held.verified is not None or held.disposed_gone:
        return False
    if held.phase is Phase.UNCLEAR and held.as_of is not None:
        return open_sent(record, held) is not None
    return held.phase is Phase.QUEUED


def open_sent(record: Record, held: ObjectRecord) -> CallRecord | None:
    """The newest call that may begin the run the object stands before; refused ones begin nothing."""
    opens = [
        c
        for c in record.calls_on(held.ref, *OPENING)
        if c.run is not None and c.run >= held.run and c.reply is not ReplyOutcome.REFUSED
    ]
    return max(opens, key=lambda c: c.call, default=None)


def came_back(record: Record, held: ObjectRecord) -> RunRecord | None:
    """The run after which the object stands at its gate again though nobody ordered it, and nothing has answered."""
    over = [r for r in held.runs if r.begun and r.ended]
    if held.phase is not Phase.GATED or held.retired or held.missing or not over:
        return None
    return None if record.answered(held.ref, over[-1].run) and not held.ranks_done else over[-1]


def _ended_before(record: Record) -> bool:
    """Whether a run of the job was ended before, or a submission came to nothing."""
    if len(record.submissions) > 1 or (record.newest is not None and record.newest.exhausted):
        return True
    return any(r.ended or o.accounted for o in record.objects.values() if not o.foreign for r in o.runs)


def since_of(record: Record) -> datetime | None:
    """Since when the job is in its state, by the clocks of those who wrote it down."""
    state = state_of(record)
    held, newest = record.canonical(), record.newest
    match state:
        case State.SUCCEEDED | State.FAILED | State.CANCELLED:
            return record.settled_at
        case State.CANCELLING:
            return record.cancel.at if record.cancel else None
        case State.ENDING:
            return record.outcome.at if record.outcome else None
        case State.RUNNING:
            run = running_run(record)
            return run.started_at if run else None
        case State.HELD:
            return min((h.at for h in record.in_force), default=held.since if held else None)
        case State.QUEUED:
            return held.since if held else None
        case State.RECOVERING:
            return _last_end(record)
        case State.LAUNCHING:
            return newest.at if newest else None
        case State.ACCEPTED:
            return record.submitted_at or record.at


def _last_end(record: Record) -> datetime | None:
    """The latest end of a run, else when the newest submission was authorized."""
    ends = [r.ended_at for o in record.objects.values() for r in o.runs if r.ended_at is not None]
    if ends:
        return max(ends)
    return record.newest.at if record.newest else record.submitted_at
