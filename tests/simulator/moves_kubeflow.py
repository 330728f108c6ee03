"""Moves of a Kubeflow-shaped cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.kubeflow_mishaps import KubeflowMishaps, KubeflowPeople
from adapters.simulated.trainjob import PodState, TrainJob
from adapters.simulated.truth import BegunBy
from tests.simulator.moves import COMPLETED, ENDS, Moves

if TYPE_CHECKING:
    from tests.simulator.world import World


class KubeflowMoves(Moves[TrainJob]):
    """Moves of a Kubeflow-shaped cluster. Each says in a few words what happened, or nothing."""

    def __init__(self, world: World, cluster: KubeflowCluster) -> None:
        super().__init__(world)
        self.cluster = cluster
        self.jobs = cluster.jobs
        self.truth = cluster.truth
        self.people = KubeflowPeople(cluster)
        self.mishaps = KubeflowMishaps(cluster)
        self.controllers = (
            cluster.observe,
            cluster.create_pods,
            cluster.stop_pods,
            cluster.reserve_quota,
            cluster.kueue_admits,
            cluster.kueue_suspends,
            self.mishaps.deletion_ends,
        )

    def advance(self) -> None:
        self.cluster.advance()

    def natural(self) -> str:
        cluster = self.cluster
        cluster.advance()
        if not cluster.jobs:
            return ""
        job = self.draws.pick(cluster.jobs)
        if job.pods and self.draws.below(2):
            return self.pod_goes_on(job)
        lag = self.world.swarm.levels["controllers-lag"]
        if self.draws.chance(2 * lag):
            return ""
        step = self.draws.pick(self.controllers)
        if not step(job) and not self.draws.chance(6 * lag):
            for other in self.controllers:
                if other(job):
                    return f"{job.ref.id}: {other.__name__}"
            return ""
        return f"{job.ref.id}: {step.__name__}"

    def pod_goes_on(self, job: TrainJob) -> str:
        cluster = self.cluster
        pod = self.draws.pick(job.pods)
        if pod.state is PodState.TERMINATING and self.ends_slowly():
            return ""
        if cluster.lift_fence(pod) or cluster.bind(pod) or cluster.pod_goes(pod):
            return f"{job.ref.id}: pod {pod.rank} of A={pod.admission.a} is {pod.state.value}"
        if (
            pod.state is PodState.RUNNING
            and self.draws.below(self.world.swarm.exits_in) == 0
            and self.cluster.truth.nodes[pod.node or ""].reachable
        ):
            cause = ENDS[self.draws.below(len(ENDS))]
            cluster.pod_ends(pod, cause)
            return f"{job.ref.id}: pod {pod.rank} of A={pod.admission.a} ends: {cause.kind.value}"
        return ""

    def settle_down(self) -> None:
        super().settle_down()
        cluster = self.cluster
        for node in cluster.truth.nodes:
            self.mishaps.return_node(node, rebooted=True)
            self.mishaps.orphans_end(node)
        for job in cluster.jobs:
            self.came_to_light(job, done=self.mishaps.show(job))
            if job.admission is not None and job.admission.lift.by is BegunBy.PERSON:
                self.people.hold(job)

    def head_start(self) -> None:
        self.cluster.advance()
        for job in self.cluster.jobs:
            for step in self.controllers:
                step(job)
            for pod in tuple(job.pods):
                if self.cluster.lift_fence(pod) or self.cluster.bind(pod):
                    self.cluster.bind(pod)

    def calm(self) -> None:
        self.cluster.advance()
        for job in self.cluster.jobs:
            for step in self.controllers:
                step(job)
            for pod in tuple(job.pods):
                if pod in job.pods:
                    cluster = self.cluster
                    if not (cluster.lift_fence(pod) or cluster.bind(pod) or cluster.pod_goes(pod)):
                        cluster.pod_ends(pod, COMPLETED)

    def fault_hide(self) -> str:
        job = self.any_job()
        if job is None:
            return ""
        if self.came_to_light(job, done=self.mishaps.show(job)):
            return f"{job.ref.id} is shown again"
        return f"{job.ref.id} is no longer shown" if self.mishaps.hide(job) else ""

    def fault_lose_node(self) -> str:
        node = self.any_node()
        what = self.draws.below(4)
        if what == 0:
            return f"{node} is lost" if self.mishaps.lose_node(node) else ""
        if what == 1:
            return f"what was left on {node} ends" if self.mishaps.orphans_end(node) else ""
        return f"{node} is back" if self.mishaps.return_node(node, rebooted=what == 3) else ""

    def fault_out_of_service(self) -> str:
        node = self.any_node()
        return f"{node} is out of service" if self.mishaps.take_out_of_service(node) else ""

    def fault_preempt(self) -> str:
        job = self.any_job()
        return f"{job.ref.id} is preempted" if job and self.mishaps.preempt(job) else ""

    def fault_hand_release(self) -> str:
        job = self.any_job()
        return (
            f"a person unsuspends {job.ref.id}"
            if job and self.brought_to_life(job, done=self.people.release(job))
            else ""
        )

    def fault_hand_hold(self) -> str:
        job = self.any_job()
        return f"a person suspends {job.ref.id}" if job and self.people.hold(job) else ""

    def fault_hand_cancel(self) -> str:
        job = self.any_job()
        if job is not None and self.draws.below(3) == 2:
            return f"a person deletes {job.ref.id} at once" if self.people.delete_at_once(job) else ""
        return f"a person deletes {job.ref.id}" if job and self.people.cancel(job) else ""

    def fault_foreign(self) -> str:
        if len(self.cluster.jobs) > 6:
            return ""
        job = self.people.submit(self.world.name)
        running = self.draws.below(2) == 1 and self.people.release(job)
        self.brought_to_life(job, done=True)
        return f"a person creates {job.ref.id} under our label, to run at once: {running}"

    def fault_jobset_goes(self) -> str:
        job = self.any_job()
        done = job is not None and self.brought_to_life(job, done=self.mishaps.jobset_goes(job))
        return f"{job.ref.id}: its JobSet is deleted, the end is forgotten" if job and done else ""

    def fault_old_ready(self) -> str:
        job = self.any_job()
        if job is None:
            return ""
        if self.draws.below(2):
            return f"{job.ref.id}: our Ready is lost" if self.mishaps.check_set_back(job) else ""
        done = self.brought_to_life(job, done=self.mishaps.old_ready_returns(job))
        return f"{job.ref.id}: an old Ready returns" if done else ""

    def fault_refuse_start(self) -> str:
        self.cluster.refuse_starts = "" if self.cluster.refuse_starts else "admission webhook denied the request"
        return f"starts are refused: {bool(self.cluster.refuse_starts)}"

    def fault_deny_cessation(self) -> str:
        self.cluster.deny_cessation = not self.cluster.deny_cessation
        return f"cessation cannot be told: {self.cluster.deny_cessation}"
