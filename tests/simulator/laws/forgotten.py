"""L3: nothing is forgotten: settled only when every object and every process is accounted for."""

from __future__ import annotations

from streams.messages.events import (
    CallCommitted,
    Decision,
    Entry,
    Envelope,
    Event,
    JobSettled,
    TargetDisposed,
)
from streams.messages.values import AttemptRef, Found, MessageRef, ReplyOutcome, Verb
from tests.simulator.laws.law import Law


class NothingIsForgotten(Law):
    number = "L3"
    _since: int | None = None

    def before(self, envelope: Envelope, event: Event) -> None:
        """After settlement nothing is decided but stops, and what cannot be read."""
        settled = self.watch.chronicle.settled
        if not settled or not isinstance(event, Decision):
            return
        stops = isinstance(event, CallCommitted) and event.verb is Verb.STOP
        reads = isinstance(event, TargetDisposed) and isinstance(event.target, MessageRef)
        if not stops and not reads:
            self.broken(f"{type(event).__name__} after the settlement at r{settled}")

    def after(self, entry: Entry) -> None:
        content = entry.content
        if not isinstance(content, Envelope) or not isinstance(content.event, JobSettled) or self._since is not None:
            return
        if content.event.as_of is None:
            # Cancelled before any submit: no cluster is known, so none was asked.
            if self.watch.chronicle.attempts:
                self.broken("settled without a Find, although something was started")
            return
        decided_from = self.watch.decided_from(content.event.as_of)
        if decided_from is None:
            self.broken("settled by a Find that was never made")
        found, self._since = decided_from
        self._nothing_in_doubt(found)
        for execution in self.watch.living(decided_from):
            told = f"{execution.object.id} run {execution.run}, of which it was told, is alive on"
            self.broken(f"settled, and {told} {list(execution.alive)}")
        for flight in self.world.calls_on_their_way():
            call = flight.request.call
            if call is not None and flight.request.verb not in ("stop", "stop-job"):
                self.broken(f"settled, and {flight.request.verb} #{call.call} can still land")

    def _nothing_in_doubt(self, found: Found) -> None:
        """No foreign object that nobody disposed of, and under `manual` no attempt that may have made one."""
        chronicle = self.watch.chronicle
        for seen in found.sightings:
            if seen.tag is None and seen.object not in chronicle.disposed and not chronicle.cancelled:
                self.broken(f"settled, and nobody has disposed of {seen.object.id}, which is foreign")
        if not chronicle.manual:
            return
        made = [(held.submission, held.attempt) for held in self.watch.record.objects.values()]
        for (submission, attempt), intent in chronicle.attempts.items():
            reply = chronicle.replied.get(intent.event.call)
            told = reply is not None and reply.outcome is not ReplyOutcome.UNKNOWN
            ref = AttemptRef(submission=submission, attempt=attempt)
            if not (told or (submission, attempt) in made or ref in chronicle.given_up):
                self.broken(f"settled under `manual`, and attempt {submission}/{attempt} is unmatched")

    def restored(self) -> None:
        self._since = None

    def look(self) -> None:
        if self._since is None:
            return
        for job in self.watch.alive(self._since):
            self.broken(f"settled, and {job.ref.id} is {job.phase.value}")
        for execution in self.watch.living():
            self.broken(f"settled, and {execution.object.id} run {execution.run} is alive on {list(execution.alive)}")
