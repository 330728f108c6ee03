"""Submit and cancel: how a job begins and how a person ends it."""

from __future__ import annotations

from dispatch.decide.answers import Already, Answered, Decided, Facts, Refused
from projections.record import Record
from streams.codec import digest_of
from streams.messages.calls import Capabilities
from streams.messages.checks import cluster_faults
from streams.messages.commands import CancelJob, IfUnknown, SubmitJob
from streams.messages.events import JobCancelled, JobSubmitted
from streams.messages.plan import RULE_HOLD, PlanAction, RecoveryPlan, default_plan
from streams.messages.reasons import Reason, RefusalCode


def submit(record: Record, command: SubmitJob, facts: Facts) -> Answered:
    """A new job; the first receipt again for the same spec under the same name, a refusal for another."""
    asked = digest_of(command.spec, command.plan)
    if record.submitted is not None:
        first = next((a for a in record.commands.values() if a.event == "JobSubmitted"), None)
        if record.submitted.digest == asked and first is not None:
            return Already(first.revision, first.number)
        return Refused(
            RefusalCode.SPEC_DIFFERS,
            f'job "{record.job}" exists with another spec: submit under a new name (--new)',
            first.revision if first else None,
        )
    if record.cancel is not None:
        return Refused(
            RefusalCode.JOB_CANCELLED,
            f'"{record.job}" was cancelled before it was submitted: submit under a new name (--new)',
            record.cancel.revision,
        )
    if not record.empty:
        return Refused(RefusalCode.SPEC_DIFFERS, f'"{record.job}" has a history without a submit: use a new name')
    able = facts.capabilities
    if able is None:
        return Refused(
            RefusalCode.UNKNOWN_CLUSTER,
            f'no agent or supervisor serves cluster "{command.spec.cluster}": check the name, or start its agent',
        )
    if command.spec.hold is not None and command.command.startswith(RULE_HOLD):
        return Refused(
            RefusalCode.INSTANCE_USED,
            f'"{command.command}" would name the hold like one of a rule: use another command id',
        )
    plan = command.plan or default_plan(requeue_preempted=bool(able.requeue_of))
    fault = plan_fault(plan, able, command.spec.cluster)
    if fault is not None:
        return Refused(RefusalCode.PLAN_UNSUPPORTED, fault)
    short = cluster_faults(command.spec, able)
    if short:
        return Refused(RefusalCode.INVALID_SPEC, f"{short[0].wire_path}: {short[0].sentence}")
    return Decided(JobSubmitted(spec=command.spec, plan=plan, digest=asked), Reason.SUBMITTED)


def plan_fault(plan: RecoveryPlan, able: Capabilities, cluster: str) -> str | None:
    """Why this cluster cannot carry out the plan, or None."""
    if able.read_only:
        return f'cluster "{cluster}" is read-only: nothing can be started there'
    for number, rule in enumerate(plan.rules, 1):
        if rule.do is PlanAction.REQUEUE and not able.requeue_of:
            return f"recovery[{number}].do: {cluster} cannot requeue; use resubmit"
    return None


def cancel(record: Record, command: CancelJob) -> Answered:
    """The job's end by a person's order, in one event and final (L2); for a name never seen, as the command says."""
    if record.empty and command.if_unknown is IfUnknown.RECORD:
        return Decided(JobCancelled(), Reason.CANCEL_OF_UNKNOWN)
    if record.empty:
        return Refused(
            RefusalCode.NO_SUCH_JOB,
            f'no job "{record.job}" was ever submitted; --if-unknown record cancels a submit still on its way',
        )
    if record.cancel is not None:
        return Already(record.cancel.revision, record.cancel.number)
    if record.outcome is not None:
        return Refused(
            RefusalCode.OUTCOME_DECIDED,
            f"the job has already {record.outcome.outcome.value} ({record.outcome.cause.kind.value})",
            record.outcome.revision,
        )
    lifted = tuple(h.instance for h in record.in_force)
    pending = record.pending_requeue()
    dropped = (pending.budget_key,) if pending is not None and pending.call is None else ()
    return Decided(JobCancelled(lifted=lifted, dropped=dropped), Reason.PERSON_CANCEL)
