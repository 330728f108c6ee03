"""The record: what one job's history says, folded. Structs and questions, no change (that is `evolve`).

Everything here is derived from entries alone: two replicas at one revision hold equal records. A decision reads
the record and the Find of its own pass; nothing else.
"""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from projections.objects import ALIVE, ObjectRecord, RunRecord
from streams.messages.events import JobSubmitted
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec
from streams.messages.values import (
    AttemptRef,
    Cause,
    HoldKind,
    ObjectRef,
    Outcome,
    ReplyOutcome,
    Tag,
    Value,
    Verb,
)

__all__ = ["ALIVE", "ObjectRecord", "RunRecord"]

CLOSED = (ReplyOutcome.DONE, ReplyOutcome.REFUSED)
OPENING = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE)


class Accepted(NamedTuple):
    """A command that became an event: its revision, its number in the job, the event's type."""

    revision: int
    number: int
    event: str


class AttemptRecord(Value, frozen=True, kw_only=True):
    """One Start. `nonce` is the id of the `AttemptCommitted` at `revision`; both are on the object's tag."""

    submission: int
    attempt: int
    call: int
    revision: int
    nonce: str
    at: datetime
    deadline_at: datetime
    over_at: datetime
    reply: ReplyOutcome | None = None
    reply_revision: int = 0
    retry: bool = False
    detail: str = ""
    object: ObjectRef | None = None
    given_up: bool = False

    @property
    def refused(self) -> bool:
        """A clear refusal: this Start made nothing and asking again will not help."""
        return self.reply is ReplyOutcome.REFUSED and not self.retry

    @property
    def made_nothing(self) -> bool:
        """A clear reply says that nothing was done, for good or for now."""
        return self.reply is ReplyOutcome.REFUSED

    @property
    def unmatched(self) -> bool:
        """It may have made an object, and none is known."""
        return self.object is None and not self.made_nothing and not self.given_up

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(submission=self.submission, attempt=self.attempt)


