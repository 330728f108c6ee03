"""L1: nothing runs that the record does not authorize."""

from __future__ import annotations

from adapters.simulated.truth import BegunBy, Execution
from dispatch.supervisor import Pass, Result
from streams.messages.calls import OpenCall
from streams.messages.events import CallCommitted, Envelope, Event
from streams.messages.values import Disposition, Phase, Verb
from tests.simulator.chronicle import OPENING
from tests.simulator.laws.law import Law

BEGINNING = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE, Verb.REQUEUE)


class NothingUnauthorizedRuns(Law):
    number = "L1"
    _seen = 0

    def before(self, envelope: Envelope, event: Event) -> None:
        if not isinstance(event, CallCommitted) or event.verb not in BEGINNING:
            return
        chronicle = self.watch.chronicle
        if event.object is not None and chronicle.disposed.get(event.object) in (Disposition.IGNORE, Disposition.STOP):
            self.broken(f"{event.verb.value} of {event.object.id} was committed although a person disposed of it")
        if event.verb not in (Verb.OPEN, Verb.ADMIT):
            return
        newest = chronicle.submissions
        if event.object is None or chronicle.canonical.get(newest) != event.object:
            self.broken(f"an open of {event.object} was committed; the canonical object of {newest} is another")
        if event.object in chronicle.retired:
            self.broken(f"an open of {event.object.id} was committed although it is retired")

    def passed(self, ended: Pass) -> None:
        """What a completed pass saw running without a committed open is stopped."""
        if ended.found is None or ended.result not in (Result.QUIET, Result.ACTED) or ended.record.strange:
            return
        if ended.capabilities is None or ended.capabilities.read_only:
            return
        chronicle = self.watch.chronicle
        for seen in ended.found.sightings:
            if seen.phase is not Phase.RUNNING or seen.tag is None or seen.object not in ended.record.objects:
                continue
            excused = chronicle.disposed.get(seen.object) in (Disposition.IGNORE, Disposition.ADOPT)
            if excused or seen.object in chronicle.stopped or chronicle.nonces.get(seen.tag.revision) != seen.tag.nonce:
                continue
            if not any(i.event.run == seen.run for i in chronicle.opened.get(seen.object, ())):  # type: ignore[union-attr]
                self.broken(
                    f"{seen.object.id} runs as {seen.run} without a committed open, was seen, and is not stopped"
                )

    def look(self) -> None:
        executions = self.world.cluster.truth.executions
        while self._seen < len(executions):
            execution = executions[self._seen]
            self._seen += 1
            if execution.lift.by is BegunBy.CALL:
                self._check(execution)

    def _check(self, execution: Execution) -> None:
        call = execution.lift.call
        intent = self.watch.chronicle.intents.get(call.pair.nonce) if call is not None else None
        if call is None or intent is None:
            self.broken(f"{execution.object.id} run {execution.run} begins by a call that no event authorized")
        event = intent.event
        if not isinstance(event, CallCommitted) or event.verb not in OPENING or event.object != execution.object:
            self.broken(f"{execution.object.id} run {execution.run} begins by {intent.verb.value} #{event.call}")
        if event.run != execution.run and not (event.run is None and self._opened(execution)):
            self.broken(
                f"{execution.object.id} run {execution.run} begins by {intent.verb.value} #{event.call},"
                f" which authorized run {event.run}"
            )
        adopted = self.watch.chronicle.disposed.get(execution.object) is Disposition.ADOPT
        if isinstance(call, OpenCall) and execution.tag is None and not adopted:
            self.broken(f"{execution.object.id}, which is foreign, was opened")

    def _opened(self, execution: Execution) -> bool:
        """Whether this very run was opened; what releases a hold need not name it."""
        events = (intent.event for intent in self.watch.chronicle.intents.values())
        return any(
            isinstance(event, CallCommitted)
            and event.verb in (Verb.OPEN, Verb.ADMIT)
            and (event.object, event.run) == (execution.object, execution.run)
            for event in events
        )
