"""Ways on a Kubeflow-shaped cluster: admissions, pods that come and go late, objects that run again."""

from __future__ import annotations

from tests.simulator.scenarios.steps import FAILED, running
from tests.simulator.script import Script


def a_jobset_goes_beside_the_next_submission() -> Script:
    """A failed TrainJob runs again by itself when its JobSet is deleted: N+1 waits until it is stopped."""
    s = running("kubeflow-unfenced")
    s.cluster.pod_ends(s.first.pods[0], FAILED)
    s.looks()
    s.settles(s.one, 5)
    for job in s.jobs[1:]:
        s.moves_on(job)
    s.mishaps.jobset_goes(s.first)
    s.moves_on(s.first)
    s.looks()
    s.settles(s.one)
    return s


def pods_that_come_between_the_list_and_the_write() -> Script:
    """Suspended by hand and flipped: a pod is born after the list, and the write must notice."""
    s = Script("kubeflow-unfenced")
    s.settles(s.one)
    s.passes(s.one)
    s.arrives(s.sent("open: read"))
    s.answers(s.sent("open: read"))
    s.arrives(s.sent("open: list"))
    s.answers(s.sent("open: list"))
    s.people.release(s.first)
    s.moves_on(s.first)
    s.people.hold(s.first)
    s.cluster.observe(s.first)
    s.cluster.stop_pods(s.first)
    s.looks()
    write = s.sent("open")
    s.lands(write)
    s.moves_on(s.first)
    s.looks()
    s.rest()
    return s


def an_admission_on_its_way_when_the_job_is_cancelled() -> Script:
    """A stop always writes, so that an admission in flight fails."""
    s = Script("kubeflow-unfenced")
    s.settles(s.one)
    s.passes(s.one)
    s.arrives(s.sent("open: read"))
    s.answers(s.sent("open: read"))
    s.arrives(s.sent("open: list"))
    s.answers(s.sent("open: list"))
    write = s.sent("open")
    s.arrives(write)
    s.loses(write)
    s.cancels()
    s.settles(s.two, 1)
    for _ in range(6):
        s.waits(6)
        s.settles(s.two)
    if write.request.can_land:
        s.lands(write)
    s.moves_on(s.first)
    s.looks()
    s.settles(s.two)
    return s


def an_undecided_admission() -> Script:
    """The write's answer is lost: what follows is a new A, never the same one again."""
    s = Script("kubeflow-unfenced")
    s.settles(s.one)
    s.passes(s.one)
    s.arrives(s.sent("open: read"))
    s.answers(s.sent("open: read"))
    s.arrives(s.sent("open: list"))
    s.answers(s.sent("open: list"))
    write = s.sent("open")
    s.arrives(write)
    s.loses(write)
    s.rest()
    s.waits(120)
    s.settles(s.two, 2)
    s.rest()
    return s


def kueue_puts_an_old_ready_back() -> Script:
    """An old Ready returns while N+1 runs: with pods behind their fence nothing of N begins."""
    s = running("kueue")
    s.moves_on(s.first)
    s.mishaps.preempt(s.first)
    s.cluster.observe(s.first)
    s.cluster.stop_pods(s.first)
    for pod in tuple(s.first.pods):
        s.cluster.pod_goes(pod)
    s.looks()
    s.requeues(s.first.run, resubmit=True)
    s.settles(s.one, 3)
    for job in s.jobs[1:]:
        s.moves_on(job)
        s.moves_on(job)
    s.settles(s.one, 3)
    for job in s.jobs[1:]:
        s.moves_on(job)
        s.moves_on(job)
    s.looks()
    s.first.stopped = False
    s.mishaps.old_ready_returns(s.first)
    s.moves_on(s.first)
    s.moves_on(s.first)
    s.looks()
    return s
