"""The eighteen events of a job's subject and their envelope.

Fourteen decisions, three kinds of evidence, one on the controls subject. The type says which; there is no
field for it. Past tense, one struct each, frozen, never edited once released (L15).
"""

from __future__ import annotations

import msgspec

from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec
from streams.messages.values import (
    Cause,
    CessationAnswer,
    CessationBasis,
    Disposition,
    EventId,
    HoldKind,
    Instant,
    NodeState,
    Note,
    ObjectRef,
    Outcome,
    ReplyOutcome,
    Sighting,
    StopBasis,
    Target,
    Token,
    Verb,
)

ENVELOPE_VERSION = 1


class EventBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of the events; the tag is the class name."""


class Decision(EventBase, frozen=True, kw_only=True):
    """An event that authorizes something: a conflict ends the pass (L5)."""


class Evidence(EventBase, frozen=True, kw_only=True):
    """An event that says what was seen: never refused (L6)."""


class JobSubmitted(Decision, frozen=True, kw_only=True, tag=True):
    """The job exists, and this is what was asked."""

    spec: JobSpec
    plan: RecoveryPlan
    digest: str


class SubmissionAuthorized(Decision, frozen=True, kw_only=True, tag=True):
    """Submission N may be launched, by this rule and this budget key, which pays once (L7)."""

    submission: int
    rule: str
    budget_key: str
    not_before_at: Instant
    cause: Cause | None = None
    avoid_nodes: tuple[str, ...] = ()


class RequeueAuthorized(Decision, frozen=True, kw_only=True, tag=True):
    """That run may end and its object return to the gate, by this rule and this budget key (L7)."""

    object: ObjectRef
    run: int
    rule: str
    budget_key: str
    not_before_at: Instant
    cause: Cause | None = None


class AttemptCommitted(Decision, frozen=True, kw_only=True, tag=True):
    """A Start of the submission may be sent, once. The object it makes carries this event's revision and id (L14)."""

    submission: int
    attempt: int
    call: int
    deadline_at: Instant
    over_at: Instant


class CanonicalChosen(Decision, frozen=True, kw_only=True, tag=True):
    """This object alone stands for the submission; never recomputed (L8)."""

    submission: int
    attempt: int
    object: ObjectRef
    as_of: Instant


class ObjectRetired(Decision, frozen=True, kw_only=True, tag=True):
    """This object will never run: another is canonical, or its submission is closed."""

    object: ObjectRef
    submission: int
    attempt: int


class CallCommitted(Decision, frozen=True, kw_only=True, tag=True):
    """This call may be sent, once (L7). `as_of` is of the Find it was decided from, for `verify` to check L10."""

    call: int
    verb: Verb
    deadline_at: Instant
    over_at: Instant
    as_of: Instant
    object: ObjectRef | None = None
    run: int | None = None
    instances: tuple[Token, ...] = ()


class HoldAsked(Decision, frozen=True, kw_only=True, tag=True):
    """No further run starts while this instance is in force."""

    instance: Token
    rule: str
    kind: HoldKind
    now: bool = False


class HoldLifted(Decision, frozen=True, kw_only=True, tag=True):
    """These instances are no longer in force."""

    instances: tuple[Token, ...]


class JobCancelled(Decision, frozen=True, kw_only=True, tag=True):
    """The job is over by a person's order: outcome, holds and intents at once (L2)."""

    lifted: tuple[Token, ...] = ()
    dropped: tuple[str, ...] = ()


class OutcomeDecided(Decision, frozen=True, kw_only=True, tag=True):
    """How the job ended, by which cause and which rule."""

    outcome: Outcome
    submission: int
    cause: Cause
    rule: str


class TargetDisposed(Decision, frozen=True, kw_only=True, tag=True):
    """A person or a rule decided about this target. `as_of` None: without a Find (a message)."""

    target: Target
    disposition: Disposition
    rule: str
    submission: int | None = None
    attempt: int | None = None
    as_of: Instant | None = None


class StopVerified(Decision, frozen=True, kw_only=True, tag=True):
    """An object never seen ended is accounted for: its stop was done and it is gone, or its processes are."""

    object: ObjectRef
    run: int
    basis: StopBasis
    as_of: Instant


class JobSettled(Decision, frozen=True, kw_only=True, tag=True):
    """Every object is accounted for (L3). Afterwards only evidence and stops of unauthorized runs follow."""

    as_of: Instant | None = None


class CallReplied(Evidence, frozen=True, kw_only=True, tag=True):
    """What a call answered. `retry` true: nothing was done, a new intent may follow (`Unreachable`, `PodsRemain`)."""

    call: int
    outcome: ReplyOutcome
    object: ObjectRef | None = None
    retry: bool = False
    detail: str = ""


class ObjectsSeen(Evidence, frozen=True, kw_only=True, tag=True):
    """What a complete Find showed that the record did not hold.

    `sightings` holds only those that changed; `missing`: recorded, not ended, absent: never an end.
    `read_revision` was folded before the Find began; the Find can cover nothing later.
    """

    as_of: Instant
    read_revision: int
    sightings: tuple[Sighting, ...] = ()
    missing: tuple[ObjectRef, ...] = ()


class CessationSeen(Evidence, frozen=True, kw_only=True, tag=True):
    """Whether processes of one run may still live. An operator's answer covers only the nodes named."""

    object: ObjectRef
    run: int
    answer: CessationAnswer
    basis: CessationBasis
    as_of: Instant
    nodes: tuple[NodeState, ...] = ()
    attested_by: str | None = None


class ControlsSet(Decision, frozen=True, kw_only=True, tag=True):
    """The controls from now on: whole values, not changes. `cluster` None: every cluster of the tenant."""

    cluster: Token | None = None
    retries: bool = True
    brake_until_at: Instant | None = None
    brake_cause: str = ""
    observe: bool = False


Event = (
    JobSubmitted
    | SubmissionAuthorized
    | RequeueAuthorized
    | AttemptCommitted
    | CanonicalChosen
    | ObjectRetired
    | CallCommitted
    | HoldAsked
    | HoldLifted
    | JobCancelled
    | OutcomeDecided
    | TargetDisposed
    | StopVerified
    | JobSettled
    | CallReplied
    | ObjectsSeen
    | CessationSeen
    | ControlsSet
)

SeenEvent = CallReplied | ObjectsSeen | CessationSeen


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of `dispatch.job.<tenant>.<job>`. `at` is for people, backoff and windows only."""

    v: int = ENVELOPE_VERSION
    id: EventId
    tenant: Token
    job: str
    expected: int
    at: Instant
    by: str
    event: Event
    reason: Reason | None = None
    command: Token | None = None
    actor: str | None = None
    on_behalf_of: str | None = None
    note: Note | None = None
    asked_at: Instant | None = None


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that are no envelope, or one that belongs to another subject. Stops decisions for the job."""

    why: str


class UnknownEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event type, or an envelope version, that this release does not know (L15)."""

    type: str
    v: int = ENVELOPE_VERSION


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One stored message, as the codec read it. `revision` is its stream sequence."""

    tenant: str
    job: str
    revision: int
    stored_at: Instant
    content: Envelope | Quarantined | UnknownEvent
