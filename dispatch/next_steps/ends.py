"""How the newest submission ended, and which rule of the plan that meets. Pure questions."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from dispatch.next_steps import calls
from dispatch.situation import Situation
from projections.record import ObjectRecord, RequeueIntent, RunRecord, SubmissionRecord
from streams.messages.plan import ANY, NOT_IN_ANY, PlanAction, PlanRule, WhenSpent
from streams.messages.reasons import Reason
from streams.messages.values import Cause, CauseKind, HoldSeen, ObjectRef, Phase, Verb

ACCOUNTING_WAIT = timedelta(seconds=60)
AVOID_MAX = 64
STRANGE_HOLDS = (HoldSeen.ADMIN, HoldSeen.LAUNCH_FAILED, HoldSeen.SYSTEM)


class End(NamedTuple):
    """The end that has to be answered: of a run of the canonical object, or of a submission without any."""

    submission: int
    run: int
    cause: Cause
    object: ObjectRef | None

    @property
    def key(self) -> str:
        return f"{self.submission}.{self.run}"


def end_of(situation: Situation) -> End | None:
    """The end of the newest submission's present run, or None while it has none that counts."""
    newest = situation.newest
    if newest is None:
        return None
    held = situation.canonical
    if held is None:
        return _never_made(newest) if situation.record.closed(newest) else None
    if held.ignored:
        return None
    back = came_back(situation, held)
    if back is not None:
        return End(newest.number, back.run, _cause_back(situation, back), held.ref)
    if not situation.ended(held) or _comes_back(situation, held):
        return None
    run = held.run_record(held.run)
    cause = _cause(situation, held, run)
    if not cause.final and run is not None and run.ended_as_of is not None:
        if situation.as_of < run.ended_as_of + ACCOUNTING_WAIT:
            return None
    return End(newest.number, held.run, cause, held.ref)


def came_back(situation: Situation, held: ObjectRecord) -> RunRecord | None:
    """The run after which the object stands at its gate again though nobody ordered it, and nothing is decided.

    Kueue suspends what it preempts, Slurm holds what failed to launch: the next run needs the plan's word, and is
    never admitted where ranks that had finished would be left out.
    """
    seen = situation.shown.get(held.ref)
    over = [r for r in held.runs if r.begun and r.ended]
    if seen is None or seen.phase is not Phase.GATED or held.retired or not over:
        return None
    return None if situation.record.answered(held.ref, over[-1].run) and not seen.ranks_done else over[-1]


def _cause_back(situation: Situation, run: RunRecord) -> Cause:
    """Its cause; where nobody saw one, who alone can have brought the object back.

    Where our own call ended it and ranks had finished, it cannot go on as it was asked: that is for the plan as well.
    """
    cause = run.cause or Cause(kind=CauseKind.UNKNOWN)
    if cause.kind not in (CauseKind.UNKNOWN, CauseKind.STOPPED) or situation.capabilities.first_run == 0:
        return cause
    kind = CauseKind.STOPPED_OUTSIDE if situation.capabilities.gate_is_hold else CauseKind.PREEMPTED
    return replace(cause, kind=kind, raw={**cause.raw, "seen": "back at its gate"})


def _comes_back(situation: Situation, held: ObjectRecord) -> bool:
    """Whether a requeue that was authorized may still bring the object back: it can be sent, or can land."""
    intent = situation.record.pending_requeue()
    if intent is None:
        return False
    return sendable(situation, held, intent) or not calls.over(situation, held.ref, Verb.REQUEUE)


def sendable(situation: Situation, held: ObjectRecord, intent: RequeueIntent) -> bool:
    """Whether the requeue can still do what it was authorized for: its cause is still the last one (R9).

    A run that completed meanwhile is not run again, whoever asked.
    """
    if held.end_final or held.off_limits or situation.phase(held.ref) not in situation.capabilities.requeue_of:
        return False
    if not situation.ended(held):
        return True
    cause = _cause(situation, held, held.run_record(held.run))
    if intent.cause is None or cause.kind is CauseKind.COMPLETED:
        return cause.kind is not CauseKind.COMPLETED
    return (cause.kind, cause.exit_code) == (intent.cause.kind, intent.cause.exit_code)


