"""Histories written by hand: one method an event, chained, numbered and dated as replicas would.

    story = Story().submitted().authorized().attempt()
    ref = story.made("88213")

Nothing here judges or folds; a story may tell any lie. Time moves only by `later`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from streams.messages import events
from streams.messages.event_ids import event_id
from streams.messages.events import Entry, Envelope, Event, Quarantined, UnknownEvent
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec, Run, SlurmOptions
from streams.messages.values import (
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    Disposition,
    HoldKind,
    ObjectRef,
    Outcome,
    Phase,
    ReplyOutcome,
    Sighting,
    StopBasis,
    Tag,
    Target,
    Verb,
)

BEGIN = datetime(2026, 11, 29, 22, 8, tzinfo=UTC)
CALL_BOUND_S = 412
NODES = ("n14", "n15")
COMPLETED = Cause(kind=CauseKind.COMPLETED, exit_code=0)
PREEMPTED = Cause(kind=CauseKind.PREEMPTED)
STOPPED = Cause(kind=CauseKind.STOPPED)
CRASHED = Cause(kind=CauseKind.EXIT_CODE, exit_code=3, rank=1, nodes=("n15",))
PLAN = RecoveryPlan(
    rules=(
        PlanRule(name="crash", on=("exit-code", "signal"), do=PlanAction.REQUEUE, budget=2),
        PlanRule(name="preempted", on=("preempted",), do=PlanAction.RESUBMIT, budget=50),
        PlanRule(name="bad-node", on=("node-lost",), do=PlanAction.RESUBMIT, budget=5, avoid_nodes=True),
        PlanRule(name="rest", on=("any",), do=PlanAction.GIVE_UP),
    )
)


def spec(**fields: Any) -> JobSpec:
    """Two nodes of hpc2, one rank each."""
    run = Run(script="srun python -u train.py --resume auto\n")
    slurm = SlurmOptions(account="nlp", partition="a100")
    return JobSpec(cluster="hpc2", run=run, **{"nodes": 2, "stop_grace": 90, "slurm": slurm, **fields})


class Story:
    """One job's history under the pen."""

    def __init__(self, job: str = "llama-7b", tenant: str = "nlp", revision: int = 48189) -> None:
        self.tenant, self.job = tenant, job
        self.at = BEGIN
        self.entries: list[Entry] = []
        self.tags: dict[tuple[int, int], Tag] = {}
        self.calls = 0
        self._revision = revision

    # what stands on the bus

    @property
    def revision(self) -> int:
        return self.entries[-1].revision if self.entries else 0

    def later(self, seconds: float) -> Story:
        self.at += timedelta(seconds=seconds)
        return self

    def after(self, seconds: float) -> datetime:
        return self.at + timedelta(seconds=seconds)

    def append(self, event: Event, reason: Reason | None = None, **fields: Any) -> Story:
        """Store one event. Other jobs' events lie between, so revisions have gaps."""
        number = len(self.entries) + 1
        self._revision += 1 + number % 3
        envelope = {
            "id": event_id(self.at, number.to_bytes(10, "big")),
            "expected": self.revision,
            "at": self.at,
            "by": "replica:sv-b",
            **fields,
        }
        return self.store(Envelope(tenant=self.tenant, job=self.job, event=event, reason=reason, **envelope))

    def store(self, content: Envelope | Quarantined | UnknownEvent) -> Story:
        entry = Entry(
            tenant=self.tenant, job=self.job, revision=self._revision, stored_at=self.after(0.004), content=content
        )
        self.entries.append(entry)
        return self

    def strange(self, content: Quarantined | UnknownEvent) -> Story:
        self._revision += 1
        return self.store(content)

    # what people ask

    def submitted(self, plan: RecoveryPlan = PLAN, **fields: Any) -> Story:
        event = events.JobSubmitted(spec=spec(**fields), plan=plan, digest="9c1e" * 16)
        return self.append(event, Reason.SUBMITTED, command="c-8k2m", actor="ana", asked_at=self.after(-1))

    def cancelled(self, **fields: Any) -> Story:
        asked = {"command": "c-5xq1", "actor": "ana", "note": "wrong data mix", **fields}
        return self.append(events.JobCancelled(), Reason.PERSON_CANCEL, **asked)

    def hold_asked(self, instance: str = "c-2h4w") -> Story:
        event = events.HoldAsked(instance=instance, rule="person", kind=HoldKind.PERSON)
        return self.append(event, Reason.PERSON_HOLD, command=instance, actor="ana", note="debugging")

    def hold_lifted(self, *instances: str) -> Story:
        event = events.HoldLifted(instances=instances or ("c-2h4w",))
        return self.append(event, Reason.PERSON_RELEASE, command="c-3r7t", actor="ana")

    def disposed(self, target: Target, how: Disposition, rule: str = "person", **fields: Any) -> Story:
        event = events.TargetDisposed(target=target, disposition=how, rule=rule, **fields)
        if rule == "person":
            return self.append(event, Reason.PERSON_DISPOSED, command=f"c-{len(self.entries)}", actor="ana")
        return self.append(event, Reason.UNMATCHED_GIVEN_UP)

    # launch

    def authorized(
        self, submission: int = 1, rule: str = "submit", key: str = "submit/1.0", cause: Cause | None = None
    ) -> Story:
        event = events.SubmissionAuthorized(
            submission=submission, rule=rule, budget_key=key, cause=cause, not_before_at=self.at
        )
        return self.append(event, Reason.FIRST_SUBMISSION if submission == 1 else Reason.PLAN_RULE)

    def attempt(self, submission: int = 1, attempt: int = 1, *, call: int | None = None) -> Story:
        self.calls = call or self.calls + 1
        event = events.AttemptCommitted(
            submission=submission,
            attempt=attempt,
            call=self.calls,
            deadline_at=self.after(60),
            over_at=self.after(60 + CALL_BOUND_S),
        )
        self.append(event, Reason.LAUNCH if attempt == 1 else Reason.RETRY_AFTER_UNKNOWN)
        stored = self.entries[-1]
        assert isinstance(stored.content, Envelope)
        self.tags[submission, attempt] = Tag(
            installation="main",
            tenant=self.tenant,
            job=self.job,
            submission=submission,
            attempt=attempt,
            revision=stored.revision,
            nonce=stored.content.id,
        )
        return self

    def ref(self, name: str, submission: int = 1, attempt: int = 1) -> ObjectRef:
        """The object that this attempt made, or would have made."""
        return ObjectRef(cluster="hpc2", id=name, created=self.tags[submission, attempt].nonce)

    def foreign(self, name: str = "90112") -> ObjectRef:
        return ObjectRef(cluster="hpc2", id=name, created="2026-11-29T22:01:07")

    def made(self, name: str, submission: int = 1, attempt: int = 1) -> ObjectRef:
        """The newest Start replied done, and the first Find after it shows the object gated."""
        ref = self.ref(name, submission, attempt)
        self.replied(object=ref)
        self.later(9).seen((ref, Phase.GATED))
        return ref

    def canonical(self, ref: ObjectRef, submission: int = 1, attempt: int = 1) -> Story:
        event = events.CanonicalChosen(submission=submission, attempt=attempt, object=ref, as_of=self.at)
        return self.append(event, Reason.LOWEST_ATTEMPT)

    def retired(self, ref: ObjectRef, submission: int = 1, attempt: int = 1) -> Story:
        event = events.ObjectRetired(object=ref, submission=submission, attempt=attempt)
        return self.append(event, Reason.DUPLICATE)

    # calls and evidence

    def call(self, verb: Verb, ref: ObjectRef | None = None, reason: Reason = Reason.GATE_FREE, **fields: Any) -> Story:
        self.calls = fields.pop("call", self.calls + 1)
        writer = fields.pop("by", "replica:sv-b")
        times = {"deadline_at": self.after(30), "over_at": self.after(30 + CALL_BOUND_S), "as_of": self.at}
        event = events.CallCommitted(call=self.calls, verb=verb, object=ref, **{**times, **fields})
        return self.append(event, reason, by=writer)

    def opened(self, ref: ObjectRef, run: int = 0, **fields: Any) -> Story:
        """An Open intended, sent and done."""
        return self.call(Verb.OPEN, ref, run=run, **fields).replied()

    def replied(
        self,
        outcome: ReplyOutcome = ReplyOutcome.DONE,
        *,
        call: int | None = None,
        object: ObjectRef | None = None,
        retry: bool = False,
        detail: str = "",
    ) -> Story:
        number = call or self.calls
        return self.append(events.CallReplied(call=number, outcome=outcome, object=object, retry=retry, detail=detail))

    def look(self, ref: ObjectRef, phase: Phase, run: int = 0, **fields: Any) -> Sighting:
        tag = next((tag for tag in self.tags.values() if tag.nonce == ref.created), None)
        return Sighting(object=ref, tag=tag, phase=phase, run=run, **fields)

    def seen(self, *looks: Any, missing: tuple[ObjectRef, ...] = (), **fields: Any) -> Story:
        """One Find, begun now. A look is a Sighting, or (ref, phase), or (ref, phase, run)."""
        sightings = tuple(one if isinstance(one, Sighting) else self.look(*one) for one in looks)
        found = {"as_of": self.at, "read_revision": self.revision, **fields}
        return self.append(events.ObjectsSeen(sightings=sightings, missing=missing, **found))

    def running(self, ref: ObjectRef, run: int = 0) -> Story:
        return self.seen(self.look(ref, Phase.RUNNING, run, nodes=NODES))

    def ended(self, ref: ObjectRef, run: int = 0, cause: Cause = COMPLETED, **fields: Any) -> Story:
        return self.seen(self.look(ref, Phase.ENDED, run, cause=cause, **fields))

    def ceased(self, ref: ObjectRef, run: int = 0, **fields: Any) -> Story:
        word = {"answer": CessationAnswer.CEASED, "basis": CessationBasis.OBSERVED, "as_of": self.at, **fields}
        return self.append(events.CessationSeen(object=ref, run=run, **word))

    # ends

    def requeue_authorized(self, ref: ObjectRef, run: int, rule: str = "crash", cause: Cause | None = CRASHED) -> Story:
        event = events.RequeueAuthorized(
            object=ref, run=run, rule=rule, budget_key=f"{rule}/1.{run}", cause=cause, not_before_at=self.at
        )
        return self.append(event, Reason.PLAN_RULE)

    def verified(self, ref: ObjectRef, run: int = 0, basis: StopBasis = StopBasis.STOP_DONE_AND_ABSENT) -> Story:
        reasons = {
            StopBasis.STOP_DONE_AND_ABSENT: Reason.STOP_DONE_AND_ABSENT,
            StopBasis.PROCESSES_GONE: Reason.PROCESSES_GONE,
        }
        event = events.StopVerified(object=ref, run=run, basis=basis, as_of=self.at)
        return self.append(event, reasons[basis])

    def outcome(
        self,
        outcome: Outcome = Outcome.SUCCEEDED,
        submission: int = 1,
        cause: Cause = COMPLETED,
        rule: str = "completed",
    ) -> Story:
        event = events.OutcomeDecided(outcome=outcome, submission=submission, cause=cause, rule=rule)
        return self.append(event, Reason.COMPLETED if outcome is Outcome.SUCCEEDED else Reason.GIVE_UP)

    def settled(self, **fields: Any) -> Story:
        return self.append(events.JobSettled(**{"as_of": self.at, **fields}), Reason.ALL_CLAUSES_HOLD)


