"""A cluster in the shape of Kubeflow Trainer, with or without Kueue: one object, its controllers and its pods.

Facts are from Trainer 2.3, JobSet 0.12 and Kueue 0.17: `suspended` says nothing of processes, controllers act on
what they observed last and so create pods late, an ended object whose JobSet goes runs again, ranks that finished
are not run again, and Kueue releases quota while pods are still terminating.
This module holds the objects and what the controllers do by themselves; calls are in `kubeflow_calls`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from adapters.simulated.host import Clock, HostClock
from adapters.simulated.programs import Program, program_of
from adapters.simulated.trainjob import Admission, Pod, PodState, TrainJob
from adapters.simulated.truth import BegunBy, Execution, Lift, Truth
from streams.messages.calls import JobName
from streams.messages.values import Cause, CauseKind, Floor, Sighting


class KubeflowSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What this cluster is like. `pod_fence`: pods are born with a scheduling gate, lifted for the newest A only."""

    nodes: tuple[str, ...] = ("k1", "k2", "k3", "k4")
    call_bound_s: float = 65.0
    kueue: bool = False
    pod_fence: bool = True
    replace_when_failed: bool = True
    keeps_floor: bool = True
    presume_after_s: float | None = None


class KubeflowPace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast pods move by themselves; seconds. The controllers act at once."""

    stop_s: float = 0.0


USUAL = KubeflowSettings()
AT_ONCE = KubeflowPace()


class Bearers:
    """The objects of one job, and what a Find last showed of them. `changes` counts what a watch would tell.

    `called`: the object and A of the newest admission that the agent was called for.
    """

    __slots__ = ("called", "changes", "floor", "jobs", "shown")

    def __init__(self) -> None:
        self.jobs: list[TrainJob] = []
        self.shown: tuple[Sighting, ...] | None = None
        self.floor: Floor | None = None
        self.called: tuple[str, int] | None = None
        self.changes = 0


class KubeflowCluster:
    """The API server's objects and the controllers' own moves. Without a `pace` nothing moves by itself.

    `otherwise`: fields of its capabilities that it tells otherwise than its shape has them.
    """

    def __init__(
        self,
        *,
        name: str = "sim",
        clock: Clock,
        settings: KubeflowSettings = USUAL,
        pace: KubeflowPace | None = AT_ONCE,
    ) -> None:
        self.name = name
        self.host = HostClock(clock)
        self.settings = settings
        self.pace = pace
        self.bound = timedelta(seconds=settings.call_bound_s)
        self.instant: datetime = self.host.now()
        self.truth = Truth(settings.nodes, lambda: self.instant)
        self.jobs: list[TrainJob] = []
        self.names: dict[JobName, Bearers] = {}
        self.changes = 0
        self.refuse_starts = ""
        self.deny_cessation = False
        self.otherwise: dict[str, Any] = {}
        self.out_of_service: list[str] = []
        self._uids = 0

    # objects

    def bearers(self, name: JobName) -> Bearers:
        known = self.names.get(name)
        if known is None:
            known = self.names[name] = Bearers()
        return known

    def next_uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    def add(self, job: TrainJob) -> None:
        self.jobs.append(job)
        self.bearers(job.name).jobs.append(job)
        self.touch(job)

    def touch(self, job: TrainJob) -> None:
        """Something of the object changed below: show it anew."""
        bearers = self.bearers(job.name)
        job.shown = bearers.shown = None
        bearers.changes += 1
        self.changes += 1

    def write(self, job: TrainJob) -> None:
        """The object itself was written: its resource version moves on."""
        job.version += 1
        self.touch(job)

    def pods(self, name: JobName) -> list[Pod]:
        """Every pod of the job that is not finished, of any submission, of a deleted object too."""
        return [pod for job in self.bearers(name).jobs for pod in job.live_pods]

    # what is written

    def admit(self, job: TrainJob, admission: Admission) -> None:
        """One write: the new A and `suspend: false`."""
        job.admission = admission
        job.suspend = False
        job.why = None
        self.write(job)

    def suspend(self, job: TrainJob, why: Cause | None) -> None:
        """One write that always moves the resource version, so that an admission in flight fails."""
        if not job.suspend:
            job.why = why
        job.suspend = True
        self.write(job)

    # what the controllers do by themselves; each says whether anything happened

    def observe(self, job: TrainJob) -> bool:
        """The controllers see the object as it is now."""
        if (job.seen_suspend, job.seen_admission) == (job.suspend, job.admission):
            return False
        job.seen_suspend, job.seen_admission = job.suspend, job.admission
        self.touch(job)
        return True

    def create_pods(self, job: TrainJob) -> bool:
        """Pods for every rank that has none and has not finished, by what was observed last."""
        admission = job.seen_admission
        if job.seen_suspend or job.ended is not None or admission is None or job.gone or job.deleting:
            return False
        active = (PodState.FENCED, PodState.PENDING, PodState.RUNNING)
        blocking = (*active, PodState.TERMINATING) if self.settings.replace_when_failed else active
        taken = [pod.rank for pod in job.pods if pod.state in blocking]
        missing = [rank for rank in range(job.ranks) if rank not in taken and rank not in job.done_ranks]
        born = PodState.FENCED if self.settings.pod_fence else PodState.PENDING
        job.pods.extend(Pod(job, admission, rank, born, self.instant) for rank in missing)
        if missing:
            self.touch(job)
        return bool(missing)

    def lift_fence(self, pod: Pod) -> bool:
        """The agent lifts a pod's scheduling gate: only of the newest A it was called with, and beside no other.

        Nor beside one that was told to stop: an A that Kueue admits again waits until its own last run has gone.
        A pod bears a number, and runs on the word that let this number run last.
        """
        job = pod.job
        newest = (job.ref.created, job.a) == self.bearers(job.name).called
        if pod.state is not PodState.FENCED or job.suspend or job.admission is None or not newest:
            return False
        if pod.admission.a != job.a:
            return False
        for other in self.pods(job.name):
            if other.admission.a != job.a or other.job is not job or other.state is PodState.TERMINATING:
                return False
        pod.state = PodState.PENDING
        pod.admission = job.admission
        self.touch(job)
        return True

    def bind(self, pod: Pod) -> bool:
        """The scheduler puts a pending pod on a free node: its process starts."""
        job = pod.job
        free = self.truth.free()
        if pod.state is not PodState.PENDING or not free:
            return False
        admission = pod.admission
        if admission.execution is None:
            admission.execution = Execution(job.name, job.ref, job.tag, admission.a, admission.lift)
            job.executions.append(admission.execution)
        pod.node = free[0]
        pod.state = PodState.RUNNING
        pod.since = self.instant
        self.truth.begin(admission.execution, (pod.node,))
        self.touch(job)
        return True

    def stop_pods(self, job: TrainJob) -> bool:
        """Controllers that have seen the suspension, or the end, tell the pods to stop."""
        if not (job.seen_suspend or job.ended is not None or job.deleting):
            return False
        changed = False
        for pod in tuple(job.pods):
            if pod.state in (PodState.FENCED, PodState.PENDING):
                job.pods.remove(pod)
                changed = True
            elif pod.state is PodState.RUNNING:
                pod.state = PodState.TERMINATING
                pod.since = self.instant
                changed = True
        if changed:
            self.touch(job)
        return changed

    def pod_goes(self, pod: Pod) -> bool:
        """A terminating pod's process has ended and its node says so."""
        if pod.state is not PodState.TERMINATING or (pod.node and not self.truth.nodes[pod.node].reachable):
            return False
        self.end_process(pod)
        pod.job.pods.remove(pod)
        self.touch(pod.job)
        return True

    def end_process(self, pod: Pod) -> None:
        if pod.node is not None and pod.admission.execution is not None:
            self.truth.end(pod.admission.execution, (pod.node,))

    def pod_ends(self, pod: Pod, cause: Cause) -> bool:
        """A running pod's process exits: the first that fails ends the object, the last that succeeds completes it."""
        if pod.state is not PodState.RUNNING:
            return False
        job = pod.job
        self.end_process(pod)
        well = cause.kind is CauseKind.COMPLETED
        pod.state = PodState.SUCCEEDED if well else PodState.FAILED
        if well:
            job.done_ranks.append(pod.rank)
        if job.ended is None and (not well or len(job.done_ranks) == job.ranks):
            job.ended = cause
            self.write(job)
        self.touch(job)
        return True

    def reserve_quota(self, job: TrainJob) -> bool:
        """Kueue reserves quota: the object is at our check."""
        workload = job.workload
        if workload is None or workload.quota or not workload.active or job.ended is not None or job.gone:
            return False
        workload.quota, workload.evicted = True, False
        self.touch(job)
        return True

    def kueue_admits(self, job: TrainJob) -> bool:
        """Kueue sees Ready with quota reserved and unsuspends, with the A our check brought."""
        workload = job.workload
        if workload is None or not (workload.ready and workload.quota and job.suspend) or job.ended is not None:
            return False
        if not job.may_have_quota:
            return False
        self.admit(job, Admission(workload.check_a, workload.check_lift or Lift(BegunBy.SCHEDULER)))
        return True

    def kueue_suspends(self, job: TrainJob) -> bool:
        """Kueue finds an object running that it has not admitted and suspends it; pods may have begun by then."""
        workload = job.workload
        if workload is None or job.suspend or (workload.ready and workload.quota) or job.gone:
            return False
        self.suspend(job, None)
        return True

    def evict(self, job: TrainJob, why: Cause) -> bool:
        """Kueue takes the quota back: check reset, object suspended; its pods go when they go."""
        workload = job.workload
        if workload is None or not workload.quota:
            return False
        workload.quota, workload.ready, workload.evicted = False, False, True
        self.suspend(job, why)
        return True

    # a cluster that moves by itself

    def advance(self) -> datetime:
        """Let controllers act and carry out what was due by now, in order; the host's present instant."""
        now = self.host.now()
        if self.pace is not None:
            self._controllers_act()
            while (due := self._next_due()) is not None and due[0] <= now:
                self.instant = max(self.instant, due[0])
                pod = due[1]
                if pod.state is PodState.TERMINATING:
                    if not self.pod_goes(pod):
                        pod.since = now + timedelta(seconds=1)
                else:
                    self.pod_ends(pod, self._program(pod.job).cause)
                self._controllers_act()
        self.instant = now
        return now

    def _controllers_act(self) -> None:
        moved = True
        while moved:
            moved = False
            for job in self.jobs:
                steps = (
                    self.reserve_quota,
                    self.kueue_admits,
                    self.kueue_suspends,
                    self.observe,
                    self.create_pods,
                    self.stop_pods,
                )
                for step in steps:
                    moved = step(job) or moved
                for pod in tuple(job.pods):
                    moved = self.lift_fence(pod) or self.bind(pod) or moved

    def _next_due(self) -> tuple[datetime, Pod] | None:
        stop_s = self.pace.stop_s if self.pace else 0.0
        due: list[tuple[datetime, int, Pod]] = []
        for job in self.jobs:
            for pod in job.pods:
                if pod.state is PodState.TERMINATING:
                    due.append((pod.since + timedelta(seconds=stop_s), len(due), pod))
                elif pod.state is PodState.RUNNING and pod.node and self.truth.nodes[pod.node].reachable:
                    due.append((pod.since + timedelta(seconds=self._program(job).runs_s), len(due), pod))
        if not due:
            return None
        first = min(due)
        return first[0], first[2]

    @staticmethod
    def _program(job: TrainJob) -> Program:
        return program_of(job.spec.run) if job.spec else Program(runs_s=3600.0)
