"""L2: a committed cancel is final."""

from __future__ import annotations

from streams.messages import events
from streams.messages.events import Entry, Envelope, Event
from streams.messages.values import Verb
from tests.simulator.laws.law import Law

AUTHORIZE = (
    events.SubmissionAuthorized,
    events.RequeueAuthorized,
    events.AttemptCommitted,
    events.CanonicalChosen,
    events.HoldAsked,
    events.HoldLifted,
    events.OutcomeDecided,
)
ENDING = (Verb.STOP, Verb.STOP_JOB)


class ACancelIsFinal(Law):
    number = "L2"
    _since: int | None = None

    def before(self, envelope: Envelope, event: Event) -> None:
        chronicle = self.watch.chronicle
        if not chronicle.cancelled:
            return
        if isinstance(event, AUTHORIZE):
            self.broken(f"{type(event).__name__} after the cancel at r{chronicle.cancelled}")
        if isinstance(event, events.CallCommitted) and event.verb not in ENDING:
            self.broken(f"a call to {event.verb.value} was committed after the cancel at r{chronicle.cancelled}")

    def after(self, entry: Entry) -> None:
        cancel = self.watch.record.cancel
        if self._since is None and cancel is not None and cancel.complete and isinstance(entry.content, Envelope):
            event = entry.content.event
            self._since = (
                self.watch.found_at(event.as_of) if isinstance(event, events.ObjectsSeen) else self.world.steps
            )

    def restored(self) -> None:
        self._since = None

    def look(self) -> None:
        if self._since is not None:
            for job in self.watch.alive(self._since):
                self.broken(f"the clean-up was reported complete, and {job.ref.id} is {job.phase.value}")
