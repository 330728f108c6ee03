"""L10: a late call never undoes a newer decision."""

from __future__ import annotations

from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.trainjob import TrainJob
from adapters.simulated.truth import BegunBy
from streams.messages.calls import OpenCall
from streams.messages.events import CallCommitted, Envelope, Event
from streams.messages.values import ObjectRef, Verb
from tests.simulator.flight import CallFlight
from tests.simulator.laws.law import Law


class LateCallsUndoNothing(Law):
    number = "L10"
    _seen = 0

    def before(self, envelope: Envelope, event: Event) -> None:
        """Nothing begins a run while a hold is in force: where gate and hold are one bit, an Open would lift it."""
        if not isinstance(event, CallCommitted) or not self.watch.chronicle.in_force:
            return
        if event.verb in (Verb.OPEN, Verb.ADMIT) or (event.verb is Verb.RELEASE and event.run is not None):
            told = f"{event.verb.value} #{event.call}"
            self.broken(f"{told} although hold {self.watch.chronicle.in_force[0]} is in force")

    def landed(self, flight: CallFlight) -> None:
        request = flight.request
        call = request.call
        if call is None or flight.error is not None:
            return
        intent = self.watch.chronicle.intents.get(call.pair.nonce)
        if intent is not None and self.world.cluster.host.now() >= intent.event.over_at:
            self.broken(f"{request.verb} #{call.call} landed after it was over")
        if request.verb == "hold":
            self._hold_landed(call.object)  # type: ignore[union-attr]
        if isinstance(call, OpenCall):
            self._open_landed(call)

    def _open_landed(self, call: OpenCall) -> None:
        """An admission that lands on an object which was stopped since it was read: the stop was decided after it."""
        for job in self.world.cluster.jobs:
            if isinstance(job, TrainJob) and job.ref == call.object and job.stopped:
                self.broken(f"open #{call.call} landed on {job.ref.id}, which was stopped before that")

    def _hold_landed(self, ref: object) -> None:
        """A hold that lands although its instances were reported released, and none other is in force."""
        record = self.watch.record
        if record.over or not record.holds:
            return
        if all(hold.lifted and hold.released for hold in record.holds.values()):
            held = record.canonical()
            if held is not None and held.ref == ref and record.opened(held.ref):
                self.broken("a late hold undoes a release that was reported complete")

    def look(self) -> None:
        """A run begins although a hold was reported placed on its object."""
        executions = self.world.cluster.truth.executions
        while self._seen < len(executions):
            execution = executions[self._seen]
            self._seen += 1
            record = self.watch.record
            held = record.canonical()
            if execution.lift.by is not BegunBy.CALL or held is None or held.ref != execution.object:
                continue
            run = held.run_record(execution.run)
            if run is not None and run.started_as_of is not None and not run.ended:
                continue  # one more pod of a run that was seen on, and is being ended: no further run
            placed = [hold.instance for hold in record.in_force if hold.placed]
            if placed and not self._unheld_by_hand(execution.object):
                self.broken(f"{execution.object.id} begins although hold {placed[0]} was reported placed")

    def _unheld_by_hand(self, ref: ObjectRef) -> bool:
        """Whether somebody took the hold off at the scheduler; a bit of its own keeps no word of who lifted it."""
        cluster = self.world.cluster
        if not isinstance(cluster, SlurmCluster):
            return False
        beside = cluster.settings.hold_beside_gate and ref in self.watch.wild
        return beside or any(job.ref == ref and job.lift is None for job in cluster.jobs)
