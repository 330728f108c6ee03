"""Moves of a Slurm-shaped cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.slurm_job import JobState, Row, SlurmJob
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from streams.messages.values import HoldSeen, ObjectRef
from tests.simulator.moves import ENDS, Moves

if TYPE_CHECKING:
    from tests.simulator.world import World


class SlurmMoves(Moves[SlurmJob]):
    """Moves of a Slurm-shaped cluster. Each says in a few words what happened, or nothing."""

    def __init__(self, world: World, cluster: SlurmCluster) -> None:
        super().__init__(world)
        self.cluster = cluster
        self.jobs = cluster.jobs
        self.truth = cluster.truth
        self.people = SlurmPeople(cluster)
        self.mishaps = SlurmMishaps(cluster)

    def advance(self) -> None:
        self.cluster.advance()

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
            slow = self.world.swarm.levels["slow-start"]
            if slow and not self.world.calm and self.draws.chance(1024 - 4096 // slow):
                return ""
            return f"{job.ref.id} begins run {job.run}" if cluster.begin(job) else ""
        if job.state is JobState.RUNNING:
            if not self.world.calm and self.draws.below(self.world.swarm.exits_in):
                return ""
            cause = ENDS[self.draws.below(len(ENDS))]
            cluster.exit_by_itself(job, cause)
            return f"{job.ref.id} run {job.run} exits: {cause.kind.value}"
        if job.state is JobState.COMPLETING:
            if self.ends_slowly():
                return ""
            if self.world.calm or not self.draws.chance(self.world.swarm.levels["stragglers"]):
                cluster.processes_stop(job)
            cluster.complete(job)
            return f"{job.ref.id} leaves completing: {job.state.value} run {job.run}"
        if job.row is Row.LATE:
            cluster.write_row(job)
            return f"{job.ref.id}: accounting has answered"
        return ""

    def settle_down(self) -> None:
        """The calm after everything: all is shown again, nodes are back, rows are written, runs go on."""
        super().settle_down()
        cluster = self.cluster
        for node in cluster.truth.nodes:
            self.mishaps.return_node(node, rebooted=True)
            self.mishaps.orphans_end(node)
            cluster.truth.nodes[node].drained = False
        for job in cluster.jobs:
            if job.label is HoldSeen.ADMIN:
                cluster.hold(job, HoldSeen.NONE)
            self.came_to_light(job, done=self.mishaps.show(job))

    def head_start(self) -> None:
        """What may begin begins."""
        self.cluster.advance()
        for job in self.cluster.jobs:
            self.cluster.begin(job)

    def calm(self) -> None:
        """Every job goes on by itself for a while."""
        self.cluster.advance()
        for job in self.cluster.jobs:
            job.avoid = ()
            if job.state is not JobState.PENDING or not job.held:
                self.go_on(job)

    def fault_purge(self) -> str:
        job = self.any_job()
        return f"{job.ref.id} is purged" if job and self.mishaps.purge(job) else ""

    def fault_row_lost(self) -> str:
        job = self.any_job()
        return f"{job.ref.id}: accounting loses its row" if job and self.mishaps.lose_row(job) else ""

    def fault_hide(self) -> str:
        job = self.any_job()
        if job is None:
            return ""
        if self.came_to_light(job, done=self.mishaps.show(job)):
            return f"{job.ref.id} is shown again"
        return f"{job.ref.id} is no longer shown" if self.mishaps.hide(job) else ""

    def fault_lost_record(self) -> str:
        job = self.any_job()
        return f"{job.ref.id}: the controller lost its record" if job and self.mishaps.lose_record(job) else ""

    def fault_lose_node(self) -> str:
        node = self.any_node()
        what = self.draws.below(4)
        if what < 2:
            requeue = what == 1 and self.world.swarm.levels["own-requeue"] > 0
            running = [job for job in self.cluster.jobs if job.state is JobState.RUNNING]
            lost = self.mishaps.lose_node(node, requeue=requeue)
            for job in running:
                self.brought_to_life(job, done=requeue and job.state is not JobState.RUNNING)
            return f"{node} is lost" if lost else ""
        if what == 2:
            return f"what was left on {node} ends" if self.mishaps.orphans_end(node) else ""
        rebooted = self.draws.below(2) == 1
        return f"{node} is back, rebooted: {rebooted}" if self.mishaps.return_node(node, rebooted=rebooted) else ""

    def fault_stragglers(self) -> str:
        node = self.any_node()
        return f"what was left on {node} ends" if self.mishaps.orphans_end(node) else ""

    def fault_own_requeue(self) -> str:
        job = self.any_job()
        if job is None:
            return ""
        if self.draws.below(3) == 2:
            done = self.brought_to_life(job, done=self.mishaps.launch_fails(job))
            return f"{job.ref.id}: launch failed, requeued held" if done else ""
        done = self.brought_to_life(job, done=self.mishaps.own_requeue(job))
        return f"{job.ref.id} is requeued by the scheduler" if done else ""

    def fault_duplicate_start(self) -> str:
        """A submission that its client sent again: a second object with the same tag."""
        ours = [job for job in self.cluster.jobs if job.tag is not None and job.spec is not None]
        if not ours or len(self.cluster.jobs) > 6:
            return ""
        first = self.draws.pick(ours)
        assert first.tag is not None
        ref = ObjectRef(cluster=self.cluster.name, id=self.cluster.next_id(), created=first.ref.created)
        second = SlurmJob(ref, first.name, first.tag, first.spec, self.cluster.instant)
        self.cluster.add(second)
        self.brought_to_life(second)
        return f"{first.ref.id} was submitted twice: {ref.id}"

    def fault_preempt(self) -> str:
        job = self.any_job()
        requeue = self.draws.below(4) == 3 and self.world.swarm.levels["own-requeue"] > 0
        if job is None or not self.mishaps.preempt(job, requeue=requeue):
            return ""
        self.brought_to_life(job, done=requeue)
        return f"{job.ref.id} is preempted, requeued: {requeue}"

    def fault_hand_release(self) -> str:
        job = self.any_job()
        return (
            f"a person releases {job.ref.id}"
            if job and self.brought_to_life(job, done=self.people.release(job))
            else ""
        )

    def fault_hand_hold(self) -> str:
        job = self.any_job()
        admin = self.draws.below(4) == 3
        return f"a person holds {job.ref.id}" if job and self.people.hold(job, admin=admin) else ""

    def fault_hand_cancel(self) -> str:
        job = self.any_job()
        return f"a person cancels {job.ref.id}" if job and self.people.cancel(job) else ""

    def fault_hand_requeue(self) -> str:
        job = self.any_job()
        return (
            f"a person requeues {job.ref.id}"
            if job and self.brought_to_life(job, done=self.people.requeue(job))
            else ""
        )

    def fault_foreign(self) -> str:
        if len(self.cluster.jobs) > 6:
            return ""
        lost = [job.ref.id for job in self.cluster.jobs if job.purged]
        job = self.people.submit(self.world.name, reuse_id=lost[0] if lost and self.draws.below(2) else None)
        self.brought_to_life(job, done=True)
        return f"a person submits {job.ref.id} under our name"

    def fault_refuse_start(self) -> str:
        self.cluster.refuse_starts = "" if self.cluster.refuse_starts else "invalid partition specified"
        return f"starts are refused: {bool(self.cluster.refuse_starts)}"

    def fault_deny_cessation(self) -> str:
        self.cluster.deny_cessation = not self.cluster.deny_cessation
        return f"cessation cannot be told: {self.cluster.deny_cessation}"