class SubmissionRecord(Value, frozen=True, kw_only=True):
    """One submission: the rule and key that authorized it, its attempts, and the one object that stands for it."""

    number: int
    rule: str
    budget_key: str
    revision: int
    at: datetime
    not_before_at: datetime
    cause: Cause | None = None
    avoid_nodes: tuple[str, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    canonical: ObjectRef | None = None

    @property
    def exhausted(self) -> bool:
        """It has attempts, and each is refused or given up: no object will come of it."""
        counted = [a for a in self.attempts if not (a.made_nothing and a.retry)]
        return bool(counted) and all(a.refused or a.given_up for a in counted)


class CallRecord(Value, frozen=True, kw_only=True):
    """One committed call. Closed ones collapse: only the newest of a verb, object, run and reply is kept.

    `tries` counts those of this verb since anything new was last seen of the object.
    """

    call: int
    verb: Verb
    revision: int
    event_id: str
    at: datetime
    deadline_at: datetime
    over_at: datetime
    as_of: datetime
    reason: Reason | None = None
    object: ObjectRef | None = None
    run: int | None = None
    instances: tuple[str, ...] = ()
    tries: int = 1
    reply: ReplyOutcome | None = None
    reply_revision: int = 0
    retry: bool = False
    detail: str = ""

    @property
    def closed(self) -> bool:
        return self.reply in CLOSED

    @property
    def done(self) -> bool:
        return self.reply is ReplyOutcome.DONE

    def over(self, as_of: datetime) -> bool:
        """Whether it can no longer land, said by a Find begun at `as_of` on the scheduler's host (L10)."""
        return self.closed or as_of >= self.over_at

    def over_before(self, as_of: datetime, read_revision: int) -> bool:
        """Whether it was over before a Find began that was read at `read_revision`."""
        if self.revision > read_revision:
            return False
        return (self.closed and self.reply_revision <= read_revision) or as_of >= self.over_at


class HoldRecord(Value, frozen=True, kw_only=True):
    """One hold instance.

    `placed` and `released` are said only by a Find begun after every call that could change it was over.
    """

    instance: str
    kind: HoldKind
    rule: str
    revision: int
    at: datetime
    by: str = ""
    note: str = ""
    now: bool = False
    lifted: bool = False
    lifted_revision: int = 0
    lifted_by: str | None = None
    placed: bool = False
    released: bool = False


class RequeueIntent(Value, frozen=True, kw_only=True):
    """One requeue that was authorized. `call` is the newest sent for it; `dropped`: none will be sent any more."""

    object: ObjectRef
    run: int
    rule: str
    budget_key: str
    revision: int
    at: datetime
    not_before_at: datetime
    cause: Cause | None = None
    call: int | None = None
    dropped: bool = False


class CancelRecord(Value, frozen=True, kw_only=True):
    """How far a cancel got; `number` is the event's number in the job."""

    revision: int
    number: int
    at: datetime
    asked_at: datetime | None = None
    command: str | None = None
    by: str = ""
    note: str = ""
    first: int | None = None
    second: int | None = None
    stopped: bool = False
    stopped_number: int = 0
    stopped_at: datetime | None = None
    complete: bool = False
    complete_number: int = 0
    complete_at: datetime | None = None


class OutcomeRecord(Value, frozen=True, kw_only=True):
    """How the job ended, by which cause, rule and reason."""

    outcome: Outcome
    submission: int
    cause: Cause
    rule: str
    reason: Reason | None
    revision: int
    at: datetime


class Strange(NamedTuple):
    """A message that stops decisions: quarantined bytes, or a type this release does not know."""

    revision: int
    number: int
    text: str
    upgrade: bool


class Record(Value, frozen=True, kw_only=True):
    """The fold of one job's history up to `revision`; `number` entries so far."""

    tenant: str
    job: str
    revision: int = 0
    number: int = 0
    at: datetime | None = None
    ids: frozenset[str] = frozenset()
    intents: dict[int, str] = {}
    strange: tuple[Strange, ...] = ()
    waived: frozenset[int] = frozenset()
    commands: dict[str, Accepted] = {}
    submitted: JobSubmitted | None = None
    submitted_at: datetime | None = None
    submitted_by: str = ""
    submissions: tuple[SubmissionRecord, ...] = ()
    objects: dict[ObjectRef, ObjectRecord] = {}
    calls: dict[int, CallRecord] = {}
    calls_made: int = 0
    keys: frozenset[str] = frozenset()
    uses: dict[str, int] = {}
    holds: dict[str, HoldRecord] = {}
    requeues: tuple[RequeueIntent, ...] = ()
    cancel: CancelRecord | None = None
    outcome: OutcomeRecord | None = None
    settled: bool = False
    settled_number: int = 0
    settled_at: datetime | None = None
    as_of: datetime | None = None
    owner: str = ""

    @property
    def empty(self) -> bool:
        return self.number == 0

    @property
    def spec(self) -> JobSpec | None:
        return self.submitted.spec if self.submitted else None

    @property
    def plan(self) -> RecoveryPlan:
        return self.submitted.plan if self.submitted else RecoveryPlan()

    @property
    def newest(self) -> SubmissionRecord | None:
        return self.submissions[-1] if self.submissions else None

    @property
    def over(self) -> bool:
        """An outcome stands: nothing is authorized any more (L2)."""
        return self.cancel is not None or self.outcome is not None

    @property
    def in_force(self) -> tuple[HoldRecord, ...]:
        return tuple(h for h in self.holds.values() if not h.lifted)

    @property
    def wanted(self) -> str:
        if self.cancel is not None:
            return "cancelled"
        return "held" if self.in_force else "run"

    @property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        return tuple(a for s in self.submissions for a in s.attempts)

    def submission(self, number: int) -> SubmissionRecord | None:
        return self.submissions[number - 1] if 0 < number <= len(self.submissions) else None

    def attempt(self, submission: int, attempt: int) -> AttemptRecord | None:
        held = self.submission(submission)
        return next((a for a in held.attempts if a.attempt == attempt), None) if held else None

    def attempt_of(self, tag: Tag | None) -> AttemptRecord | None:
        """Our attempt that this tag names, by revision and event id; None for anything else (L14, R10)."""
        if tag is None or (tag.tenant, tag.job) != (self.tenant, self.job):
            return None
        held = self.attempt(tag.submission, tag.attempt)
        return held if held and (held.revision, held.nonce) == (tag.revision, tag.nonce) else None

    def closed(self, submission: SubmissionRecord) -> bool:
        """Given up, by rule or person: its objects are retired on sight and never chosen."""
        if submission.canonical is not None:
            return False
        return submission.number < len(self.submissions) or submission.exhausted

    @property
    def adoptable(self) -> tuple[AttemptRecord, ...]:
        """Unmatched attempts that a foreign object may be said to answer, lowest first.

        Of the newest submission, while it has no canonical object, and below any that has one: what answers another
        would be retired as a duplicate, and stopped.
        """
        newest = self.newest
        if newest is None or newest.canonical is not None:
            return ()
        first = takewhile(lambda a: a.object is None or a.given_up, newest.attempts)
        return tuple(a for a in first if a.unmatched)

    def canonical(self) -> ObjectRecord | None:
        """The canonical object of the newest submission."""
        newest = self.newest
        return self.objects.get(newest.canonical) if newest and newest.canonical else None

    def calls_on(self, ref: ObjectRef, *verbs: Verb) -> tuple[CallRecord, ...]:
        return tuple(c for c in self.calls.values() if c.object == ref and c.verb in verbs)

    def opened(self, ref: ObjectRef) -> bool:
        """Whether an Open of the object was committed since its last requeue, refused ones of either apart."""

        def newest(*verbs: Verb) -> int:
            return max(
                (c.revision for c in self.calls_on(ref, *verbs) if c.reply is not ReplyOutcome.REFUSED), default=0
            )

        opens, back = newest(Verb.OPEN, Verb.ADMIT), newest(Verb.REQUEUE)
        return opens > back

    def pending_requeue(self) -> RequeueIntent | None:
        """The requeue that is authorized and not known to be carried out, if its job is still wanted."""
        if self.over or not self.requeues:
            return None
        last = self.requeues[-1]
        newest = self.newest
        if newest is None or last.object != newest.canonical:
            return None
        held = self.objects.get(last.object)
        if held is None or held.run > last.run:
            return None
        return None if self.came_to_nothing(last) else last

    def newest_call(self, intent: RequeueIntent) -> CallRecord | None:
        """The call that was last committed for this requeue; None before the first."""
        return self.calls.get(intent.call) if intent.call is not None else None

    def surely_unsent(self, intent: RequeueIntent) -> bool:
        """Whether nothing of this requeue can have landed: no call of it, or its newest was refused."""
        call = self.newest_call(intent)
        return intent.call is None or (call is not None and call.reply is ReplyOutcome.REFUSED)

    def came_to_nothing(self, intent: RequeueIntent) -> bool:
        """Whether this requeue will never be carried out: dropped, or its newest call refused for good.

        The newest alone tells: a repeat is committed only where a Find showed that the one before had no effect.
        """
        call = self.newest_call(intent)
        return intent.dropped or (call is not None and call.reply is ReplyOutcome.REFUSED and not call.retry)

    def answered(self, ref: ObjectRef, run: int) -> bool:
        """Whether the object may run again after this run: a requeue of it is ordered, or a hold of ours took it off.

        Neither counts once it came to nothing: then the run ended by itself, and that end needs the plan's word.
        """
        if any((i.object, i.run) == (ref, run) and not self.came_to_nothing(i) for i in self.requeues):
            return True
        holds = [c for c in self.calls_on(ref, Verb.HOLD) if c.run == run]
        newest = max(holds, key=lambda c: c.call, default=None)
        return any(c.done for c in holds) or (newest is not None and newest.reply is not ReplyOutcome.REFUSED)
