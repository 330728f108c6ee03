"""Waits between an end and what follows it: the cause, the plan, a brake, a pause, a requeue."""

from __future__ import annotations

from projections.controls import Control
from projections.record import ObjectRecord, RequeueIntent, RunRecord
from projections.status import words
from projections.status.lifting import lifted_by, scope_of
from projections.status.picture import Picture
from projections.status.state import came_back
from projections.status.view import Nature
from projections.status.waits.launch import PASS
from projections.status.waits.waiting import PATIENCE, Waiting

RETRIES = {
    "brake": "the brake on retries to be lifted",
    "retries-stopped": "retries to be allowed again",
    "observed": "someone to act: dispatch only observes here",
}
LIFTED = {
    "brake": "someone allows retries",
    "retries-stopped": "someone allows retries",
    "observed": "someone ends the observing",
}


def recovering(picture: Picture) -> list[Waiting]:
    """What an end of the newest submission waits for, until its answer is committed and carried out."""
    intent = picture.record.pending_requeue()
    if intent is not None:
        return [_requeue(picture, intent)]
    end = open_end(picture)
    if end is None:
        return []
    held, run = end
    if held is not None and run is not None and run.cause is not None and not run.cause.final:
        return [_accounting(held, run)]
    if retries_wait(picture) is not None:
        return [_kept(picture, held, run)]
    return [_answer(picture, held, run)]


def open_end(picture: Picture) -> tuple[ObjectRecord | None, RunRecord | None] | None:
    """The newest submission's end that nothing has answered yet: its object and run, both None if it never had any."""
    record = picture.record
    newest, held = record.newest, record.canonical()
    if record.over or newest is None or record.in_force or record.pending_requeue() is not None:
        return None
    if held is None:
        return (None, None) if record.closed(newest) else None
    if held.ignored:
        return None
    back = came_back(record, held)
    if back is not None:
        return held, back
    return (held, held.run_record(held.run)) if held.accounted else None


def retries_wait(picture: Picture) -> str | None:
    """Why the retry of an open end waits: `brake`, `retries-stopped` or `observed`."""
    if open_end(picture) is None:
        return None
    return picture.around.controls.retries_wait(picture.cluster, picture.now)


def _ended(held: ObjectRecord | None, run: RunRecord | None) -> str:
    if held is None:
        return "the newest submission came to nothing (launch-failed)"
    cause = run.cause if run is not None and run.cause is not None else held.cause
    name = words.execution(held, run.run if run is not None else held.run)
    return f"{name} ended by {words.cause_text(cause)}"


def _accounting(held: ObjectRecord, run: RunRecord) -> Waiting:
    return Waiting(
        what=f"accounting to say how {words.execution(held, run.run)} ended",
        since=run.ended_at,
        because=(f"so far: {words.cause_text(run.cause)}",),
        ends=("accounting answers", "a minute passes: then what is known decides"),
    )


def _kept(picture: Picture, held: ObjectRecord | None, run: RunRecord | None) -> Waiting:
    """A retry that controls keep: each of them has to go, and a brake alone goes by itself."""
    standing = picture.around.controls.standing_now(picture.cluster, picture.now)
    kept = [(control, why) for control in standing for why in control.stands(picture.now)]
    first, why = next(((c, w) for c, w in kept if w != "brake"), kept[0])
    until = max((c.brake_until_at for c in standing if c.brake_until_at is not None), default=None)
    ends = [" and ".join(dict.fromkeys(LIFTED[w] for _, w in kept))]
    if why == "brake" and until is not None:
        ends.append(f"at {words.stamp(until)}, if no new one comes")
    return Waiting(
        what=RETRIES[why],
        nature=Nature.BY_ITSELF if why == "brake" else Nature.NEEDS_A_PERSON,
        since=first.set_at or (run.ended_at if run else None),
        because=(_ended(held, run), *(_fact(control, why) for control, why in kept)),
        ends=tuple(ends),
        can=lifted_by(standing, picture.now),
    )


def _fact(control: Control, why: str) -> str:
    if why == "brake":
        return control.brake_cause or "many jobs ended at once"
    what = "retries stopped" if why == "retries-stopped" else "only observed"
    note = f': "{control.note}"' if control.note else ""
    return f"{what} on {scope_of(control)} by {control.set_by or 'someone'}{note}"


def _answer(picture: Picture, held: ObjectRecord | None, run: RunRecord | None) -> Waiting:
    return Waiting(
        what="what follows the end, by the recovery plan",
        since=picture.record.at,
        because=(_ended(held, run),),
        ends=(PASS,),
        patience=PATIENCE,
        momentary=True,
    )


def _requeue(picture: Picture, intent: RequeueIntent) -> Waiting:
    name = picture.called(intent.object)
    fact = f"rule {intent.rule} requeues run {intent.run} of {name}"
    if intent.call is None and picture.now < intent.not_before_at:
        until = words.stamp(intent.not_before_at)
        return Waiting(
            what=f"the pause before {name} is requeued", since=intent.at, because=(fact,), ends=(f"at {until}",)
        )
    call = picture.record.newest_call(intent)
    said = f"the requeue was sent {words.stamp(call.at)}" if call is not None else "the requeue is yet to be sent"
    return Waiting(
        what=f"{name} to be back at its gate",
        since=call.at if call is not None else max(intent.at, intent.not_before_at),
        because=(fact, said),
        ends=("a Find shows it at its gate",),
        patience=PATIENCE,
    )
