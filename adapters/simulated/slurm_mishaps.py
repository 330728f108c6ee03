"""What goes wrong on a Slurm-shaped cluster, and what people do on it by hand. Each does nothing where it cannot be.

Every method says whether anything happened, so that whoever picks at random can tell.
"""

from __future__ import annotations

from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.slurm_job import JobState, Row, SlurmJob
from adapters.simulated.truth import BegunBy, Lift
from streams.messages.calls import JobName
from streams.messages.values import Cause, CauseKind, HoldSeen, ObjectRef

OUTSIDE = Cause(kind=CauseKind.STOPPED_OUTSIDE)


class SlurmPeople:
    """A person, or an administrator, at the scheduler's own commands."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self.cluster = cluster
        self._foreign = 0

    def release(self, job: SlurmJob) -> bool:
        """`scontrol release`: opens the gate as well, since both are one bit; where they are two, the hold first."""
        if job.set_aside and job.alive:
            self.cluster.set_aside(job, aside=False)
            return True
        if not job.held or not job.alive:
            return False
        self.cluster.unhold(job, Lift(BegunBy.PERSON))
        return True

    def hold(self, job: SlurmJob, *, admin: bool = False) -> bool:
        """`scontrol hold`. A user's hold of a held job leaves no trace; an administrator's changes the label."""
        if self.cluster.settings.hold_beside_gate and job.alive and not admin:
            self.cluster.set_aside(job, aside=True)
            return True
        if not job.alive or (job.held and not admin):
            return False
        label = HoldSeen.ADMIN if admin else HoldSeen.USER if job.run else HoldSeen.NONE
        self.cluster.hold(job, label)
        return True

    def cancel(self, job: SlurmJob) -> bool:
        """`scancel`: a pending job ends at once, a run when its processes have stopped."""
        if not job.alive or (job.state is JobState.COMPLETING and not job.requeueing):
            return False
        job.cause = OUTSIDE
        if job.state is JobState.PENDING:
            self.cluster.close(job)
        else:
            self.cluster.end_run(job, OUTSIDE)
        return True

    def requeue(self, job: SlurmJob) -> bool:
        """A plain `scontrol requeue`: ends a run, and brings an ended record back, a cancelled one too."""
        if job.purged or job.state is JobState.PENDING or job.requeueing:
            return False
        job.revived = Lift(BegunBy.PERSON)
        if job.state is JobState.ENDED:
            self.cluster.back_to_pending(job)
        else:
            job.requeueing = True
            self.cluster.move(job, JobState.COMPLETING)
        return True

    def submit(self, name: JobName, *, reuse_id: str | None = None) -> SlurmJob:
        """A job that bears our name and no tag of ours; it waits, not held."""
        self._foreign += 1
        ref = ObjectRef(
            cluster=self.cluster.name, id=self.cluster.next_id(reuse_id), created=f"foreign-{self._foreign}"
        )
        job = SlurmJob(ref, name, None, None, self.cluster.advance())
        job.held = False
        job.lift = Lift(BegunBy.PERSON)
        self.cluster.add(job)
        return job


class SlurmMishaps:
    """The scheduler and the machines, at their worst."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self.cluster = cluster

    # runs

    def preempt(self, job: SlurmJob, *, requeue: bool) -> bool:
        """Preempted: cancelled, or requeued by the scheduler although that was refused."""
        if job.state is not JobState.RUNNING:
            return False
        if requeue:
            return self.own_requeue(job)
        self.cluster.end_run(job, Cause(kind=CauseKind.PREEMPTED))
        return True

    def own_requeue(self, job: SlurmJob) -> bool:
        """The scheduler requeues a run of its own accord; the next one is not held."""
        if job.state is not JobState.RUNNING:
            return False
        job.requeueing, job.revived = True, Lift(BegunBy.SCHEDULER)
        self.cluster.move(job, JobState.COMPLETING)
        return True

    def launch_fails(self, job: SlurmJob) -> bool:
        """The prolog fails: the run comes back held, labelled `launch failed requeued held`."""
        if job.state is not JobState.RUNNING:
            return False
        self.cluster.truth.end(job.executions[job.run], self.cluster.settings.nodes)
        job.revived = Lift(BegunBy.SCHEDULER)
        self.cluster.hold(job, HoldSeen.LAUNCH_FAILED)
        self.cluster.back_to_pending(job)
        return True

    # machines

    def lose_node(self, node: str, *, requeue: bool = False) -> bool:
        """The node no longer answers; its processes live on, and its runs end at once or come back."""
        machine = self.cluster.truth.nodes[node]
        if not machine.reachable:
            return False
        machine.reachable = False
        for job in self.cluster.jobs:
            if job.state in (JobState.RUNNING, JobState.COMPLETING) and node in job.executions[job.run].nodes:
                self._lost_under(job, node, requeue=requeue)
        return True

    def _lost_under(self, job: SlurmJob, node: str, *, requeue: bool) -> None:
        if job.state is JobState.RUNNING:
            job.cause = Cause(kind=CauseKind.NODE_LOST, nodes=(node,))
            job.requeueing = requeue
            job.revived = Lift(BegunBy.SCHEDULER) if requeue else job.revived
        alive = job.executions[job.run].alive
        if any(self.cluster.truth.nodes[name].reachable for name in alive):
            self.cluster.move(job, JobState.COMPLETING)
        else:
            self.cluster.complete(job)

    def return_node(self, node: str, *, rebooted: bool) -> bool:
        """The node answers again; without a reboot its old processes are still there."""
        machine = self.cluster.truth.nodes[node]
        if machine.reachable and not machine.drained:
            return False
        if rebooted:
            self.cluster.truth.reboot(node)
        machine.reachable = True
        machine.drained = any(node in run.alive for run in self.cluster.truth.living)
        return True

    def orphans_end(self, node: str) -> bool:
        """Processes that outlived their run on this node end, seen or unseen."""
        ended = False
        current = {id(job.executions[job.run]) for job in self.cluster.jobs if job.state is JobState.RUNNING}
        for execution in tuple(self.cluster.truth.living):
            if node in execution.alive and id(execution) not in current:
                self.cluster.truth.end(execution, (node,))
                ended = True
        if ended and self.cluster.truth.nodes[node].reachable:
            self.cluster.truth.nodes[node].drained = False
        return ended

    # records

    def write_row(self, job: SlurmJob) -> bool:
        if job.row is not Row.LATE:
            return False
        self.cluster.write_row(job)
        return True

    def lose_row(self, job: SlurmJob) -> bool:
        """Accounting never gets to know how this job ended."""
        if job.row is not Row.LATE:
            return False
        job.row = Row.LOST
        self.cluster.touch(job)
        return True

    def purge(self, job: SlurmJob) -> bool:
        if job.state is not JobState.ENDED or job.purged:
            return False
        self.cluster.purge(job)
        return True

    def hide(self, job: SlurmJob) -> bool:
        """A hidden partition, or a row not yet there: it is not shown, whatever it does."""
        if job.hidden:
            return False
        job.hidden = True
        self.cluster.touch(job)
        return True

    def show(self, job: SlurmJob) -> bool:
        if not job.hidden:
            return False
        job.hidden = False
        self.cluster.touch(job)
        return True

    def lose_record(self, job: SlurmJob) -> bool:
        """The controller crashed before it saved this job: its record is gone, its id may be handed out again."""
        if job.purged or job.state is JobState.COMPLETING:
            return False
        job.purged = True
        job.row = Row.LOST
        if job.state is JobState.PENDING:
            self.cluster.close(job)
            job.row = Row.LOST
        self.cluster.touch(job)
        return True
