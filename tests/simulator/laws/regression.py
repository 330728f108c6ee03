"""L14: a history that has gone backwards is noticed, and nothing is decided on it."""

from __future__ import annotations

from streams.messages.events import Decision, Envelope, Event
from streams.messages.values import Found
from tests.simulator.laws.law import Law


class NothingDecidedOnALostHistory(Law):
    number = "L14"

    def before(self, envelope: Envelope, event: Event) -> None:
        flight = self.watch.flight
        if flight is not None and flight.generation != self.world.ledger.generation:
            self.broken(f"{type(event).__name__} was written by one that read the history before it was replaced")
        if not isinstance(event, Decision) or flight is None or flight.task is None or flight.task.what != "pass":
            return
        if flight.task.found is not None:
            self._check(event, flight.task.found)

    def _check(self, event: Event, found: Found) -> None:
        chronicle = self.watch.chronicle
        waived = chronicle.waived
        floor = found.floor
        if floor is not None and floor.revision not in waived and chronicle.nonces.get(floor.revision) != floor.nonce:
            self.broken(f"{type(event).__name__} although its Find told of r{floor.revision}, which the history lacks")
        for seen in found.sightings:
            tag = seen.tag
            if tag is None or seen.object in chronicle.disposed:
                continue
            if chronicle.nonces.get(tag.revision) != tag.nonce:
                self.broken(
                    f"{type(event).__name__} although its Find showed {seen.object.id} of r{tag.revision},"
                    " which the history lacks"
                )
