"""The tables of a status: submissions, objects, executions, budgets, holds, calls, cancel and outcome."""

from __future__ import annotations

from projections.record import AttemptRecord, CallRecord, CancelRecord, ObjectRecord, RunRecord
from projections.sightings import waiting_nodes
from projections.status import words
from projections.status.picture import Picture
from projections.status.state import foreign_hold, open_sent, running_run
from projections.status.view import (
    AttemptView,
    BudgetView,
    CallView,
    CancelView,
    ExecutionView,
    HoldView,
    ObjectView,
    OutcomeView,
    StageView,
    SubmissionView,
)
from projections.status.waits.closing import blocked_by
from streams.messages.values import CessationBasis, Disposition, HoldKind, HoldSeen, ObjectRef, Phase, epoch_of

BY_HAND = {HoldSeen.USER: HoldKind.PERSON.value}


def submissions_of(picture: Picture) -> tuple[SubmissionView, ...]:
    return tuple(
        SubmissionView(
            n=s.number,
            rule=s.rule,
            budget_key=s.budget_key,
            attempts=tuple(_attempt(a) for a in s.attempts),
            canonical=s.canonical.id if s.canonical else None,
        )
        for s in picture.record.submissions
    )


def _attempt(attempt: AttemptRecord) -> AttemptView:
    reply = "given-up" if attempt.given_up else attempt.reply.value if attempt.reply else None
    return AttemptView(n=attempt.attempt, reply=reply, object=attempt.object.id if attempt.object else None)


# objects and their executions


def objects_of(picture: Picture) -> tuple[ObjectView, ...]:
    return tuple(
        ObjectView(
            id=held.ref.id,
            uid=held.ref.created,
            role=role_of(picture, held),
            state=object_state(held),
            since=held.missing_at if held.missing else held.since,
            cause=held.cause.kind.value if held.cause else None,
        )
        for held in picture.record.objects.values()
    )


def role_of(picture: Picture, held: ObjectRecord) -> str:
    """What the object is to the job."""
    if held.ignored:
        return "ignored"
    if held.foreign:
        return "foreign"
    if held.retired:
        return "retired"
    submission = picture.record.submission(held.submission or 0)
    return "canonical" if submission is not None and submission.canonical == held.ref else "candidate"


def object_state(held: ObjectRecord) -> str:
    """Its phase as last seen, or what is known where the scheduler shows nothing."""
    if held.disposed_gone:
        return "disposed-gone"
    if held.verified is not None:
        return "verified-stopped"
    if held.missing and not held.accounted:
        return "missing"
    return "unseen" if held.as_of is None else held.phase.value


def executions_of(picture: Picture) -> tuple[ExecutionView, ...]:
    """Every run that began or may have, in order of its epoch."""
    runs = [(held, run) for held in picture.record.objects.values() for run in held.runs if _told(run)]
    views = [_execution(held, run) for held, run in runs]
    return tuple(sorted(views, key=lambda view: (view.epoch, view.object)))


def _told(run: RunRecord) -> bool:
    return run.begun and (run.started_at is not None or bool(run.nodes) or run.ended)


def _execution(held: ObjectRecord, run: RunRecord) -> ExecutionView:
    return ExecutionView(
        id=words.execution(held, run.run),
        epoch=epoch_of(held.submission or 0, run.run),
        object=held.ref.id,
        nodes=run.nodes,
        started_at=run.started_at,
        ended_at=run.ended_at,
        cause=run.cause.kind.value if run.cause else None,
        raw=run.cause.raw if run.cause else {},
        processes=processes_of(held, run),
    )


def processes_of(held: ObjectRecord, run: RunRecord) -> str:
    """What is known of its processes: seen gone, taken for gone on whose word, or where they may be alive."""
    if run.proven:
        if run.basis is CessationBasis.PRESUMED:
            return "presumed gone"
        if run.attested or run.basis is CessationBasis.OPERATOR:
            where = f" on {words.nodes_text(run.attested)}" if run.attested else ""
            return f"gone; attested by {run.attested_by or 'an operator'}{where}"
        return "proven gone"
    if held.disposed_gone:
        return "taken for gone, by a person"
    if not run.ended and not held.accounted and not held.missing:
        return "running"
    nodes = waiting_nodes(run)
    return f"may be alive on {words.nodes_text(nodes)}" if nodes else "may be alive"


# budgets, holds, gate, calls


def budgets_of(picture: Picture) -> tuple[BudgetView, ...]:
    """Every rule with a budget of its own, in the order of the plan."""
    record = picture.record
    return tuple(
        BudgetView(
            rule=rule.name,
            used=record.uses.get(rule.name, 0),
            of=rule.budget,
            next_wait_s=rule.backoff.wait_s(record.uses.get(rule.name, 0)),
        )
        for rule in record.plan.rules
        if rule.budget is not None
    )


