"""L4: never two executions at once."""

from __future__ import annotations

from adapters.simulated.kubeflow import KubeflowCluster
from streams.messages.calls import OpenCall, RequeueCall
from streams.messages.events import CallCommitted, Envelope, Event
from streams.messages.values import Disposition, Phase, Verb
from tests.simulator.flight import ARRIVED, CallFlight
from tests.simulator.laws.law import Law


class NeverTwoAtOnce(Law):
    number = "L4"

    def look(self) -> None:
        living = self.watch.living()
        # An object that its own scheduler runs again under one number is one execution here: nobody opened it twice.
        if len({(execution.object, execution.run) for execution in living}) > 1:
            told = ", ".join(f"{e.object.id} run {e.run} on {list(e.alive)}" for e in living)
            self.broken(f"two executions at once: {told}")

    def landed(self, flight: CallFlight) -> None:
        """Nothing is admitted while a pod of the job may run, whoever began it."""
        cluster, call = self.world.cluster, flight.request.call
        if not isinstance(cluster, KubeflowCluster) or flight.error is not None or not isinstance(call, OpenCall):
            return
        for pod in cluster.pods(call.name):
            if pod.has_process:
                self.broken(f"{call.object.id} was admitted with A={call.run} while a pod of A={pod.admission.a} ran")

    def before(self, envelope: Envelope, event: Event) -> None:
        """The Find that an open was decided from showed every other object ended."""
        if not isinstance(event, CallCommitted) or event.verb not in (Verb.OPEN, Verb.ADMIT):
            return
        found = self.world.finds.get(event.as_of)
        if found is None:
            self.broken(f"open #{event.call} was decided from a Find that was never made")
        flight = self.watch.flight
        if flight is not None and flight.task is not None:
            if self.watch.found_at(event.as_of) < flight.task.read_at:
                self.broken(f"open #{event.call} was decided from a Find made before the record was read")
        for seen in found.sightings:
            ignored = self.watch.chronicle.disposed.get(seen.object) is Disposition.IGNORE
            if seen.object != event.object and seen.phase is not Phase.ENDED and not ignored:
                self.broken(f"open #{event.call} although its own Find showed {seen.object.id} {seen.phase.value}")
        known = {intent.nonce for intent in self.watch.chronicle.calls.values()}
        for late in self.world.calls_on_their_way():
            call = late.request.call
            # One that a lost history authorized is known of once it has arrived (L14).
            if isinstance(call, RequeueCall) and (late.stage == ARRIVED or call.pair.nonce in known):
                self.broken(f"open #{event.call} although requeue #{call.call} can still land")
