"""The checkers' own reading of a history: what was authorized, when, and by whom. No rule of the system is in it."""

from __future__ import annotations

from streams.messages import events
from streams.messages.events import Entry, Envelope
from streams.messages.spec import Unmatched
from streams.messages.values import (
    AttemptRef,
    CessationBasis,
    Disposition,
    Instant,
    MessageRef,
    ObjectRef,
    Phase,
    Sighting,
    Verb,
)

OPENING = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
EVERY_NODE = ""


class Intent:
    """One committed call: its event, where it stands, and the life of the process whose append stored it."""

    __slots__ = ("confirmed", "event", "life", "nonce", "revision", "sent")

    def __init__(
        self, event: events.CallCommitted | events.AttemptCommitted, revision: int, nonce: str, life: int
    ) -> None:
        self.event = event
        self.revision = revision
        self.nonce = nonce
        self.life = life
        self.confirmed = False
        self.sent = 0

    @property
    def verb(self) -> Verb:
        return Verb.START if isinstance(self.event, events.AttemptCommitted) else self.event.verb


def shows_begun(seen: Sighting) -> bool:
    """Whether this sighting tells that the run it shows has begun."""
    return seen.phase in (Phase.RUNNING, Phase.ENDING) or (seen.phase is Phase.ENDED and bool(seen.nodes))


class Chronicle:
    """One history so far. `intents` also holds those of generations that were lost: their calls were authorized.

    `attested` holds the step at which somebody last vouched for an object's run on a node, or on `EVERY_NODE`; `begun`
    when a Find that is recorded last showed a run that had begun; `waived` the revisions that a person disposed of.
    """

    def __init__(self, intents: dict[str, Intent] | None = None) -> None:
        self.intents: dict[str, Intent] = intents if intents is not None else {}
        self.revision = 0
        self.nonces: dict[int, str] = {}
        self.ids: set[str] = set()
        self.canonical: dict[int, ObjectRef] = {}
        self.retired: dict[ObjectRef, int] = {}
        self.attempts: dict[tuple[int, int], Intent] = {}
        self.opened: dict[ObjectRef, list[Intent]] = {}
        self.calls: dict[int, Intent] = {}
        self.keys: dict[str, int] = {}
        self.submissions = 0
        self.attempts_max = 0
        self.manual = False
        self.cancelled = 0
        self.decided = 0
        self.settled = 0
        self.strange: dict[int, str] = {}
        self.disposed: dict[ObjectRef, Disposition] = {}
        self.given_up: list[AttemptRef] = []
        self.attested: dict[tuple[ObjectRef, int, str], int] = {}
        self.begun: dict[tuple[ObjectRef, int], Instant] = {}
        self.waived: set[int] = set()
        self.stopped: dict[ObjectRef, int] = {}
        self.in_force: list[str] = []
        self.verified: dict[ObjectRef, int] = {}
        self.replied: dict[int, events.CallReplied] = {}

    def add(self, entry: Entry, life: int, step: int) -> None:
        """One more entry, stored in this step by the process with that life."""
        content = entry.content
        self.revision = entry.revision
        if not isinstance(content, Envelope):
            self.strange[entry.revision] = type(content).__name__
            return
        if content.id in self.ids:
            return
        self.ids.add(content.id)
        self.nonces[entry.revision] = content.id
        event = content.event
        match event:
            case events.JobSubmitted():
                self.attempts_max = event.spec.attempts_max
                self.manual = event.spec.unmatched is Unmatched.MANUAL
                if event.spec.hold is not None:
                    self.in_force.append(content.command or content.id)
            case events.SubmissionAuthorized():
                self.submissions = max(self.submissions, event.submission)
            case events.AttemptCommitted():
                intent = self._intent(event, entry.revision, content.id, life)
                self.attempts[(event.submission, event.attempt)] = intent
            case events.CallCommitted():
                self._called(event, self._intent(event, entry.revision, content.id, life))
            case events.CanonicalChosen():
                self.canonical.setdefault(event.submission, event.object)
            case events.ObjectRetired():
                self.retired.setdefault(event.object, entry.revision)
            case events.HoldAsked() | events.HoldLifted():
                self._held(event)
            case events.JobCancelled():
                self.in_force = []
                self.cancelled = self.cancelled or entry.revision
            case events.OutcomeDecided():
                self.decided = self.decided or entry.revision
            case events.JobSettled():
                self.settled = self.settled or entry.revision
            case events.StopVerified():
                self.verified[event.object] = entry.revision
            case events.TargetDisposed():
                self._disposed(event)
            case events.CessationSeen():
                self._vouched(event, step)
            case events.ObjectsSeen():
                self._shown(event)
            case events.CallReplied():
                self.replied[event.call] = event
            case _:
                pass

    def _held(self, event: events.HoldAsked | events.HoldLifted) -> None:
        if isinstance(event, events.HoldAsked):
            self.in_force.append(event.instance)
        else:
            self.in_force = [name for name in self.in_force if name not in event.instances]

    def _called(self, event: events.CallCommitted, intent: Intent) -> None:
        if event.verb is Verb.STOP and event.object is not None:
            self.stopped[event.object] = intent.revision
        if event.verb in OPENING and event.object is not None:
            self.opened.setdefault(event.object, []).append(intent)

    def _intent(
        self, event: events.CallCommitted | events.AttemptCommitted, revision: int, nonce: str, life: int
    ) -> Intent:
        intent = self.intents.get(nonce)
        if intent is None:
            intent = self.intents[nonce] = Intent(event, revision, nonce, life)
        self.calls[event.call] = intent
        return intent

    def _vouched(self, event: events.CessationSeen, step: int) -> None:
        """A person's word is for the nodes that it names; where it names none, and where it is presumed, for all."""
        if event.basis is CessationBasis.OBSERVED:
            return
        nodes = [state.node for state in event.nodes] if event.basis is CessationBasis.OPERATOR else []
        for node in nodes or [EVERY_NODE]:
            self.attested[(event.object, event.run, node)] = step

    def _shown(self, event: events.ObjectsSeen) -> None:
        for seen in event.sightings:
            if shows_begun(seen):
                of = (seen.object, seen.run)
                self.begun[of] = max(event.as_of, self.begun.get(of, event.as_of))

    def _disposed(self, event: events.TargetDisposed) -> None:
        target = event.target
        if isinstance(target, MessageRef):
            self.strange.pop(target.revision, None)
            self.waived.add(target.revision)
        elif isinstance(target, AttemptRef):
            self.given_up.append(target)
        else:
            self.disposed[target] = event.disposition
