"""Hold, release, requeue and controls: a person's orders about further runs."""

from __future__ import annotations

from datetime import datetime

from dispatch.decide.answers import Answered, Decided, Facts, Refused
from projections.controls import Control
from projections.record import ObjectRecord, Record
from streams.messages.commands import HoldJob, ReleaseJob, RequeueJob, Retries, SetControls
from streams.messages.events import ControlsSet, HoldAsked, HoldLifted, RequeueAuthorized, SubmissionAuthorized
from streams.messages.plan import PERSON, RULE_HOLD
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.values import CauseKind, Disposition, HoldKind, Phase


def outcome_stands(record: Record) -> Refused | None:
    """The refusal of anything that needs a job still wanted, or None."""
    if record.submitted is None and record.cancel is None:
        return Refused(RefusalCode.NO_SUCH_JOB, f'no job "{record.job}" was ever submitted: check the name')
    if record.cancel is not None:
        return Refused(RefusalCode.OUTCOME_DECIDED, "the job is cancelled, and that is final", record.cancel.revision)
    if record.outcome is not None:
        return Refused(
            RefusalCode.OUTCOME_DECIDED,
            f"the job has already {record.outcome.outcome.value}; submit it again as a new job (--from)",
            record.outcome.revision,
        )
    return None


def hold(record: Record, command: HoldJob, facts: Facts) -> Answered:
    """One more hold instance: no further run begins while it is in force."""
    stands = outcome_stands(record)
    if stands is not None:
        return stands
    instance = command.instance or command.command
    if instance in record.holds or instance.startswith(RULE_HOLD):
        return Refused(RefusalCode.INSTANCE_USED, f'a hold "{instance}" was asked before: choose another instance name')
    if command.now and not _can_hold_now(facts):
        why = "this cluster cannot end a run in progress and keep its object: hold without --now"
        silent = "its cluster does not answer: try again, or hold without --now"
        return Refused(RefusalCode.NO_HOLD_NOW, why if facts.capabilities is not None else silent)
    event = HoldAsked(instance=instance, rule=PERSON, kind=HoldKind.PERSON, now=command.now)
    return Decided(event, Reason.PERSON_HOLD)


def _can_hold_now(facts: Facts) -> bool:
    able = facts.capabilities
    return able is not None and (Phase.RUNNING in able.requeue_of or able.hold_ends_run)


def release(record: Record, command: ReleaseJob) -> Answered:
    """The instances named, or every one that a person asked for, no longer in force."""
    stands = outcome_stands(record)
    if stands is not None:
        return stands
    in_force = {h.instance: h for h in record.in_force}
    if command.instances:
        unknown = [i for i in command.instances if i not in in_force]
        if unknown:
            return Refused(
                RefusalCode.NOTHING_TO_LIFT, f'no hold "{unknown[0]}" is in force: {_listed(tuple(in_force))}'
            )
        return Decided(HoldLifted(instances=command.instances), Reason.PERSON_RELEASE)
    mine = tuple(name for name, h in in_force.items() if h.kind is HoldKind.PERSON)
    if not mine:
        return Refused(RefusalCode.NOTHING_TO_LIFT, f"no hold by a person is in force: {_listed(tuple(in_force))}")
    return Decided(HoldLifted(instances=mine), Reason.PERSON_RELEASE)


def _listed(instances: tuple[str, ...]) -> str:
    return f"in force: {', '.join(instances)} (release with --instance)" if instances else "none is"


def requeue(record: Record, command: RequeueJob, facts: Facts) -> Answered:
    """A person's order to run again. No rule's budget is used."""
    stands = outcome_stands(record)
    if stands is not None:
        return stands
    held = record.canonical()
    current = held.run if held is not None else 0
    if held is not None and command.run != current:
        return Refused(RefusalCode.OTHER_RUN, f"run {current} is current, not {command.run}: look again, then repeat")
    if command.resubmit:
        return _resubmit(record, command, facts.now)
    refusal = _requeue_refusal(record, held, facts)
    if refusal is not None or held is None:
        return refusal or Refused(RefusalCode.RUN_IS_OVER, "the job has no object yet: there is nothing to requeue")
    event = RequeueAuthorized(
        object=held.ref,
        run=held.run,
        rule=PERSON,
        budget_key=f"person/{command.command}",
        not_before_at=facts.now,
    )
    return Decided(event, Reason.PERSON_REQUEUE)


def _resubmit(record: Record, command: RequeueJob, now: datetime) -> Answered:
    newest = record.newest
    if newest is None or (newest.canonical is None and not record.closed(newest)):
        return Refused(
            RefusalCode.RUN_IS_OVER, "the newest submission is still being launched: wait for it, or cancel the job"
        )
    event = SubmissionAuthorized(
        submission=newest.number + 1,
        rule=PERSON,
        budget_key=f"person/{command.command}",
        avoid_nodes=newest.avoid_nodes,
        not_before_at=now,
    )
    return Decided(event, Reason.PERSON_RESUBMIT)


def _requeue_refusal(record: Record, held: ObjectRecord | None, facts: Facts) -> Refused | None:
    able = facts.capabilities
    if able is None or not able.requeue_of:
        why = "its cluster does not answer: try again" if able is None else "this cluster cannot requeue"
        return Refused(RefusalCode.NO_REQUEUE, f"{why}, or use --resubmit")
    pending = record.pending_requeue()
    if pending is not None:
        return Refused(
            RefusalCode.RUN_IS_OVER, f"a requeue of run {pending.run} is already on its way", pending.revision
        )
    if held is not None and held.disposition in (Disposition.IGNORE, Disposition.STOP):
        return Refused(
            RefusalCode.NO_REQUEUE, f"someone told dispatch to {held.disposition.value} {held.ref.id}: use --resubmit"
        )
    if held is None or held.retired or held.end_final:
        return Refused(RefusalCode.RUN_IS_OVER, "its object has ended for good: use --resubmit")
    if held.phase is Phase.ENDED and held.cause is not None and held.cause.kind is CauseKind.COMPLETED:
        return Refused(RefusalCode.RUN_IS_OVER, "its run has completed")
    if held.ranks_done:
        return Refused(
            RefusalCode.NO_REQUEUE, f"{held.ranks_done} ranks have finished and would be left out: use --resubmit"
        )
    if held.phase not in able.requeue_of:
        return Refused(
            RefusalCode.RUN_IS_OVER, f"its object is {held.phase.value}; only a run that is on or over can be requeued"
        )
    return None


def controls(command: SetControls, facts: Facts) -> Answered:
    """Whole values, from those that stand and the change asked for."""
    standing = facts.controls.standing(command.cluster)
    wanted = _wanted(command, standing)
    if wanted == ControlsSet(
        cluster=command.cluster,
        retries=standing.retries,
        brake_until_at=standing.brake_until_at,
        brake_cause=standing.brake_cause,
        observe=standing.observe,
    ):
        return Refused(RefusalCode.NO_CHANGE, "the controls already stand as asked")
    return Decided(wanted, Reason.PERSON_CONTROLS)


def _wanted(command: SetControls, standing: Control) -> ControlsSet:
    clear = command.brake is not None or command.retries is Retries.ON
    retries = standing.retries if command.retries is None else command.retries is Retries.ON
    return ControlsSet(
        cluster=command.cluster,
        retries=retries,
        brake_until_at=None if clear else standing.brake_until_at,
        brake_cause="" if clear else standing.brake_cause,
        observe=standing.observe if command.observe is None else command.observe,
    )
