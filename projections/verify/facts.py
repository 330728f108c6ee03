"""What a history says so far, in the verifier's own words: things, and questions about them.

This is not the record, on purpose: it is written from the text of the laws alone and shares no code
with the fold that supervisors decide by, so that one mistake cannot hide in both. `reading` fills it.
It is mutable and never leaves one call of `verify`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from projections.verify.executions import CAN_LAND, CallFacts, ObjectFacts, RunFacts
from streams.messages.events import Envelope, JobSubmitted
from streams.messages.values import Disposition, ObjectRef, Phase, Tag, Verb


@dataclass
class AttemptFacts:
    """One attempt and its Start. `objects`: what it is known to have made."""

    submission: int
    attempt: int
    start: CallFacts
    objects: list[ObjectRef] = field(default_factory=list)
    given_up: bool = False

    @property
    def name(self) -> str:
        return f"{self.submission}/{self.attempt}"

    @property
    def unmatched(self) -> bool:
        """It may have made an object, none is known, and nobody has answered for it."""
        return not self.objects and not self.start.refused and not self.given_up

    @property
    def hopeless(self) -> bool:
        """Clearly refused for good, or disposed of: no object may come of it."""
        return self.given_up or (self.start.refused and not self.start.retry)

    @property
    def counted(self) -> bool:
        """A Start that found its scheduler unreachable does not count."""
        return not (self.start.refused and self.start.retry)


@dataclass
class SubmissionFacts:
    """One authorized submission, its attempts in the order they were committed, and the object chosen for it."""

    submission: int
    rule: str
    attempts: list[AttemptFacts] = field(default_factory=list)
    canonical: ObjectRef | None = None

    @property
    def exhausted(self) -> bool:
        """It has attempts and each is refused or disposed of."""
        counted = [a for a in self.attempts if a.counted]
        return bool(counted) and all(a.hopeless for a in counted)


class RequeueFacts(NamedTuple):
    """One authorized requeue: of which object, to end which run."""

    object: ObjectRef
    run: int
    number: int


@dataclass(frozen=True)
class Stored:
    """The envelope that is being judged, and where it stands."""

    number: int
    revision: int
    envelope: Envelope


@dataclass
class Facts:
    """One job's history up to, and not with, the entry that is being judged."""

    tenant: str = ""
    job: str = ""
    number: int = 0
    revision: int = 0
    event_ids: dict[str, int] = field(default_factory=dict)
    unread: dict[int, str] = field(default_factory=dict)
    unknown_number: int = 0
    last_find: int = 0
    submitted: JobSubmitted | None = None
    submissions: list[SubmissionFacts] = field(default_factory=list)
    objects: dict[ObjectRef, ObjectFacts] = field(default_factory=dict)
    calls: dict[int, CallFacts] = field(default_factory=dict)
    budget_keys: dict[str, int] = field(default_factory=dict)
    rule_uses: dict[str, int] = field(default_factory=dict)
    requeues: list[RequeueFacts] = field(default_factory=list)
    instances: dict[str, int] = field(default_factory=dict)
    in_force: set[str] = field(default_factory=set)
    cancelled: int = 0
    outcome: int = 0
    settled: int = 0
    decided_from: list[tuple[int, datetime]] = field(default_factory=list)
    together: list[tuple[ObjectRef, int, ObjectRef, int]] = field(default_factory=list)

    @property
    def newest(self) -> SubmissionFacts | None:
        return self.submissions[-1] if self.submissions else None

    @property
    def attempts(self) -> list[AttemptFacts]:
        return [a for s in self.submissions for a in s.attempts]

    def submission(self, number: int) -> SubmissionFacts | None:
        return next((s for s in self.submissions if s.submission == number), None)

    def attempt(self, submission: int, attempt: int) -> AttemptFacts | None:
        of = self.submission(submission)
        return next((a for a in of.attempts if a.attempt == attempt), None) if of else None

    def attempt_of(self, tag: Tag | None) -> AttemptFacts | None:
        """The committed attempt that a tag names by number, revision and event id; None for any other tag."""
        if tag is None or (tag.tenant, tag.job) != (self.tenant, self.job):
            return None
        named = (tag.submission, tag.attempt, tag.revision, tag.nonce)
        return next(
            (a for a in self.attempts if (a.submission, a.attempt, a.start.revision, a.start.event_id) == named), None
        )

    def closed(self, submission: SubmissionFacts) -> bool:
        """Given up: no canonical, and a newer one is authorized or no object may come of it."""
        if submission.canonical is not None:
            return False
        return submission is not self.newest or submission.exhausted

    def is_canonical(self, ref: ObjectRef) -> bool:
        return any(s.canonical == ref for s in self.submissions)

    def calls_on(self, ref: ObjectRef, *verbs: Verb) -> list[CallFacts]:
        return [c for c in self.calls.values() if c.object == ref and c.verb in verbs]

    def stopped(self, ref: ObjectRef) -> bool:
        """A stop that hits this object was committed: what it hits is condemned for good."""
        return bool(self.calls_on(ref, Verb.STOP)) or any(c.verb is Verb.STOP_JOB for c in self.calls.values())

    def may_land(self, as_of: datetime | None) -> list[CallFacts]:
        """Calls that could still make, open or revive something after a Find begun at `as_of`."""
        found = [a.start for a in self.attempts if a.objects]
        return [
            c for c in self.calls.values() if c.verb in (Verb.START, *CAN_LAND) and not c.over(as_of) and c not in found
        ]

    def end_stands(self, held: ObjectFacts) -> bool:
        """It was last seen ended by a Find begun after every requeue of it was over.

        An `unclear` look takes no end back: an end that was seen stays a fact.
        """
        end, run = held.end, held.runs.get(held.run)
        if end is None or run is None or not run.ended or held.phase not in (Phase.ENDED, Phase.UNCLEAR):
            return False
        return all(call.over_before(end) for call in self.calls_on(held.ref, Verb.REQUEUE))

    def accounted(self, held: ObjectFacts) -> bool:
        """Seen ended, verified stopped, or disposed of: never merely absent (L9)."""
        if held.disposition in (Disposition.IGNORE, Disposition.GONE) or held.verified:
            return True
        return self.end_stands(held)

    def unauthorized(self, held: ObjectFacts) -> RunFacts | None:
        """The run of one of our objects that was seen alive without the record's leave, if it is still so."""
        if held.foreign or not held.counts or not held.shown or held.phase is not Phase.RUNNING:
            return None
        run = held.runs.get(held.run)
        return run if run is not None and run.unauthorized_number else None

    def left_running(self, held: ObjectFacts) -> RunFacts | None:
        """The run without leave that nobody set out to stop."""
        return None if self.stopped(held.ref) else self.unauthorized(held)
