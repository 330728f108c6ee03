"""What each call does to a Kubeflow-shaped cluster at the instant it lands.

An admission is three requests: read the object and its resource version, list the pods, write. The write carries
the version read before the list, so whatever happened in between makes it fail with nothing done.
Raises RefusedError, UnreachableError (nothing was done) or PodsRemainError.
"""

from __future__ import annotations

from adapters.errors import PodsRemainError, RefusedError, UnreachableError
from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.trainjob import STOPPED, Admission, TrainJob, Workload
from adapters.simulated.truth import BegunBy, Lift
from streams.messages.calls import (
    Call,
    Capabilities,
    Cessation,
    HoldCall,
    Inspection,
    JobName,
    OpenCall,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import (
    CessationAnswer,
    CessationBasis,
    Found,
    NodeState,
    ObjectRef,
    Phase,
)


class KubeflowCalls:
    """The cluster's answers, each in one instant."""

    def __init__(self, cluster: KubeflowCluster) -> None:
        self.cluster = cluster

    def capabilities(self) -> Capabilities:
        kueue = self.cluster.settings.kueue
        return Capabilities(
            kind="simulated-kueue" if kueue else "simulated-kubeflow",
            call_bound_s=self.cluster.settings.call_bound_s,
            call_deadline_s=15.0,
            first_run=1,
            gate_is_hold=not kueue,
            queues_gated=kueue,
            hold_ends_run=True,
            release_begins_run=not kueue,
            requeue_of=(Phase.RUNNING,),
            ended_runs_again=True,
            presume_after_s=self.cluster.settings.presume_after_s,
            inspect=True,
        )

    # reads

    def find(self, name: JobName) -> Found:
        as_of = self.cluster.advance()
        bearers = self.cluster.bearers(name)
        if bearers.shown is None:
            bearers.shown = tuple(job.sighting() for job in bearers.jobs if not job.gone and not job.hidden)
        return Found(as_of=as_of, floor=bearers.floor, sightings=bearers.shown)

    def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        """Gone only when the chain is closed, no pod is left, and every node of the run can be reached."""
        as_of = self.cluster.advance()
        job = self._known(name, object)
        if job is None or self.cluster.deny_cessation:
            return Cessation(answer=CessationAnswer.MAY_RUN, basis=CessationBasis.OBSERVED, as_of=as_of)
        nodes = dict.fromkeys(n for execution in job.executions if execution.run == run for n in execution.nodes)
        states = tuple(self._node(node, run, job) for node in nodes)
        attested = any(state.state == "out-of-service" for state in states)
        gone = (job.closed or job.gone or run < job.a) and not any(state.may_run for state in states)
        gone = gone and not any(pod.admission.a == run for pod in job.live_pods) and not _about_to_begin(job, run)
        return Cessation(
            answer=CessationAnswer.CEASED if gone else CessationAnswer.MAY_RUN,
            basis=CessationBasis.OPERATOR if gone and attested else CessationBasis.OBSERVED,
            as_of=as_of,
            nodes=states,
        )

    def _node(self, name: str, run: int, job: TrainJob) -> NodeState:
        node = self.cluster.truth.nodes[name]
        if name in self.cluster.out_of_service:
            return NodeState(node=name, state="out-of-service")
        alive = any(name in execution.alive for execution in job.executions if execution.run == run)
        may_run = alive or not node.reachable
        return NodeState(node=name, state=node.state, may_run=(f"{job.ref.id}.{run}",) if may_run else ())

    def inspect(self, name: JobName, object: ObjectRef) -> Inspection:
        self.cluster.advance()
        job = self._known(name, object)
        if job is None or not job.suspend:
            return Inspection()
        remaining = job.live_pods
        return Inspection(pending_reason=f"{len(remaining)} pods remain" if remaining else "suspended at its gate")

    # writes of one request

    def look(self, call: Call) -> None:
        """What the agent notes before it acts: the newest pair for the job (L14) and its newest A."""
        self.cluster.advance()
        bearers = self.cluster.bearers(call.name)
        floor = bearers.floor
        if self.cluster.settings.keeps_floor and (floor is None or call.pair.revision > floor.revision):
            bearers.floor = call.pair
        if isinstance(call, OpenCall | ReleaseCall) and call.run is not None:
            bearers.called = (call.object.created, call.run)

    def start(self, call: StartCall) -> ObjectRef:
        self.cluster.advance()
        if self.cluster.refuse_starts:
            raise RefusedError(self.cluster.refuse_starts)
        called = f"ns/{call.name.job}-s{call.tag.submission}a{call.tag.attempt}"
        if any(job.ref.id == called and not job.gone for job in self.cluster.bearers(call.name).jobs):
            raise RefusedError(f"trainjobs {called} already exists")
        ref = ObjectRef(cluster=self.cluster.name, id=called, created=self.cluster.next_uid())
        job = TrainJob(ref, call.name, call.tag, call.spec, self.cluster.instant)
        if self.cluster.settings.kueue:
            job.workload = Workload()
        self.cluster.add(job)
        return ref

    def hold(self, call: HoldCall) -> None:
        """Plain: suspend, which ends a run. Kueue: deactivate, which evicts; the gate is apart."""
        job = self._meant(call.name, call.object)
        if job.workload is None:
            self.cluster.suspend(job, None)
        else:
            job.workload.active = False
            if not self.cluster.evict(job, STOPPED):
                self.cluster.write(job)
        self.cluster.advance()

    def reactivate(self, call: ReleaseCall) -> None:
        """Kueue: the workload may be given quota again; it still asks at our check."""
        job = self._meant(call.name, call.object)
        if job.workload is not None:
            job.workload.active = True
            self.cluster.write(job)
        self.cluster.advance()

    def requeue(self, call: RequeueCall) -> None:
        """Suspended: the run ends and the object is back at its gate."""
        job = self._meant(call.name, call.object)
        if job.ended is not None:
            raise RefusedError(f"{job.ref.id} has ended")
        if job.a == call.run and not self.cluster.evict(job, STOPPED):
            self.cluster.suspend(job, STOPPED)
        self.cluster.advance()

    def stop(self, call: StopCall) -> None:
        self.cluster.advance()
        job = self._known(call.name, call.object)
        if job is not None:
            self._stop(job)
        self.cluster.advance()

    def stop_job(self, call: StopJobCall) -> None:
        self.cluster.advance()
        for job in tuple(self.cluster.bearers(call.name).jobs):
            if job.ref not in call.spare:
                self._stop(job)
        self.cluster.advance()

    def _stop(self, job: TrainJob) -> None:
        """Marked and suspended: always a write, so that an admission in flight fails."""
        if job.gone:
            return
        job.stopped = True
        if job.workload is not None:
            job.workload.active = False
            self.cluster.evict(job, STOPPED)
        self.cluster.suspend(job, STOPPED)

    # an admission, request by request

    def read_gate(self, call: OpenCall | ReleaseCall) -> int:
        """The object's resource version, if it stands closed at its gate."""
        self.cluster.advance()
        job = self._meant(call.name, call.object)
        if call.run is None or call.run <= job.a:
            raise RefusedError(f"{job.ref.id} was already admitted with A={job.a}")
        if not job.closed:
            raise UnreachableError(f"{job.ref.id}: its controllers have not yet seen it suspended")
        workload = job.workload
        if workload is not None and (not workload.quota or workload.evicted):
            raise UnreachableError(f"{job.ref.id}: no quota is reserved")
        return job.version

    def list_pods(self, call: OpenCall | ReleaseCall) -> None:
        """One list of the namespace: raises PodsRemainError while any pod of the job may hold a process."""
        self.cluster.advance()
        remaining = self.cluster.pods(call.name)
        if remaining:
            names = ", ".join(f"{pod.job.ref.id}-{pod.rank} (A={pod.admission.a})" for pod in remaining[:8])
            raise PodsRemainError(f"pods remain: {names}")

    def write_admission(self, call: OpenCall | ReleaseCall, version: int) -> None:
        """The new A, if nothing was written since `version`: the API server judges by that alone."""
        job = self._there(call.name, call.object)
        if job.version != version:
            raise UnreachableError(f"{job.ref.id}: written by another since it was read")
        lift = Lift(BegunBy.CALL, call)
        a = call.run or 0
        if job.workload is None:
            self.cluster.admit(job, Admission(a, lift))
        else:
            job.workload.ready = True
            job.workload.check_a = a
            job.workload.check_lift = lift
            self.cluster.write(job)
        self.cluster.advance()

    # who is meant

    def _there(self, name: JobName, object: ObjectRef) -> TrainJob:
        self.cluster.advance()
        job = self._known(name, object)
        if job is None or job.gone:
            raise RefusedError(f"trainjobs {object.id!r} not found")
        return job

    def _meant(self, name: JobName, object: ObjectRef) -> TrainJob:
        job = self._there(name, object)
        if job.stopped or job.deleting or job.ended is not None:
            raise RefusedError(f"{job.ref.id} has ended or is being stopped")
        return job

    def _known(self, name: JobName, object: ObjectRef) -> TrainJob | None:
        return next((job for job in self.cluster.bearers(name).jobs if job.ref == object), None)


def _about_to_begin(job: TrainJob, run: int) -> bool:
    """Whether Kueue holds a Ready that would let this run begin, or go on where somebody suspended it beneath Kueue."""
    workload = job.workload
    if workload is None or not workload.ready or workload.check_a != run:
        return False
    return job.a < run or (job.may_have_quota and job.suspend and job.ended is None)
