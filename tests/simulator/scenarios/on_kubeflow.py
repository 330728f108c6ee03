"""Ways on a Kubeflow-shaped cluster: admissions, pods that come and go late, objects that run again."""

from __future__ import annotations

from tests.simulator.flight import CallFlight
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
    s.looks_through("open: read")
    s.looks_through("open: list")
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


def admitting(s: Script) -> CallFlight:
    """The first object's admission has read, listed, and is on its way to be written."""
    s.settles(s.one)
    s.passes(s.one)
    for look in ("open: read", "open: list"):
        s.looks_through(look)
    return s.on_its_way("open")


def an_admission_on_its_way_when_its_submission_is_replaced() -> Script:
    """A person resubmits: the stop of N must make N's admission fail, or N runs beside N+1."""
    s = Script("kubeflow-unfenced")
    write = admitting(s)
    s.loses(write)
    s.requeues(1, resubmit=True)
    s.settles(s.two, 4)
    for job in s.jobs[1:]:
        s.moves_on(job)
    s.lands(write)
    s.moves_on(s.first)
    s.looks()
    return s


def an_object_stopped_before_its_controllers_have_seen_it() -> Script:
    """Admitted and stopped at once: controllers that lag create its pods after that."""
    s = Script("kubeflow-unfenced")
    s.settles(s.one, 2)
    s.cluster.observe(s.first)
    s.cancels()
    s.settles(s.one, 6)
    s.cluster.create_pods(s.first)
    for pod in tuple(s.first.pods):
        s.cluster.bind(pod)
    s.looks()
    return s


def a_foreign_pod_that_only_the_list_shows() -> Script:
    """A person creates an object under our label after our Find: its pods keep the admission back."""
    s = Script("kubeflow-unfenced")
    s.settles(s.one)
    s.passes(s.one)
    s.looks_through("open: read")
    foreign = s.people.submit(s.world.name)
    s.people.release(foreign)
    s.moves_on(foreign)
    s.looks()
    s.rest()
    return s


def a_pod_that_comes_and_is_told_to_stop_before_the_read() -> Script:
    """Flipped by hand before the version is read: what still stops is in the list, if that comes after."""
    s = Script("kubeflow-unfenced")
    s.settles(s.one)
    s.passes(s.one)
    if any(t.flight is not None and t.flight.request.verb == "open: list pods" for t in s.world.tasks):  # type: ignore[attr-defined]
        s.looks_through("open: list")
    s.people.release(s.first)
    s.moves_on(s.first)
    s.people.hold(s.first)
    s.cluster.observe(s.first)
    s.cluster.stop_pods(s.first)
    s.looks()
    s.rest()
    return s


def kueue_admits_an_evicted_object_again() -> Script:
    """Evicted and admitted again by Kueue with the A of before, while a pod of it is still stopping."""
    s = running("kueue", nodes=2)
    for _ in range(3):
        s.settles(s.one)
        s.moves_on(s.first)
    s.mishaps.preempt(s.first)
    s.cluster.observe(s.first)
    s.cluster.stop_pods(s.first)
    s.cluster.pod_goes(s.first.pods[0])
    s.mishaps.old_ready_returns(s.first)
    s.looks()
    s.moves_on(s.first)
    s.moves_on(s.first)
    s.looks()
    return s


def an_undecided_admission() -> Script:
    """The write's answer is lost: what follows is a new A, never the same one again."""
    s = Script("kubeflow-unfenced")
    write = admitting(s)
    s.loses(write)
    s.rest()
    s.waits(120)
    s.settles(s.two, 2)
    s.rest()
    return s
