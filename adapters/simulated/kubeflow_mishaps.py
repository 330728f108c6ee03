"""What goes wrong on a Kubeflow-shaped cluster, and what people do on it by hand. Each does nothing where it cannot be.

Every method says whether anything happened. Controllers that lag need no method: they act when they are told to,
on what they observed last.
"""

from __future__ import annotations

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.trainjob import Admission, PodState, TrainJob, Workload
from adapters.simulated.truth import BegunBy, Lift
from streams.messages.calls import JobName
from streams.messages.values import Cause, CauseKind, ObjectRef

OUTSIDE = Cause(kind=CauseKind.STOPPED_OUTSIDE)
PREEMPTED = Cause(kind=CauseKind.PREEMPTED)


class KubeflowPeople:
    """A person with rights on the namespace."""

    def __init__(self, cluster: KubeflowCluster) -> None:
        self.cluster = cluster
        self._foreign = 0

    def release(self, job: TrainJob) -> bool:
        """`suspend: false` by hand: the gate is open, with the A of before, and Kueue suspends it again later."""
        if not job.suspend or job.gone or job.deleting or job.ended is not None:
            return False
        self.cluster.admit(job, Admission(job.a, Lift(BegunBy.PERSON)))
        return True

    def hold(self, job: TrainJob) -> bool:
        """`suspend: true` by hand: ends a run."""
        if job.suspend or job.gone:
            return False
        self.cluster.suspend(job, OUTSIDE)
        return True

    def reactivate(self, job: TrainJob) -> bool:
        """A deactivated workload is made active again: it may be given quota, and asks at our check."""
        workload = job.workload
        if workload is None or workload.active or job.stopped or job.gone or job.deleting:
            return False
        workload.active = True
        self.cluster.write(job)
        return True

    def cancel(self, job: TrainJob) -> bool:
        """Foreground deletion: the object stays, being deleted, while a pod of it is left."""
        if job.deleting or job.gone:
            return False
        job.deleting = True
        self.cluster.suspend(job, OUTSIDE)
        return True

    def delete_at_once(self, job: TrainJob) -> bool:
        """Background deletion: the object is gone now, its pods go when they go."""
        if job.gone:
            return False
        job.gone = True
        for pod in tuple(job.pods):
            if pod.state is PodState.RUNNING:
                pod.state = PodState.TERMINATING
            elif pod.state is not PodState.TERMINATING:
                job.pods.remove(pod)
        self.cluster.write(job)
        return True

    def submit(self, name: JobName) -> TrainJob:
        """An object that bears our label and no tag of ours; it is suspended."""
        self._foreign += 1
        uid = self.cluster.next_uid()
        ref = ObjectRef(cluster=self.cluster.name, id=f"ns/foreign-{self._foreign}", created=uid)
        job = TrainJob(ref, name, None, None, self.cluster.advance())
        if self.cluster.settings.kueue:
            job.workload = Workload()
        self.cluster.add(job)
        return job


class KubeflowMishaps:
    """The controllers and the machines, at their worst."""

    def __init__(self, cluster: KubeflowCluster) -> None:
        self.cluster = cluster

    # objects

    def deletion_ends(self, job: TrainJob) -> bool:
        """A foreground deletion is done once no pod is left."""
        if not job.deleting or job.gone or job.live_pods:
            return False
        job.gone = True
        self.cluster.write(job)
        return True

    def jobset_goes(self, job: TrainJob) -> bool:
        """The JobSet of an ended object is deleted: the end is forgotten, and it runs again unless suspended.

        Ranks that had finished are not run again.
        """
        if job.ended is None or job.gone or len(job.done_ranks) == job.ranks:
            return False
        job.ended = None
        job.pods = [pod for pod in job.pods if pod.state not in (PodState.SUCCEEDED, PodState.FAILED)]
        if not job.suspend and job.admission is not None:
            job.admission = Admission(job.a, job.admission.lift)
        self.cluster.write(job)
        return True

    def hide(self, job: TrainJob) -> bool:
        """A list that lacks it, whatever it does."""
        if job.hidden:
            return False
        job.hidden = True
        self.cluster.touch(job)
        return True

    def show(self, job: TrainJob) -> bool:
        if not job.hidden:
            return False
        job.hidden = False
        self.cluster.touch(job)
        return True

    # Kueue

    def preempt(self, job: TrainJob) -> bool:
        return self.cluster.evict(job, PREEMPTED)

    def check_set_back(self, job: TrainJob) -> bool:
        """A status write from a stale copy: our Ready is lost without a trace."""
        workload = job.workload
        if workload is None or not workload.ready or not job.suspend:
            return False
        workload.ready = False
        self.cluster.write(job)
        return True

    def old_ready_returns(self, job: TrainJob) -> bool:
        """A status write from a stale copy: an earlier Ready stands again, with the A it had.

        Not where Kueue holds no quota for it whatever the checks say: deactivated, or being deleted.
        """
        workload = job.workload
        if workload is None or workload.ready or not workload.check_a or job.ended is not None or job.stopped:
            return False
        if not job.may_have_quota:
            return False
        workload.ready = workload.quota = True
        workload.evicted = False
        self.cluster.write(job)
        return True

    # machines

    def lose_node(self, node: str) -> bool:
        """The kubelet no longer answers: pods stay as they are, their processes live on."""
        machine = self.cluster.truth.nodes[node]
        if not machine.reachable:
            return False
        machine.reachable = False
        return True

    def take_out_of_service(self, node: str) -> bool:
        """An operator taints a lost node: its pods are removed by force, whatever runs there."""
        if self.cluster.truth.nodes[node].reachable or node in self.cluster.out_of_service:
            return False
        self.cluster.out_of_service.append(node)
        for job in self.cluster.jobs:
            forced = [pod for pod in job.live_pods if pod.node == node]
            for pod in forced:
                job.pods.remove(pod)
                self.cluster.touch(job)
            if any(pod.state is PodState.RUNNING for pod in forced) and job.ended is None:
                job.ended = Cause(kind=CauseKind.NODE_LOST, nodes=(node,))
                self.cluster.write(job)
        return True

    def return_node(self, node: str, *, rebooted: bool) -> bool:
        """The kubelet answers again; rebooted, its pods have failed or gone."""
        machine = self.cluster.truth.nodes[node]
        if machine.reachable:
            return False
        if rebooted:
            self._reboot(node)
        machine.reachable = True
        if node in self.cluster.out_of_service:
            self.cluster.out_of_service.remove(node)
        return True

    def _reboot(self, node: str) -> None:
        """A running pod fails with its machine; a terminating one goes."""
        for job in self.cluster.jobs:
            for pod in [pod for pod in job.live_pods if pod.node == node]:
                if pod.state is PodState.RUNNING:
                    self.cluster.pod_ends(pod, Cause(kind=CauseKind.NODE_LOST, nodes=(node,)))
                else:
                    job.pods.remove(pod)
                self.cluster.touch(job)
        self.cluster.truth.reboot(node)

    def orphans_end(self, node: str) -> bool:
        """Processes without a pod on this node end."""
        with_pod = {
            id(pod.admission.execution)
            for job in self.cluster.jobs
            for pod in job.live_pods
            if pod.node == node and pod.has_process
        }
        ended = False
        for execution in tuple(self.cluster.truth.living):
            if node in execution.alive and id(execution) not in with_pod:
                self.cluster.truth.end(execution, (node,))
                ended = True
        return ended