def holds_of(picture: Picture) -> tuple[HoldView, ...]:
    """Instances in force, and what the scheduler shows beside them (R20)."""
    record = picture.record
    views = [
        HoldView(
            kind=h.kind.value,
            instance=h.instance,
            by=h.by if h.kind is HoldKind.PERSON else h.rule,
            reason=h.note,
            since=h.at,
            on_object=h.placed,
        )
        for h in record.in_force
    ]
    held = record.canonical()
    strange = foreign_hold(record)
    if held is not None and strange is not None:
        views.append(
            HoldView(
                kind=BY_HAND.get(strange, strange.value),
                instance=None,
                by="",
                reason=picture.detail.get(held.ref, ""),
                since=held.since,
                on_object=True,
            )
        )
    return tuple(views)


def gate_of(picture: Picture) -> str:
    """The newest submission's gate: `none` (no object), `shut`, `opening` (asked, not seen) or `open`."""
    record = picture.record
    held = record.canonical()
    if held is None or held.accounted:
        return "none"
    if held.phase in (Phase.QUEUED, Phase.RUNNING) or running_run(record) is not None:
        return "open"
    return "shut" if open_sent(record, held) is None else "opening"


def calls_of(picture: Picture) -> tuple[CallView, ...]:
    """Every call that may still land, oldest first."""
    starts = [
        (
            a.call,
            CallView(
                kind="start",
                sent_at=a.at,
                deadline_at=a.deadline_at,
                over_at=a.over_at,
                outcome=a.reply.value if a.reply else None,
            ),
        )
        for a in picture.landing()
    ]
    calls = [(c.call, _call(c)) for c in picture.record.calls.values() if not c.closed and not picture.over(c.over_at)]
    return tuple(view for _, view in sorted([*starts, *calls], key=lambda pair: pair[0]))


def _call(call: CallRecord) -> CallView:
    return CallView(
        kind=call.verb.value,
        sent_at=call.at,
        deadline_at=call.deadline_at,
        over_at=call.over_at,
        outcome=call.reply.value if call.reply else None,
    )


def avoids_of(picture: Picture) -> tuple[str, ...]:
    """The nodes that the newest submission keeps off."""
    newest = picture.record.newest
    return newest.avoid_nodes if newest else ()


# cancel and outcome


def cancel_of(picture: Picture) -> CancelView | None:
    """How far the cancel got, or None if nobody asked for one."""
    cancel = picture.record.cancel
    if cancel is None:
        return None
    return CancelView(
        asked_at=cancel.asked_at or cancel.at,
        committed=StageView(number=cancel.number, at=cancel.at),
        stopped=_stopped(cancel),
        complete=_complete(cancel),
        blocked_by=blocked_by(picture),
    )


def _stopped(cancel: CancelRecord) -> StageView | None:
    if not cancel.stopped or cancel.stopped_at is None:
        return None
    return StageView(number=cancel.stopped_number, at=cancel.stopped_at)


def _complete(cancel: CancelRecord) -> StageView | None:
    if not cancel.complete or cancel.complete_at is None:
        return None
    return StageView(number=cancel.complete_number, at=cancel.complete_at)


def outcome_of(picture: Picture) -> OutcomeView | None:
    """The outcome that stands, a cancel included, or None."""
    record = picture.record
    if record.cancel is not None:
        return OutcomeView(outcome="cancelled", cause=None, rule="person", submission=None, at=record.cancel.at)
    decided = record.outcome
    if decided is None:
        return None
    return OutcomeView(
        outcome=decided.outcome.value,
        cause=decided.cause.kind.value,
        rule=decided.rule,
        submission=decided.submission,
        at=decided.at,
    )


def note_of(picture: Picture, ref: ObjectRef) -> str:
    """The last column of the objects' table: the cause in full, or how the object came to be known."""
    held = picture.record.objects.get(ref)
    if held is None:
        return ""
    cause = words.cause_text(held.cause) if held.cause is not None else ""
    attempt = picture.record.attempt(held.submission or 0, held.attempt or 0)
    notes = [cause] if cause else []
    if held.retired:
        notes.append("retired" if held.runs else "retired; never ran")
    elif attempt is not None and attempt.reply is not None and attempt.reply.value == "unknown":
        notes.append("reply lost, found by its tag")
    if held.disposition is not None and held.disposition is not Disposition.ADOPT:
        notes.append(f"a person: {held.disposition.value}")
    return "; ".join(notes)
