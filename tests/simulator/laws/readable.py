"""L15: an unknown event, or bytes that are none, stop decisions for that job only; an unknown field does not."""

from __future__ import annotations

from streams.messages.events import Decision, Entry, Envelope, Event, TargetDisposed
from streams.messages.values import MessageRef
from tests.simulator.laws.law import Law


class WhatCannotBeReadStopsDecisions(Law):
    number = "L15"

    def before(self, envelope: Envelope, event: Event) -> None:
        strange = self.watch.chronicle.strange
        if not strange or not isinstance(event, Decision):
            return
        if isinstance(event, TargetDisposed) and isinstance(event.target, MessageRef):
            return
        first = next(iter(strange))
        self.broken(f"{type(event).__name__} although r{first} cannot be read ({strange[first]})")

    def after(self, entry: Entry) -> None:
        """An event of which this release knows all but a field is read as what it is, and stops nothing."""
        if entry.revision in self.world.store.with_more and not isinstance(entry.content, Envelope):
            self.broken(f"r{entry.revision}, in which only a field is unknown, was read as {entry.content}")
