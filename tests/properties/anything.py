"""Any history at all, of the real structs: any event after any other, true or not.

Drawn from a seed by a plain generator, many times quicker than strategies are; what shrinks is the length.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from streams.messages import events
from streams.messages.calls import Capabilities
from streams.messages.events import Entry, Envelope, Event, Quarantined, UnknownEvent
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import (
    AttemptRef,
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    Disposition,
    Floor,
    Found,
    HoldKind,
    HoldSeen,
    MessageRef,
    NodeState,
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
from tests.unit.dispatch.scene import KUEUE, LOCAL, PLAIN, REQUEUES_ENDED, SLURM
from tests.unit.projections.story import PLAN, spec

T = TypeVar("T")
TENANT, JOB = "nlp", "llama-7b"
BEGIN = datetime(2026, 11, 29, tzinfo=UTC)
MOST = 24
IDS = tuple(f"{number:026d}" for number in range(MOST + 2))
REFS = tuple(ObjectRef(cluster="hpc2", id=str(n), created=IDS[n]) for n in range(4))
NODES = ("n14", "n15")
INSTANCES = ("h1", "h2", "rule-1-0")
RULES = ("submit", "person", "crash", "preempted", "rest", "unmatched")
KEYS = ("submit/1.0", "crash/1.0", "crash/1.0/resubmit", "crash/1.1", "person/c-1", "person/hold/h1")
SPECS = (spec(), spec(hold="for ana"), spec(unmatched=Unmatched.MANUAL), spec(start_within=60, attempts_max=1))
CALL_VERBS = tuple(verb for verb in Verb if verb is not Verb.START)
CLUSTERS = (SLURM, LOCAL, PLAIN, KUEUE, REQUEUES_ENDED)


class Pen:
    """Draws values from small pools, so that events often speak of the same thing."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)

    def one(self, pool: Any) -> Any:
        return self.draw.choice(tuple(pool))

    def some(self, pool: tuple[T, ...], most: int = 2) -> tuple[T, ...]:
        return tuple(self.draw.sample(pool, self.draw.randint(0, min(most, len(pool)))))

    def maybe(self, value: Callable[[], T]) -> T | None:
        return value() if self.draw.random() < 0.6 else None

    def yes(self) -> bool:
        return self.draw.random() < 0.5

    def number(self) -> int:
        return self.draw.randint(1, 3)

    def run(self) -> int:
        return self.draw.randint(0, 3)

    def call(self) -> int:
        return self.draw.randint(1, 9)

    def ref(self) -> ObjectRef:
        return self.draw.choice(REFS)

    def at(self) -> datetime:
        return BEGIN + timedelta(seconds=30 * self.draw.randint(0, 40))

    def cause(self) -> Cause:
        return Cause(
            kind=self.one(CauseKind), exit_code=self.one((None, 0, 3)), nodes=self.some(NODES), final=self.yes()
        )

    def tag(self) -> Tag:
        """One that some attempt of the history may well have."""
        revision = self.draw.randint(1, MOST)
        return Tag(
            installation="main",
            tenant=TENANT,
            job=JOB,
            submission=self.number(),
            attempt=self.number(),
            revision=revision,
            nonce=IDS[revision],
        )

    def sighting(self) -> Sighting:
        return Sighting(
            object=self.ref(),
            tag=self.maybe(self.tag),
            run=self.run(),
            phase=self.one(Phase),
            hold=self.one(HoldSeen),
            cause=self.maybe(self.cause),
            end_final=self.yes(),
            ranks_done=self.draw.randint(0, 1),
            nodes=self.some(NODES),
        )

    def found(self) -> Found:
        seen = {s.object: s for s in (self.sighting() for _ in range(self.draw.randint(0, 4)))}
        floor = Floor(revision=self.draw.randint(1, MOST), nonce=self.one(IDS)) if self.draw.random() < 0.2 else None
        return Found(as_of=self.at(), floor=floor, sightings=tuple(seen.values()))

    def target(self) -> Target:
        attempt = AttemptRef(submission=self.number(), attempt=self.number())
        target: Target = self.one((self.ref(), attempt, MessageRef(revision=self.draw.randint(1, MOST))))
        return target

    def event(self) -> Event:
        made: Event = getattr(self, self.one(EVENTS))()
        return made

    # one method an event

    def submitted(self) -> Event:
        return events.JobSubmitted(spec=self.one(SPECS), plan=self.one((PLAN, RecoveryPlan())), digest="d")

    def authorized(self) -> Event:
        return events.SubmissionAuthorized(
            submission=self.number(),
            rule=self.one(RULES),
            budget_key=self.one(KEYS),
            not_before_at=self.at(),
            cause=self.maybe(self.cause),
            avoid_nodes=self.some(NODES),
        )

    def requeue(self) -> Event:
        return events.RequeueAuthorized(
            object=self.ref(),
            run=self.run(),
            rule=self.one(RULES),
            budget_key=self.one(KEYS),
            not_before_at=self.at(),
            cause=self.maybe(self.cause),
        )

    def attempt(self) -> Event:
        return events.AttemptCommitted(
            submission=self.number(),
            attempt=self.number(),
            call=self.call(),
            deadline_at=self.at(),
            over_at=self.at(),
        )

    def canonical(self) -> Event:
        return events.CanonicalChosen(
            submission=self.number(), attempt=self.number(), object=self.ref(), as_of=self.at()
        )

    def retired(self) -> Event:
        return events.ObjectRetired(object=self.ref(), submission=self.number(), attempt=self.number())

    def committed(self) -> Event:
        return events.CallCommitted(
            call=self.call(),
            verb=self.one(CALL_VERBS),
            deadline_at=self.at(),
            over_at=self.at(),
            as_of=self.at(),
            object=self.maybe(self.ref),
            run=self.maybe(self.run),
            instances=self.some(INSTANCES),
        )

    def hold(self) -> Event:
        return events.HoldAsked(
            instance=self.one(INSTANCES), rule=self.one(RULES), kind=self.one(HoldKind), now=self.yes()
        )

    def lifted(self) -> Event:
        return events.HoldLifted(instances=self.some(INSTANCES))

    def cancelled(self) -> Event:
        return events.JobCancelled(lifted=self.some(INSTANCES))

    def outcome(self) -> Event:
        return events.OutcomeDecided(
            outcome=self.one(Outcome), submission=self.number(), cause=self.cause(), rule=self.one(RULES)
        )

    def disposed(self) -> Event:
        return events.TargetDisposed(
            target=self.target(),
            disposition=self.one(Disposition),
            rule=self.one(RULES),
            submission=self.maybe(self.number),
            attempt=self.maybe(self.number),
            as_of=self.maybe(self.at),
        )

    def verified(self) -> Event:
        return events.StopVerified(object=self.ref(), run=self.run(), basis=self.one(StopBasis), as_of=self.at())

    def settled(self) -> Event:
        return events.JobSettled(as_of=self.maybe(self.at))

    def replied(self) -> Event:
        return events.CallReplied(
            call=self.call(), outcome=self.one(ReplyOutcome), object=self.maybe(self.ref), retry=self.yes()
        )

    def seen(self) -> Event:
        return events.ObjectsSeen(
            as_of=self.at(),
            read_revision=self.draw.randint(0, MOST),
            sightings=tuple(self.sighting() for _ in range(self.draw.randint(0, 3))),
            missing=self.some(REFS),
        )

    def ceased(self) -> Event:
        nodes = tuple(NodeState(node=n, may_run=self.one(((), ("p",)))) for n in self.some(NODES))
        return events.CessationSeen(
            object=self.ref(),
            run=self.run(),
            answer=self.one(CessationAnswer),
            basis=self.one(CessationBasis),
            as_of=self.at(),
            nodes=nodes,
            attested_by=self.maybe(lambda: "ana"),
        )

    def controls(self) -> Event:
        return events.ControlsSet(retries=self.yes(), observe=self.yes())

    def entry(self, revision: int, begins: str | None) -> Entry:
        """One message; now and then one that nobody can read, or an id that was there before."""
        odd = self.draw.randint(0, 19) if begins is None else 19
        content: Envelope | Quarantined | UnknownEvent
        if odd == 0:
            content = self.one((Quarantined(why="not JSON"), UnknownEvent(type="JobPaused")))
        else:
            content = Envelope(
                id=IDS[self.draw.randint(1, revision) if odd == 1 else revision],
                tenant=TENANT,
                job=JOB,
                expected=revision - 1,
                at=self.at(),
                by=self.one(("replica:sv-a", "replica:sv-b")),
                event=self.event() if begins is None else getattr(self, begins)(),
                reason=self.maybe(lambda: self.one(Reason)),
                command=self.maybe(lambda: self.one(("c-1", "c-2", "h1"))),
            )
        return Entry(tenant=TENANT, job=JOB, revision=revision, stored_at=BEGIN, content=content)


EVENTS = (
    *("submitted", "authorized", "requeue", "attempt", "canonical", "retired", "committed", "hold", "lifted"),
    *("cancelled", "outcome", "disposed", "verified", "settled", "replied", "seen", "ceased", "controls"),
)
BEGINNING = ("submitted", "authorized", "attempt", "seen")


def history(seed: int, count: int) -> tuple[Entry, ...]:
    """That many messages. Most begin as a job begins, so that what follows has something to speak of."""
    pen = Pen(seed)
    begins = pen.draw.random() < 0.7
    first = BEGINNING if begins else ()
    return tuple(pen.entry(n, first[n - 1] if n <= len(first) else None) for n in range(1, count + 1))


seeds = st.integers(0, 2**32 - 1)
histories = st.builds(history, seeds, st.integers(0, MOST))
finds = seeds.map(lambda seed: Pen(seed).found())
sightings = seeds.map(lambda seed: Pen(seed).sighting())
clusters: st.SearchStrategy[Capabilities] = st.sampled_from(CLUSTERS)
