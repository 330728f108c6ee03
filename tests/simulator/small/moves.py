"""What a cluster does by itself: for each of its objects the one thing that would come next. A run never ends alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.slurm_job import JobState, Row, SlurmJob
from adapters.simulated.trainjob import PodState, TrainJob

Move = tuple[str, Callable[[], object]]


def moves(cluster: SlurmCluster | KubeflowCluster) -> list[Move]:
    """Each with its name, in a fixed order."""
    if isinstance(cluster, SlurmCluster):
        return [move for job in cluster.jobs if (move := _slurm(cluster, job)) is not None]
    return [move for job in cluster.jobs for move in _kubeflow(cluster, job)]


def _slurm(cluster: SlurmCluster, job: SlurmJob) -> Move | None:
    if job.state is JobState.PENDING and not job.held and len(cluster.truth.free()) >= 1:
        return f"{job.ref.id} begins run {job.run}", partial(cluster.begin, job)
    if job.state is JobState.COMPLETING:
        return f"{job.ref.id} leaves completing", partial(_complete, cluster, job)
    if job.state is JobState.ENDED and job.row is Row.LATE:
        return f"accounting answers for {job.ref.id}", partial(cluster.write_row, job)
    return None


def _complete(cluster: SlurmCluster, job: SlurmJob) -> None:
    cluster.processes_stop(job)
    cluster.complete(job)


def _kubeflow(cluster: KubeflowCluster, job: TrainJob) -> list[Move]:
    """The controllers observe, create and stop pods; each pod goes on. Only what would change something."""
    found: list[Move] = []
    if (job.seen_suspend, job.seen_admission) != (job.suspend, job.admission):
        found.append((f"{job.ref.id}: the controllers see it", partial(cluster.observe, job)))
    if _creates(job):
        found.append((f"{job.ref.id}: pods are created", partial(cluster.create_pods, job)))
    over = job.seen_suspend or job.ended is not None or job.deleting
    if over and any(pod.state in (PodState.FENCED, PodState.PENDING, PodState.RUNNING) for pod in job.pods):
        found.append((f"{job.ref.id}: pods are told to stop", partial(cluster.stop_pods, job)))
    for pod in job.pods:
        if pod.state is PodState.TERMINATING:
            found.append((f"{job.ref.id}: pod {pod.rank} goes", partial(cluster.pod_goes, pod)))
        elif pod.state is PodState.PENDING and cluster.truth.free():
            found.append((f"{job.ref.id}: pod {pod.rank} begins", partial(cluster.bind, pod)))
        elif pod.state is PodState.FENCED and _lifts(cluster, job) and pod.admission.a == job.a:
            found.append((f"{job.ref.id}: pod {pod.rank} loses its fence", partial(cluster.lift_fence, pod)))
    return found


def _creates(job: TrainJob) -> bool:
    if job.seen_suspend or job.ended is not None or job.seen_admission is None or job.gone:
        return False
    return not job.pods and job.ranks > len(job.done_ranks)


def _lifts(cluster: KubeflowCluster, job: TrainJob) -> bool:
    newest = (job.ref.created, job.a) == cluster.bearers(job.name).called
    others = [
        other
        for other in cluster.pods(job.name)
        if other.admission.a != job.a or other.job is not job or other.state is PodState.TERMINATING
    ]
    return newest and not job.suspend and not others
