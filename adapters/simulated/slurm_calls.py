"""What each call does to a Slurm-shaped cluster at the instant it lands.

Raises RefusedError for a clear refusal. Deadlines are checked on the way (`host.Request`), not here: a call that
was in time may land late, up to CallBound, on whatever the object has become by then.
"""

from __future__ import annotations

from adapters.errors import RefusedError
from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.slurm_job import JobState, Row, SlurmJob
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
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    Floor,
    Found,
    HoldSeen,
    NodeState,
    ObjectRef,
    Phase,
)

STOPPED = Cause(kind=CauseKind.STOPPED)


class SlurmCalls:
    """The cluster's answers, each in one instant."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self.cluster = cluster

    def capabilities(self) -> Capabilities:
        settings = self.cluster.settings
        return Capabilities(
            kind="simulated-slurm",
            call_bound_s=settings.call_bound_s,
            gate_is_hold=not settings.hold_beside_gate,
            requeue_of=(Phase.RUNNING,) if settings.incomplete else (Phase.RUNNING, Phase.ENDED),
            fenced_calls=settings.fenced_calls,
            presume_after_s=settings.presume_after_s,
            inspect=True,
        )

    # reads

    def find(self, name: JobName) -> Found:
        as_of = self.cluster.advance()
        bearers = self.cluster.bearers(name)
        if bearers.shown is None:
            bearers.shown = tuple(job.sighting() for job in bearers.jobs if job.visible)
        return Found(as_of=as_of, floor=bearers.floor, sightings=bearers.shown)

    def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        """Gone only when the run is over, and every node of it can be reached and holds no process of it."""
        as_of = self.cluster.advance()
        job = self._known(name, object)
        states: tuple[NodeState, ...] = ()
        gone = False
        if job is not None and not self.cluster.deny_cessation:
            execution = job.executions.get(run)
            over = run < job.run or not job.alive
            states = tuple(self._node(node, run, job) for node in (execution.nodes if execution else ()))
            gone = over and not any(state.may_run for state in states)
        answer = CessationAnswer.CEASED if gone else CessationAnswer.MAY_RUN
        return Cessation(answer=answer, basis=CessationBasis.OBSERVED, as_of=as_of, nodes=states)

    def _node(self, name: str, run: int, job: SlurmJob) -> NodeState:
        node = self.cluster.truth.nodes[name]
        may_run = name in job.executions[run].alive or (not node.reachable)
        return NodeState(node=name, state=node.state, may_run=(f"{job.ref.id}.{run}",) if may_run else ())

    def inspect(self, name: JobName, object: ObjectRef) -> Inspection:
        self.cluster.advance()
        job = self._known(name, object)
        if job is None or job.state is not JobState.PENDING:
            return Inspection()
        return Inspection(pending_reason="JobHeldUser" if job.held else "Resources")

    # writes

    def look(self, call: Call) -> None:
        """What the adapter checks on the host right before it acts: the object is the one meant, at the run meant.

        Also notes the newest pair this host was called with for the job (L14).
        """
        self.cluster.advance()
        bearers = self.cluster.bearers(call.name)
        floor: Floor | None = bearers.floor
        if self.cluster.settings.keeps_floor and (floor is None or call.pair.revision > floor.revision):
            bearers.floor = call.pair
        match call:
            case OpenCall():
                self._at_run(self._meant(call.name, call.object, None), call.run)
            case RequeueCall():
                job = self._meant(call.name, call.object, None)
                self._at_run(job, call.run)
                if not job.alive and (self.cluster.settings.incomplete or job.cause == STOPPED):
                    raise RefusedError(f"job {job.ref.id} has ended for good")
            case HoldCall() | ReleaseCall():
                self._meant(call.name, call.object, None)
            case _:
                pass

    def start(self, call: StartCall) -> ObjectRef:
        self.cluster.advance()
        if self.cluster.refuse_starts:
            raise RefusedError(self.cluster.refuse_starts)
        if call.spec.nodes > len(self.cluster.settings.nodes):
            raise RefusedError("Requested node configuration is not available")
        ref = ObjectRef(cluster=self.cluster.name, id=self.cluster.next_id(), created=call.tag.nonce)
        job = SlurmJob(ref, call.name, call.tag, call.spec, self.cluster.instant)
        job.avoid = call.avoid_nodes
        self.cluster.add(job)
        return ref

    def open(self, call: OpenCall) -> None:
        """Lift the one bit, whatever set it, but an administrator's hold."""
        job = self._meant(call.name, call.object, call.run)
        self._release(job, Lift(BegunBy.CALL, call))

    def release(self, call: ReleaseCall) -> None:
        job = self._meant(call.name, call.object, call.run)
        if self.cluster.settings.hold_beside_gate:
            self.cluster.set_aside(job, aside=False)
            self.cluster.advance()
        else:
            self._release(job, Lift(BegunBy.CALL, call))

    def _release(self, job: SlurmJob, lift: Lift) -> None:
        if not job.alive:
            raise RefusedError(f"Job has already finished for job {job.ref.id}")
        if job.held and job.label is HoldSeen.ADMIN:
            raise RefusedError(f"Access/permission denied for job {job.ref.id}")
        self.cluster.unhold(job, lift)
        self.cluster.advance()

    def hold(self, call: HoldCall) -> None:
        job = self._meant(call.name, call.object, None)
        if not job.alive:
            raise RefusedError(f"Job has already finished for job {job.ref.id}")
        if self.cluster.settings.hold_beside_gate:
            self.cluster.set_aside(job, aside=True)
        elif not job.held:
            self.cluster.hold(job, HoldSeen.USER if job.run else HoldSeen.NONE)

    def requeue(self, call: RequeueCall) -> None:
        """`requeuehold`: the run ends, the next one waits held. With `incomplete` only a run is touched."""
        job = self._meant(call.name, call.object, call.run)
        if job.state is JobState.RUNNING:
            self.cluster.hold(job, HoldSeen.NONE)
            job.requeueing, job.revived = True, None
            self.cluster.move(job, JobState.COMPLETING)
        elif not self.cluster.settings.incomplete and job.state is JobState.ENDED and not job.purged:
            self.cluster.hold(job, HoldSeen.NONE)
            job.revived = None
            self.cluster.back_to_pending(job)
        elif not self.cluster.settings.incomplete:
            raise RefusedError(f"Job is pending execution for job {job.ref.id}")
        self.cluster.advance()

    def stop(self, call: StopCall) -> None:
        self.cluster.advance()
        job = self._known(call.name, call.object)
        if job is not None:
            self._cancel(job)
        self.cluster.advance()

    def stop_job(self, call: StopJobCall) -> None:
        self.cluster.advance()
        for job in tuple(self.cluster.bearers(call.name).jobs):
            if job.ref not in call.spare:
                self._cancel(job)
        self.cluster.advance()

    def _cancel(self, job: SlurmJob) -> None:
        if job.purged:
            return
        if job.state is JobState.PENDING:
            job.cause = STOPPED
            self.cluster.close(job)
        elif job.state is JobState.RUNNING or job.requeueing:
            self.cluster.end_run(job, STOPPED)

    # who is meant

    @staticmethod
    def _at_run(job: SlurmJob, run: int) -> None:
        if job.run != run:
            raise RefusedError(f"job {job.ref.id} is at run {job.run}, not {run}")

    def _meant(self, name: JobName, object: ObjectRef, run: int | None) -> SlurmJob:
        """The job that is addressed; fenced calls cannot reach a later run than `run`."""
        self.cluster.advance()
        job = self._known(name, object)
        if job is None or job.purged:
            raise RefusedError(f"Invalid job id specified for job {object.id}")
        if self.cluster.settings.fenced_calls and run is not None and run != job.run:
            raise RefusedError(f"Invalid job id specified for run {run} of job {object.id}")
        return job

    def _known(self, name: JobName, object: ObjectRef) -> SlurmJob | None:
        for job in self.cluster.bearers(name).jobs:
            if job.ref == object:
                return None if job.row is Row.LOST and job.purged else job
        return None
