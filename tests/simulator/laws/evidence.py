"""L6: evidence is never refused: what was seen is appended, or was news no more when it was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.record import Record
from streams.errors import ConflictError
from streams.messages.events import CallReplied, Entry, Envelope, Event, ObjectsSeen, SeenEvent
from streams.messages.values import Instant, ObjectRef, ReplyOutcome
from tests.simulator.flight import AppendFlight, Flight, ReadFlight
from tests.simulator.laws.law import Law

if TYPE_CHECKING:
    from tests.simulator.process import Task
    from tests.simulator.watch import Watch

CLEAR = (ReplyOutcome.DONE, ReplyOutcome.REFUSED)


class EvidenceIsNeverRefused(Law):
    number = "L6"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._lacked: dict[ObjectRef, Instant] = {}
        self._records: list[Record] = []
        self._there: dict[Task, int] = {}

    def after(self, entry: Entry) -> None:
        """Note which Find lacked what, and the record as it is now."""
        event = entry.content.event if isinstance(entry.content, Envelope) else None
        if isinstance(event, ObjectsSeen):
            self._lacked.update(dict.fromkeys(event.missing, event.as_of))
        self._records.append(self.watch.record)

    def restored(self) -> None:
        self._lacked.clear()
        self._records.clear()
        self._there.clear()

    def answered(self, task: Task, flight: Flight) -> None:
        """A conflict leaves evidence unseen, until it is stored, or a look at the tail shows that it is news no more."""
        if task.what == "command":
            return
        if isinstance(flight, AppendFlight) and isinstance(flight.envelope.event, SeenEvent):
            if isinstance(flight.error, ConflictError):
                task.unseen = flight.envelope.event
                self._there[task] = flight.error.current or 0
            elif flight.error is None and type(task.unseen) is type(flight.envelope.event):
                task.unseen = None
        elif isinstance(flight, ReadFlight) and flight.error is None and task.unseen is not None:
            there = self._there.get(task, 0)
            # The one that is now as well: after a restore it is the only one.
            records = [record for record in (*self._records, self.watch.record) if record.revision >= there]
            if not all(self._is_news(record, task.unseen) for record in records):
                task.unseen = None

    def finished(self, task: Task) -> None:
        self._there.pop(task, None)
        if task.unseen is not None and not task.failed:
            self.broken(f"{type(task.unseen).__name__} met a conflict and was dropped although it is news")

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
        return any(self._was_there(record, ref, event) for ref in event.missing)

    @staticmethod
    def _was_there(record: Record, ref: ObjectRef, event: ObjectsSeen) -> bool:
        """Whether an older look is the last that is told of an object which this one lacks."""
        held = record.objects.get(ref)
        if held is None or held.missing or held.accounted:
            return False
        return held.as_of is not None and held.as_of < event.as_of
