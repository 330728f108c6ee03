"""L6: evidence is never refused: what was seen is appended, or was news no more when it was dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from projections.evolve import empty, evolve
from projections.record import Record
from streams.errors import ConflictError
from streams.messages.events import CallReplied, Entry, Envelope, Event, ObjectsSeen, SeenEvent
from streams.messages.values import Instant, ObjectRef, ReplyOutcome
from tests.simulator.flight import AppendFlight, Flight
from tests.simulator.laws.law import Law
from tests.simulator.ledger import JOB, TENANT

if TYPE_CHECKING:
    from tests.simulator.process import Task
    from tests.simulator.watch import Watch

CLEAR = (ReplyOutcome.DONE, ReplyOutcome.REFUSED)


class EvidenceIsNeverRefused(Law):
    number = "L6"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._lacked: dict[ObjectRef, Instant] = {}
        self._there: dict[Task, int] = {}

    def after(self, entry: Entry) -> None:
        """Note which Find lacked what."""
        event = entry.content.event if isinstance(entry.content, Envelope) else None
        if isinstance(event, ObjectsSeen):
            self._lacked.update(dict.fromkeys(event.missing, event.as_of))

    def restored(self) -> None:
        self._lacked.clear()
        self._there.clear()

    def answered(self, task: Task, flight: Flight) -> None:
        if not isinstance(flight, AppendFlight) or not isinstance(flight.envelope.event, SeenEvent):
            return
        if task.what == "command":
            return
        if isinstance(flight.error, ConflictError):
            task.unseen = flight.envelope.event
            self._there[task] = flight.error.current or 0
        elif flight.error is None:
            task.unseen = None

    def finished(self, task: Task) -> None:
        event, there = task.unseen, self._there.pop(task, 0)
        if event is None or task.failed or not self._is_news(self.watch.record, event):
            return
        if all(self._is_news(record, event) for record in self._records_since(there)):
            self.broken(f"{type(event).__name__} met a conflict and was dropped although it is news")

    def _records_since(self, revision: int) -> Iterator[Record]:
        """The record as it was right after the event that the conflict named, and after each one since."""
        record = empty(TENANT, JOB)
        for entry in self.world.ledger.entries:
            record = evolve(record, entry)
            if entry.revision >= revision:
                yield record

    def _is_news(self, record: Record, event: Event) -> bool:
        if isinstance(event, CallReplied):
            known = [c.reply for c in record.calls.values() if c.call == event.call]
            known += [a.reply for a in record.attempts if a.call == event.call]
            return bool(known) and known[0] is not event.outcome and known[0] not in CLEAR
        if not isinstance(event, ObjectsSeen):
            return False
        for seen in event.sightings:
            held = record.objects.get(seen.object)
            older = held is not None and held.as_of is not None and held.as_of > event.as_of
            if not older and (held is None or (held.phase, held.run) != (seen.phase, seen.run)):
                return True
            lacked_at = self._lacked.get(seen.object)
            if held is not None and held.missing and lacked_at is not None and lacked_at < event.as_of:
                return True
        return False
