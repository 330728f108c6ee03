"""What the cluster does of its own accord, and what goes wrong on it, one move at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.kubeflow_mishaps import KubeflowMishaps, KubeflowPeople
from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.slurm_job import JobState, Row, SlurmJob
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from adapters.simulated.trainjob import PodState, TrainJob
from streams.messages.values import Cause, CauseKind, HoldSeen
from tests.simulator.draws import Draws
from tests.simulator.swarm import Swarm

if TYPE_CHECKING:
    from tests.simulator.world import World

COMPLETED = Cause(kind=CauseKind.COMPLETED, exit_code=0)
ENDS = (
    COMPLETED,
    Cause(kind=CauseKind.EXIT_CODE, exit_code=1, rank=0, nodes=("n1",)),
    COMPLETED,
    Cause(kind=CauseKind.EXIT_CODE, exit_code=3, rank=1, nodes=("n2",)),
    Cause(kind=CauseKind.TIME_LIMIT),
    Cause(kind=CauseKind.OUT_OF_MEMORY),
)


class SlurmMoves:
    """Moves of a Slurm-shaped cluster. Each says in a few words what happened, or nothing."""

    def __init__(self, world: World, cluster: SlurmCluster) -> None:
        self.world = world
        self.cluster = cluster
        self.draws: Draws = world.draws
        self.people = SlurmPeople(cluster)
        self.mishaps = SlurmMishaps(cluster)
        self.faults = self._table(world.swarm)

    def _table(self, swarm: Swarm) -> list[str]:
        table: list[str] = []
        for name in dir(self):
            if name.startswith("fault_"):
                table += [name] * min(4, swarm.level(name.removeprefix("fault_").replace("_", "-")).bit_length() // 2)
        return table

    def natural(self) -> str:
        """The next thing that some job would do by itself."""
        cluster = self.cluster
        cluster.advance()
        if not cluster.jobs:
            return ""
        job = self.draws.pick(cluster.jobs)
        return self.go_on(job)

    def go_on(self, job: SlurmJob) -> str:
        cluster = self.cluster
        if job.state is JobState.PENDING:
            return f"{job.ref.id} begins run {job.run}" if cluster.begin(job) else ""
        if job.state is JobState.RUNNING:
            cause = ENDS[self.draws.below(len(ENDS))]
            cluster.exit_by_itself(job, cause)
            return f"{job.ref.id} run {job.run} exits: {cause.kind.value}"
        if job.state is JobState.COMPLETING:
            if self.world.calm or not self.draws.chance(self.world.swarm.level("stragglers")):
                cluster.processes_stop(job)
            cluster.complete(job)
            return f"{job.ref.id} leaves completing: {job.state.value} run {job.run}"
        if job.row is Row.LATE:
            cluster.write_row(job)
            return f"{job.ref.id}: accounting has answered"
        return ""

    def settle_down(self) -> None:
        """The calm after everything: all is shown again, nodes are back, rows are written, runs go on."""
        cluster = self.cluster
        cluster.refuse_starts = ""
        cluster.deny_cessation = False
        for node in cluster.truth.nodes:
            self.mishaps.return_node(node, rebooted=True)
            self.mishaps.orphans_end(node)
            cluster.truth.nodes[node].drained = False
        for job in cluster.jobs:
            if job.label is HoldSeen.ADMIN:
                cluster.hold(job, HoldSeen.NONE)
            self._shown(job, done=self.mishaps.show(job))

    def calm(self) -> None:
        """Every job goes on by itself for a while."""
        self.cluster.advance()
        for job in self.cluster.jobs:
            job.avoid = ()
            if job.state is not JobState.PENDING or not job.held:
                self.go_on(job)

    def fault(self) -> str:
        """One thing that goes wrong, of those this run has."""
        if not self.faults:
            return ""
        self.cluster.advance()
        name = self.draws.pick(self.faults)
        happened: str = getattr(self, name)()
        return happened

    def _wild(self, job: SlurmJob | TrainJob, *, done: bool) -> bool:
        """Remember that this object was brought to life by no call of ours, if it was."""
        if done:
            self.world.watch.wild[job.ref] = self.world.steps
        return done

    def _shown(self, job: SlurmJob | TrainJob, *, done: bool) -> bool:
        if done:
            self.world.shown_at[job.ref] = self.world.steps
        return done

    def _job(self) -> SlurmJob | None:
        return self.draws.pick(self.cluster.jobs) if self.cluster.jobs else None

    def _node(self) -> str:
        return self.draws.pick(self.cluster.settings.nodes)

    def fault_purge(self) -> str:
        job = self._job()
        return f"{job.ref.id} is purged" if job and self.mishaps.purge(job) else ""

    def fault_row_lost(self) -> str:
        job = self._job()
        return f"{job.ref.id}: accounting loses its row" if job and self.mishaps.lose_row(job) else ""

    def fault_hide(self) -> str:
        job = self._job()
        if job is None:
            return ""
        if self._shown(job, done=self.mishaps.show(job)):
            return f"{job.ref.id} is shown again"
        return f"{job.ref.id} is no longer shown" if self.mishaps.hide(job) else ""

    def fault_lost_record(self) -> str:
        job = self._job()
        return f"{job.ref.id}: the controller lost its record" if job and self.mishaps.lose_record(job) else ""

    def fault_lose_node(self) -> str:
        node = self._node()
        what = self.draws.below(4)
        if what < 2:
            requeue = what == 1 and self.world.swarm.level("own-requeue") > 0
            for job in self.cluster.jobs:
                self._wild(job, done=requeue and job.state in (JobState.RUNNING, JobState.COMPLETING))
            return f"{node} is lost" if self.mishaps.lose_node(node, requeue=requeue) else ""
        if what == 2:
            return f"what was left on {node} ends" if self.mishaps.orphans_end(node) else ""
        rebooted = self.draws.below(2) == 1
        return f"{node} is back, rebooted: {rebooted}" if self.mishaps.return_node(node, rebooted=rebooted) else ""

    def fault_stragglers(self) -> str:
        node = self._node()
        return f"what was left on {node} ends" if self.mishaps.orphans_end(node) else ""

    def fault_own_requeue(self) -> str:
        job = self._job()
        if job is None:
            return ""
        if self.draws.below(3) == 2:
            done = self._wild(job, done=self.mishaps.launch_fails(job))
            return f"{job.ref.id}: launch failed, requeued held" if done else ""
        done = self._wild(job, done=self.mishaps.own_requeue(job))
        return f"{job.ref.id} is requeued by the scheduler" if done else ""

    def fault_preempt(self) -> str:
        job = self._job()
        requeue = self.draws.below(4) == 3 and self.world.swarm.level("own-requeue") > 0
        if job is None or not self.mishaps.preempt(job, requeue=requeue):
            return ""
        self._wild(job, done=requeue)
        return f"{job.ref.id} is preempted, requeued: {requeue}"

    def fault_hand_release(self) -> str:
        job = self._job()
        return f"a person releases {job.ref.id}" if job and self._wild(job, done=self.people.release(job)) else ""

    def fault_hand_hold(self) -> str:
        job = self._job()
        admin = self.draws.below(4) == 3
        return f"a person holds {job.ref.id}" if job and self.people.hold(job, admin=admin) else ""

    def fault_hand_cancel(self) -> str:
        job = self._job()
        return f"a person cancels {job.ref.id}" if job and self.people.cancel(job) else ""

    def fault_hand_requeue(self) -> str:
        job = self._job()
        return f"a person requeues {job.ref.id}" if job and self._wild(job, done=self.people.requeue(job)) else ""

    def fault_foreign(self) -> str:
        if len(self.cluster.jobs) > 6:
            return ""
        lost = [job.ref.id for job in self.cluster.jobs if job.purged]
        job = self.people.submit(self.world.name, reuse_id=lost[0] if lost and self.draws.below(2) else None)
        self._wild(job, done=True)
        return f"a person submits {job.ref.id} under our name"

    def fault_refuse_start(self) -> str:
        self.cluster.refuse_starts = "" if self.cluster.refuse_starts else "invalid partition specified"
        return f"starts are refused: {bool(self.cluster.refuse_starts)}"

    def fault_deny_cessation(self) -> str:
        self.cluster.deny_cessation = not self.cluster.deny_cessation
        return f"cessation cannot be told: {self.cluster.deny_cessation}"


class KubeflowMoves:
    """Moves of a Kubeflow-shaped cluster. Each says in a few words what happened, or nothing."""

    def __init__(self, world: World, cluster: KubeflowCluster) -> None:
        self.world = world
        self.cluster = cluster
        self.draws: Draws = world.draws
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
        self.faults = self._table(world.swarm)

    _table = SlurmMoves._table

    def natural(self) -> str:
        cluster = self.cluster
        cluster.advance()
        if not cluster.jobs:
            return ""
        job = self.draws.pick(cluster.jobs)
        if job.pods and self.draws.below(2):
            return self.pod_goes_on(job)
        step = self.draws.pick(self.controllers)
        if not step(job) and not self.draws.chance(self.world.swarm.level("controllers-lag")):
            for other in self.controllers:
                if other(job):
                    return f"{job.ref.id}: {other.__name__}"
            return ""
        return f"{job.ref.id}: {step.__name__}"

    def pod_goes_on(self, job: TrainJob) -> str:
        cluster = self.cluster
        pod = self.draws.pick(job.pods)
        if cluster.lift_fence(pod) or cluster.bind(pod) or cluster.pod_goes(pod):
            return f"{job.ref.id}: pod {pod.rank} of A={pod.admission.a} is {pod.state.value}"
        if pod.state is PodState.RUNNING and self.cluster.truth.nodes[pod.node or ""].reachable:
            cause = ENDS[self.draws.below(len(ENDS))]
            cluster.pod_ends(pod, cause)
            return f"{job.ref.id}: pod {pod.rank} of A={pod.admission.a} ends: {cause.kind.value}"
        return ""

    def settle_down(self) -> None:
        cluster = self.cluster
        cluster.refuse_starts = ""
        cluster.deny_cessation = False
        for node in cluster.truth.nodes:
            self.mishaps.return_node(node, rebooted=True)
            self.mishaps.orphans_end(node)
        for job in cluster.jobs:
            self._shown(job, done=self.mishaps.show(job))

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

    fault = SlurmMoves.fault
    _wild = SlurmMoves._wild
    _shown = SlurmMoves._shown

    def _job(self) -> TrainJob | None:
        return self.draws.pick(self.cluster.jobs) if self.cluster.jobs else None

    def _node(self) -> str:
        return self.draws.pick(self.cluster.settings.nodes)

    def fault_hide(self) -> str:
        job = self._job()
        if job is None:
            return ""
        if self._shown(job, done=self.mishaps.show(job)):
            return f"{job.ref.id} is shown again"
        return f"{job.ref.id} is no longer shown" if self.mishaps.hide(job) else ""

    def fault_lose_node(self) -> str:
        node = self._node()
        what = self.draws.below(5)
        if what == 0:
            return f"{node} is lost" if self.mishaps.lose_node(node) else ""
        if what == 1:
            return f"{node} is out of service" if self.mishaps.take_out_of_service(node) else ""
        if what == 2:
            return f"what was left on {node} ends" if self.mishaps.orphans_end(node) else ""
        return f"{node} is back" if self.mishaps.return_node(node, rebooted=what == 4) else ""

    def fault_preempt(self) -> str:
        job = self._job()
        return f"{job.ref.id} is preempted" if job and self.mishaps.preempt(job) else ""

    def fault_hand_release(self) -> str:
        job = self._job()
        return f"a person unsuspends {job.ref.id}" if job and self._wild(job, done=self.people.release(job)) else ""

    def fault_hand_hold(self) -> str:
        job = self._job()
        return f"a person suspends {job.ref.id}" if job and self.people.hold(job) else ""

    def fault_hand_cancel(self) -> str:
        job = self._job()
        if job is not None and self.draws.below(3) == 2:
            return f"a person deletes {job.ref.id} at once" if self.people.delete_at_once(job) else ""
        return f"a person deletes {job.ref.id}" if job and self.people.cancel(job) else ""

    def fault_foreign(self) -> str:
        if len(self.cluster.jobs) > 6:
            return ""
        job = self.people.submit(self.world.name)
        self._wild(job, done=True)
        return f"a person creates {job.ref.id} under our label"

    def fault_jobset_goes(self) -> str:
        job = self._job()
        done = job is not None and self._wild(job, done=self.mishaps.jobset_goes(job))
        return f"{job.ref.id}: its JobSet is deleted, the end is forgotten" if job and done else ""

    def fault_old_ready(self) -> str:
        job = self._job()
        if job is None:
            return ""
        if self.draws.below(2):
            return f"{job.ref.id}: our Ready is lost" if self.mishaps.check_set_back(job) else ""
        done = self._wild(job, done=self.mishaps.old_ready_returns(job))
        return f"{job.ref.id}: an old Ready returns" if done else ""

    def fault_refuse_start(self) -> str:
        self.cluster.refuse_starts = "" if self.cluster.refuse_starts else "admission webhook denied the request"
        return f"starts are refused: {bool(self.cluster.refuse_starts)}"

    def fault_deny_cessation(self) -> str:
        self.cluster.deny_cessation = not self.cluster.deny_cessation
        return f"cessation cannot be told: {self.cluster.deny_cessation}"
