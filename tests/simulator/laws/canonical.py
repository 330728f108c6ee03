"""L8: the canonical object of a submission is committed once and never recomputed."""

from __future__ import annotations

from streams.messages.events import CanonicalChosen, Envelope, Event
from tests.simulator.laws.law import Law


class CanonicalOnce(Law):
    number = "L8"

    def before(self, envelope: Envelope, event: Event) -> None:
        if isinstance(event, CanonicalChosen) and event.submission in self.watch.chronicle.canonical:
            chosen = self.watch.chronicle.canonical[event.submission]
            self.broken(f"submission {event.submission} has {chosen.id}, and {event.object.id} was chosen after it")
