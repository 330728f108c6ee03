"""L12: ownership is for liveness: whoever else decides meanwhile, a decision stands on what its maker had read."""

from __future__ import annotations

from streams.messages.events import Decision, Envelope, Event
from tests.simulator.laws.law import Law


class DecidedOnWhatWasRead(Law):
    """Two owners at once are every run's; the store's refusal (L5) is what keeps them apart.

    It keeps nothing apart for a writer that names the newest revision without having read what stands there: as one
    would that appends a refused decision again at the revision that the conflict told.
    """

    number = "L12"

    def before(self, envelope: Envelope, event: Event) -> None:
        flight = self.watch.flight
        if flight is None or not isinstance(event, Decision) or envelope.expected <= flight.known:
            return
        told = f"r{flight.known} was the newest that it had read"
        self.broken(f"{envelope.by} decided {type(event).__name__} at r{envelope.expected}, and {told}")
