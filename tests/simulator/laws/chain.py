"""L5: a decision made on a stale read is refused by the store, never written."""

from __future__ import annotations

from streams.messages.events import Envelope, Event
from tests.simulator.laws.law import Law


class NoStaleDecision(Law):
    number = "L5"

    def before(self, envelope: Envelope, event: Event) -> None:
        last = self.watch.chronicle.revision
        if envelope.expected != last:
            self.broken(f"{type(event).__name__} decided at r{envelope.expected} was written after r{last}")