def launched(story: Story | None = None, name: str = "88213") -> tuple[Story, ObjectRef]:
    """Submission 1 with its one object, canonical and gated; nothing opened yet."""
    story = story or Story()
    if not story.entries:
        story.submitted()
    story.later(1).authorized().attempt()
    ref = story.later(1).made(name)
    return story.canonical(ref), ref


def run_once(story: Story | None = None, cause: Cause = COMPLETED) -> tuple[Story, ObjectRef]:
    """Submission 1 opened, run for an hour, seen ended by `cause` and proven gone."""
    story, ref = launched(story)
    story.opened(ref).later(30).running(ref).later(3600).ended(ref, cause=cause, nodes=NODES).later(5).ceased(ref)
    return story, ref


def next_submission(story: Story, number: int, rule: str, cause: Cause, name: str) -> ObjectRef:
    """Submission N authorized by a rule, its one object canonical and gated."""
    story.later(2).authorized(number, rule, f"{rule}/{number - 1}.0", cause).attempt(number)
    ref = story.later(1).made(name, number)
    story.canonical(ref, number)
    return ref


def both_gated(story: Story | None = None) -> tuple[Story, ObjectRef, ObjectRef]:
    """Two Starts landed, the first without a reply; one Find shows both objects, none is chosen."""
    story = (story or Story()).submitted().later(1).authorized().attempt()
    story.later(30).replied(ReplyOutcome.UNKNOWN).attempt(1, 2)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    return story.later(2).replied(object=two).later(9).seen((one, Phase.GATED), (two, Phase.GATED)), one, two