def _ran_for(run: RunRecord | None) -> float | None:
    if run is None or run.started_as_of is None or run.ended_as_of is None:
        return None
    return (run.ended_as_of - run.started_as_of).total_seconds()


def _cause(situation: Situation, held: ObjectRecord, run: RunRecord | None) -> Cause:
    """The typed cause; a run that our own `start_within` stopped never started."""
    cause = run.cause if run is not None and run.cause is not None else held.cause
    cause = cause or Cause(kind=CauseKind.UNKNOWN)
    stops = situation.record.calls_on(held.ref, Verb.STOP)
    untold = cause.kind is CauseKind.UNKNOWN and (run is None or run.started_as_of is None)
    if (cause.kind is CauseKind.STOPPED or untold) and any(c.reason is Reason.START_WITHIN for c in stops):
        return replace(cause, kind=CauseKind.NEVER_STARTED)
    return cause


def _never_made(newest: SubmissionRecord) -> End:
    refusal = next((a.detail for a in newest.attempts if a.refused and a.detail), "")
    why = {"refusal": refusal} if refusal else {"unmatched": "every attempt was given up"}
    return End(newest.number, 0, Cause(kind=CauseKind.LAUNCH_FAILED, raw=why), None)


def fits(rule: PlanRule, cause: Cause) -> bool:
    """Whether the rule names this cause: by kind, or `any`, and by exit code where it lists some."""
    named = cause.kind.value in rule.on or (ANY in rule.on and cause.kind not in NOT_IN_ANY)
    if not named:
        return False
    codes = rule.exit_codes
    return not codes or cause.kind is not CauseKind.EXIT_CODE or cause.exit_code in codes


def rule_for(situation: Situation, cause: Cause, key: str = "") -> tuple[PlanRule | None, bool]:
    """The rule that answers this cause, and whether its budget is spent; None if no rule does.

    `key` is of the end that has to be answered: one that was paid for is not paid for again.
    """
    for rule in situation.record.plan.rules:
        if not fits(rule, cause):
            continue
        retries = rule.do in (PlanAction.RESUBMIT, PlanAction.REQUEUE)
        spent = retries and not has_budget(situation, rule) and not has_paid(situation, rule, key)
        if not spent or rule.when_spent is not WhenSpent.NEXT:
            return rule, spent
    return None, False


def has_budget(situation: Situation, rule: PlanRule) -> bool:
    return situation.record.uses.get(rule.name, 0) < (rule.budget or 0)


def has_paid(situation: Situation, rule: PlanRule, key: str) -> bool:
    """Whether the rule has paid for this end already, by a requeue that came to nothing."""
    return f"{rule.name}/{key}" in situation.record.keys


def wait_of(situation: Situation, rule: PlanRule) -> timedelta:
    """The backoff before the rule's next use: first × factor^uses, at most max."""
    return timedelta(seconds=rule.backoff.wait_s(situation.record.uses.get(rule.name, 0)))


def avoided(situation: Situation, rule: PlanRule, end: End) -> tuple[str, ...]:
    """Nodes the next submission keeps off: those of before, and those concerned by this end; oldest dropped."""
    newest = situation.newest
    before = newest.avoid_nodes if newest else ()
    concerned = end.cause.nodes if rule.avoid_nodes else ()
    return tuple(dict.fromkeys([*(n for n in before if n not in concerned), *concerned]))[-AVOID_MAX:]


def fails_fast(situation: Situation, end: End) -> bool:
    """The same exit soon after the start, on as many different nodes as the plan says."""
    limit = situation.record.plan.fast_fail
    if limit.off or end.cause.kind not in (CauseKind.EXIT_CODE, CauseKind.SIGNAL):
        return False
    nodes: set[str] = set()
    for held in situation.record.objects.values():
        for run in held.runs:
            ran = _ran_for(run)
            if run.cause is None or ran is None or ran > limit.within:
                continue
            same = (run.cause.kind, run.cause.exit_code, run.cause.signal)
            if same == (end.cause.kind, end.cause.exit_code, end.cause.signal):
                nodes.update(run.cause.nodes)
    return len(nodes) >= limit.nodes
