"""L8: the canonical object of a submission is committed once and never recomputed."""

from __future__ import annotations

from streams.messages.events import CanonicalChosen, Envelope, Event
from streams.messages.values import Sighting
from tests.simulator.laws.law import Law


class CanonicalOnce(Law):
    number = "L8"

    def before(self, envelope: Envelope, event: Event) -> None:
        if not isinstance(event, CanonicalChosen):
            return
        chosen = self.watch.chronicle.canonical.get(event.submission)
        if chosen is not None:
            self.broken(f"submission {event.submission} has {chosen.id}, and {event.object.id} was chosen after it")
        if (event.submission, event.attempt) not in self.watch.chronicle.attempts:
            self.broken(f"{event.object.id} was chosen for attempt {event.submission}/{event.attempt}, never committed")
        if event.object in self.watch.chronicle.retired:
            self.broken(f"{event.object.id} was chosen although it is retired")
        decided_from = self.watch.decided_from(event.as_of)
        for seen in decided_from[0].sightings if decided_from is not None else ():
            if self._comes_first(event, seen):
                self.broken(f"{event.object.id} was chosen although the same Find showed {seen.object.id}, made before")

    def _comes_first(self, event: CanonicalChosen, seen: Sighting) -> bool:
        """Whether it is of a lower attempt of the same submission, and nobody has put it aside."""
        chronicle, tag = self.watch.chronicle, seen.tag
        if tag is None or tag.submission != event.submission or tag.attempt >= event.attempt:
            return False
        if chronicle.nonces.get(tag.revision) != tag.nonce:
            return False
        return seen.object not in chronicle.retired and seen.object not in chronicle.disposed
