"""L7: no call without its intent, sent once, by the pass whose append was accepted; keys and numbers used once."""

from __future__ import annotations

from streams.messages import calls, events
from streams.messages.events import Envelope, Event
from streams.messages.values import Verb
from tests.simulator.chronicle import Intent
from tests.simulator.flight import CallFlight
from tests.simulator.laws.law import Law

REPEATED = (Verb.STOP, Verb.STOP_JOB)


class NoCallWithoutIntent(Law):
    number = "L7"

    def sent(self, flight: CallFlight) -> None:
        call = flight.request.call
        if call is None:
            return
        intent = self.watch.chronicle.intents.get(call.pair.nonce)
        if intent is None or intent.revision != call.pair.revision:
            self.broken(f"{flight.request.verb} #{call.call} was sent, and no event of the history authorizes it")
        if not _is_of(call, intent):
            self.broken(f"{flight.request.verb} #{call.call} is not the call that its event authorizes")
        if intent.life != flight.process.life or not intent.confirmed:
            self.broken(f"{flight.request.verb} #{call.call} was sent by a process whose append of it was not accepted")
        intent.sent += 1
        if intent.sent > 1 and intent.verb not in REPEATED:
            self.broken(f"{flight.request.verb} #{call.call} was sent twice under one intent")

    def before(self, envelope: Envelope, event: Event) -> None:
        chronicle = self.watch.chronicle
        match event:
            case events.SubmissionAuthorized() | events.RequeueAuthorized():
                if event.budget_key in chronicle.keys:
                    self.broken(f"budget key {event.budget_key} is used twice")
                chronicle.keys[event.budget_key] = 1
                if isinstance(event, events.SubmissionAuthorized) and event.submission != chronicle.submissions + 1:
                    self.broken(f"submission {event.submission} follows {chronicle.submissions}")
            case events.AttemptCommitted():
                self._attempt(event)
            case events.CallCommitted():
                if event.call in chronicle.calls:
                    self.broken(f"call #{event.call} is committed twice")
                self._admission(event)
            case _:
                pass

    def _admission(self, event: events.CallCommitted) -> None:
        """Where a run's number is raised by the write that admits, each committed admission has its own (A)."""
        if self.world.swarm.is_slurm or event.object is None or event.verb not in (Verb.OPEN, Verb.ADMIT):
            return
        used = [intent.event for intent in self.watch.chronicle.opened.get(event.object, ())]
        if any(isinstance(e, events.CallCommitted) and e.run == event.run for e in used):
            self.broken(f"{event.object.id} is to be admitted twice with A={event.run}")

    def _attempt(self, event: events.AttemptCommitted) -> None:
        chronicle = self.watch.chronicle
        if event.call in chronicle.calls:
            self.broken(f"call #{event.call} is committed twice")
        if (event.submission, event.attempt) in chronicle.attempts:
            self.broken(f"attempt {event.submission}/{event.attempt} is committed twice")
        if event.submission != chronicle.submissions:
            self.broken(f"attempt of submission {event.submission}, the newest is {chronicle.submissions}")
        counted = 0
        for (submission, _), intent in chronicle.attempts.items():
            reply = chronicle.replied.get(intent.event.call)
            counted += submission == event.submission and not (reply is not None and reply.retry)
        if counted >= chronicle.attempts_max:
            self.broken(f"attempt {event.attempt} of submission {event.submission}, at most {chronicle.attempts_max}")


def _is_of(call: calls.Call, intent: Intent) -> bool:
    event = intent.event
    if call.call != event.call or call.deadline_at != event.deadline_at:
        return False
    if isinstance(event, events.AttemptCommitted):
        if not isinstance(call, calls.StartCall):
            return False
        tag = call.tag
        return (tag.submission, tag.attempt, tag.revision, tag.nonce) == (
            event.submission,
            event.attempt,
            intent.revision,
            intent.nonce,
        )
    if isinstance(call, calls.OpenCall | calls.ReleaseCall | calls.RequeueCall) and call.run != event.run:
        return False
    return getattr(call, "object", None) == event.object
