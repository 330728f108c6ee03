"""What the checkers see: the history as it is stored, the calls as they are sent and land, the truth of processes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from adapters.simulated.slurm_job import JobState, SlurmJob
from adapters.simulated.trainjob import TrainJob
from adapters.simulated.truth import Execution
from dispatch.supervisor import Pass
from projections.evolve import empty, evolve
from projections.record import Record
from streams.messages.events import Envelope
from streams.messages.reasons import Reason
from streams.messages.values import Found, ObjectRef, Phase
from tests.simulator.chronicle import Chronicle
from tests.simulator.flight import AppendFlight, CallFlight, Flight, ReadFlight
from tests.simulator.laws.every import LAWS
from tests.simulator.laws.law import Law
from tests.simulator.ledger import JOB, TENANT
from tests.simulator.living import EXCUSED, Living

if TYPE_CHECKING:
    from tests.simulator.process import Task
    from tests.simulator.world import World

OVER = (Phase.ENDING, Phase.ENDED)


def those(laws: list[Law], method: str) -> list[Law]:
    """The laws that say something at this moment."""
    return [law for law in laws if getattr(type(law), method) is not getattr(Law, method)]


class Watch:
    """`record` is what the system itself would claim now: the real fold of the whole history.

    `wild` holds, by object, the step at which a person or the scheduler last brought it to life; `done` the ids of the
    events whose calls have acted on the scheduler; `known_at` the step at which an object was first recorded.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.record: Record = empty(TENANT, JOB)
        self.chronicle = Chronicle()
        self.reasons: set[Reason] = set()
        self.find_steps: dict[datetime, int] = {}
        self.wild: dict[ObjectRef, int] = {}
        self.done: set[str] = set()
        self.ended_once: set[ObjectRef] = set()
        self.known_at: dict[ObjectRef, int] = {}
        self.changed = False
        self.flight: AppendFlight | None = None
        self._folded = 0
        self._stored_at: dict[str, int] = {}
        self._living = Living(self)
        self._seen = (0, 0, 0)
        laws = [law(self) for law in LAWS]
        self.laws = laws
        self._before, self._after = those(laws, "before"), those(laws, "after")
        self._sent, self._landed = those(laws, "sent"), those(laws, "landed")
        self._answered, self._finished = those(laws, "answered"), those(laws, "finished")
        self._look, self._passed, self._lost = those(laws, "look"), those(laws, "passed"), those(laws, "lost")

    # what happens

    def stored(self, flight: AppendFlight | None) -> None:
        """The ledger holds more than was read of it; None: somebody else wrote it."""
        self.flight = flight
        if flight is not None and flight.envelope.reason is not None:
            self.reasons.add(flight.envelope.reason)
        life = flight.process.life if flight is not None else 0
        entries = self.world.ledger.entries
        while self._folded < len(entries):
            entry = entries[self._folded]
            self._folded += 1
            content = entry.content
            # What was stored before is nothing new, wherever it stands.
            if isinstance(content, Envelope) and content.id not in self.chronicle.ids:
                for law in self._before:
                    law.before(content, content.event)
            if isinstance(content, Envelope):
                self._stored_at.setdefault(content.id, self.world.steps)
            self.chronicle.add(entry, life, self.world.steps)
            self.record = evolve(self.record, entry)
            for law in self._after:
                law.after(entry)
            self.changed = True

    def restored(self) -> None:
        self.record = empty(TENANT, JOB)
        self.chronicle = Chronicle(self.chronicle.intents)
        self._folded = 0
        for entry in self.world.ledger.entries:
            self._folded += 1
            stored_at = self._stored_at.get(entry.content.id, 0) if isinstance(entry.content, Envelope) else 0
            self.chronicle.add(entry, 0, stored_at)
            self.record = evolve(self.record, entry)
        for task in self.world.tasks:
            task.unseen = None
        for law in self.laws:
            law.restored()

    def sent(self, flight: CallFlight) -> None:
        for law in self._sent:
            law.sent(flight)

    def landed(self, flight: CallFlight) -> None:
        if flight.request.verb == "find":
            self.find_steps.setdefault(flight.answer.as_of, self.world.steps)
            for seen in flight.answer.sightings:
                if seen.phase in OVER:
                    self.ended_once.add(seen.object)
        elif flight.request.writes:
            self.changed = True
            if flight.error is None and flight.request.call is not None:
                self.done.add(flight.request.call.pair.nonce)
            for law in self._landed:
                law.landed(flight)
        elif flight.task is not None and flight.request.verb.endswith("list pods"):
            flight.task.listed_at = self.world.cluster.instant

    def answered(self, task: Task, flight: Flight) -> None:
        if isinstance(flight, ReadFlight) and flight.job == JOB:
            task.read_at = flight.landed_at
            if flight.answer:
                task.known = max(task.known, flight.answer[-1].revision)
        elif isinstance(flight, CallFlight) and flight.request.verb == "find" and flight.error is None:
            task.found, task.found_at = flight.answer, flight.landed_at
        if isinstance(flight, AppendFlight) and flight.error is None:
            task.known = max(task.known, flight.answer)
            intent = self.chronicle.intents.get(flight.envelope.id)
            if intent is not None:
                intent.confirmed = True
        for law in self._answered:
            law.answered(task, flight)

    def lost(self, task: Task, flight: Flight) -> None:
        for law in self._lost:
            law.lost(task, flight)

    def finished(self, task: Task) -> None:
        for law in self._finished:
            law.finished(task)

    def passed(self, ended: Pass) -> None:
        for law in self._passed:
            law.passed(ended)

    def repeated(self, rested: Pass, before: int) -> None:
        for law in self.laws:
            law.repeated(rested, before)

    def look(self) -> None:
        """Called after every step; the laws look when the history or the truth changed."""
        truth = self.world.cluster.truth
        seen = (truth.version, self.world.ledger.version, self.world.cluster.changes)
        if seen == self._seen and not self.changed:
            return
        self._seen = seen
        self.changed = False
        self._note()
        for law in self._look:
            law.look()

    def _note(self) -> None:
        self._living.note()
        for job in self.world.cluster.jobs:
            if job.ref in self.record.objects:
                self.known_at.setdefault(job.ref, self.world.steps)
            if job.ref in self.ended_once:
                continue
            ended = _over(job)
            if ended:
                self.ended_once.add(job.ref)

    # what is true

    def found_at(self, as_of: datetime) -> int:
        """The step of the Find that told this time."""
        return self.find_steps.get(as_of, self.world.steps)

    def decided_from(self, as_of: datetime) -> tuple[Found, int] | None:
        """The Find that told this time and the step at which it landed, for the event that is appended now.

        Where two told the same time, as a host does whose clock was set back, it is the one that the appender was given.
        """
        task = self.flight.task if self.flight is not None else None
        if task is not None and task.found is not None and task.found.as_of == as_of:
            return task.found, task.found_at
        found = self.world.finds.get(as_of)
        return None if found is None else (found, self.found_at(as_of))

    def alive(self, since: int) -> list[SlurmJob | TrainJob]:
        """Objects of the job that are not ended, by no hand but ours after the step `since`, and were not hidden."""
        found: list[SlurmJob | TrainJob] = []
        for job in self.world.cluster.jobs:
            if job.phase is Phase.ENDED or getattr(job, "purged", False) or getattr(job, "gone", False):
                continue
            if self.wild.get(job.ref, -1) >= since or self.chronicle.disposed.get(job.ref) in EXCUSED:
                continue
            if job.ref in self.wild and (job.hidden or self.world.shown_at.get(job.ref, -1) >= since):
                continue
            known = self.known_at.get(job.ref, since + 1) <= since and job.ref not in self.chronicle.verified
            if not known and (job.hidden or self.world.shown_at.get(job.ref, -1) >= since):
                continue
            found.append(job)
        return found

    def living(self, told: tuple[Found, int] | None = None) -> list[Execution]:
        """Executions whose processes live, nobody's word for it: see `Living.executions`."""
        return self._living.executions(told)

    def vouched_for(self, execution: Execution) -> bool:
        return self._living.vouched_for(execution)


def _over(job: SlurmJob | TrainJob) -> bool:
    """Whether a run of it has ended, or none will begin: it ended, is ending, or came back to its gate."""
    if isinstance(job, SlurmJob):
        return job.state in (JobState.COMPLETING, JobState.ENDED) or job.run > 0
    return (
        job.ended is not None
        or job.stopped
        or job.deleting
        or job.gone
        or (job.suspend and (job.a > 0 or bool(job.executions)))
    )
