"""L4: never two executions at once."""

from __future__ import annotations

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.trainjob import PodState
from adapters.simulated.truth import BegunBy
from dispatch.supervisor import Pass, Result
from streams.messages.calls import OpenCall, RequeueCall
from streams.messages.events import CallCommitted, Envelope, Event
from streams.messages.values import Disposition, Phase, Verb
from tests.simulator.flight import ARRIVED, CallFlight
from tests.simulator.laws.law import Law

FENCED = ("kubeflow", "kueue")


class NeverTwoAtOnce(Law):
    number = "L4"

    def look(self) -> None:
        living = self.watch.living()
        # An object that its own scheduler runs again under one number is one execution here: nobody opened it twice.
        if len({(execution.object, execution.run) for execution in living}) > 1:
            told = ", ".join(f"{e.object.id} run {e.run} on {list(e.alive)}" for e in living)
            self.broken(f"two executions at once: {told}")
        if living and isinstance(self.world.cluster, KubeflowCluster) and self.world.swarm.shape in FENCED:
            self._beside_what_was_told_to_stop(self.world.cluster)

    def _beside_what_was_told_to_stop(self, cluster: KubeflowCluster) -> None:
        """Where pods are fenced none begins beside one that was told to stop, under whatever number."""
        pods = [pod for job in cluster.jobs for pod in job.pods if pod.has_process]
        leaving = [p for p in pods if p.state is PodState.TERMINATING]
        for old in leaving:
            for pod in pods:
                if pod.state is PodState.RUNNING and pod.since > old.since and pod.admission.lift.by is BegunBy.CALL:
                    self.broken(
                        f"two executions at once: a pod of {pod.job.ref.id} A={pod.admission.a} began beside one of"
                        f" {old.job.ref.id} A={old.admission.a}, which was told to stop and is alive"
                    )

    def passed(self, ended: Pass) -> None:
        """No word that a run's processes are gone outlives a look at them: the next gate would rest on it."""
        if ended.found is None or ended.result not in (Result.QUIET, Result.ACTED):
            return
        living = self.watch.living((ended.found, self.watch.found_at(ended.found.as_of)))
        for seen in ended.found.sightings if living else ():
            held = ended.record.objects.get(seen.object) if seen.phase is Phase.RUNNING else None
            run = held.run_record(seen.run) if held is not None else None
            if run is not None and run.proven and any((e.object, e.run) == (seen.object, seen.run) for e in living):
                self.broken(f"{seen.object.id} run {seen.run} was seen to run, and is recorded as gone")

    def landed(self, flight: CallFlight) -> None:
        """Nothing is admitted while a pod of the object runs, or one of the job that its list had to show."""
        cluster, call = self.world.cluster, flight.request.call
        if not isinstance(cluster, KubeflowCluster) or flight.error is not None or not isinstance(call, OpenCall):
            return
        listed_at = flight.task.listed_at if flight.task is not None else None
        for pod in cluster.pods(call.name):
            listed = pod.job.ref == call.object or listed_at is None or pod.born_at <= listed_at
            if pod.has_process and listed:
                self.broken(f"{call.object.id} was admitted with A={call.run} while a pod of A={pod.admission.a} ran")

    def before(self, envelope: Envelope, event: Event) -> None:
        """The Find that an open was decided from showed every other object ended."""
        if not isinstance(event, CallCommitted) or event.verb not in (Verb.OPEN, Verb.ADMIT):
            return
        decided_from = self.watch.decided_from(event.as_of)
        if decided_from is None:
            self.broken(f"open #{event.call} was decided from a Find that was never made")
        found, found_at = decided_from
        flight = self.watch.flight
        if flight is not None and flight.task is not None:
            if found_at < flight.task.read_at:
                self.broken(f"open #{event.call} was decided from a Find made before the record was read")
        for seen in found.sightings:
            ignored = self.watch.chronicle.disposed.get(seen.object) is Disposition.IGNORE
            if seen.object != event.object and seen.phase is not Phase.ENDED and not ignored:
                self.broken(f"open #{event.call} although its own Find showed {seen.object.id} {seen.phase.value}")
        for execution in self.watch.living(decided_from):
            if (execution.object, execution.run) != (event.object, event.run):
                told = f"{execution.object.id} run {execution.run}, of which it was told, lives on"
                self.broken(f"open #{event.call} although {told} {list(execution.alive)}")
        known = {intent.nonce for intent in self.watch.chronicle.calls.values()}
        for late in self.world.calls_on_their_way():
            call = late.request.call
            # One that a lost history authorized is known of once it has arrived (L14).
            if isinstance(call, RequeueCall) and (late.stage == ARRIVED or call.pair.nonce in known):
                self.broken(f"open #{event.call} although requeue #{call.call} can still land")
