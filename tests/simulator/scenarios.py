"""The shortest known way in which each marked rule's absence breaks a law, played on the real code.

With the rule in place the same story breaks none. The ways were found by the exhaustive model of the protocol, by
this simulator, or are told in the design.
"""

from __future__ import annotations

from collections.abc import Callable

from adapters.simulated.trainjob import PodState
from streams.messages.values import Cause, CauseKind
from tests.simulator.moves import COMPLETED
from tests.simulator.script import IN_PLACE, Script, appends, asks_for

FAILED = Cause(kind=CauseKind.EXIT_CODE, exit_code=1, rank=0, nodes=("n1",))
Story = Callable[[], Script]


def running(shape: str, **fields: object) -> Script:
    """A job whose first object runs."""
    s = Script(shape, **fields)  # type: ignore[arg-type]
    s.settles(s.one, 3)
    s.moves_on(s.first)
    s.moves_on(s.first)
    s.settles(s.one)
    return s


def ended(s: Script, *, stays: bool = False) -> None:
    """The first object's run exits; with `stays`, its processes on a lost node live on."""
    if stays:
        s.mishaps.lose_node(s.first.executions[0].nodes[0])
    else:
        s.cluster.exit_by_itself(s.first, FAILED)
        s.cluster.complete(s.first)
        s.cluster.write_row(s.first)
    s.looks()


def next_gated(s: Script) -> None:
    """The first submission has ended, and the second's object stands at its gate, chosen."""
    s.settles(s.one)
    s.waits(70)
    s.settles(s.one, 3)


def an_open_that_is_late_meets_a_requeue() -> Script:
    """A person releases the object by hand while our Open is on its way; a requeue must wait for that Open."""
    s = Script("slurm")
    s.settles(s.one)
    s.passes(s.one)
    late = s.sent("open")
    s.arrives(late)
    s.people.release(s.first)
    s.moves_on(s.first)
    s.passes(s.two)
    s.requeues(0)
    s.passes(s.two)
    if any(t.what == "call" and t.flight is not late for t in s.world.tasks):
        s.lands(s.sent("requeue"))
        s.cluster.processes_stop(s.first)
        s.cluster.complete(s.first)
    s.lands(late)
    s.moves_on(s.first)
    s.looks()
    return s


def an_object_seen_ended_runs_again_beside_the_next() -> Script:
    """N ended and is recorded so; a person requeues it; N+1's gate must look at this pass's own Find."""
    s = running("slurm-plain")
    ended(s)
    s.settles(s.one)
    s.people.requeue(s.first)
    s.moves_on(s.first)
    s.settles(s.one, 4)
    return s


def processes_live_on_a_lost_node() -> Script:
    """N's node is lost with its processes alive; N+1's gate waits for word on them."""
    s = running("slurm")
    ended(s, stays=True)
    next_gated(s)
    for job in s.jobs[1:]:
        s.moves_on(job)
    s.looks()
    return s


def a_requeue_in_place_over_a_lost_node() -> Script:
    """The run is requeued into its gate; its processes live on a node that was lost meanwhile."""
    s = running("slurm")
    s.requeues(0)
    s.passes(s.one)
    s.lands(s.sent("requeue"))
    s.rest()
    s.mishaps.lose_node(s.first.executions[0].nodes[0])
    s.looks()
    s.settles(s.one, 3)
    s.moves_on(s.first)
    s.looks()
    return s


def a_plain_requeue_lands_late_on_an_ended_object() -> Script:
    """A requeue whose reply was lost lands after the end was seen; N+1 must not be opened beside it."""
    s = running("slurm-plain", plan=IN_PLACE)
    s.requeues(0)
    s.passes(s.one)
    late = s.sent("requeue")
    s.arrives(late)
    s.loses(late)
    s.rest()
    ended(s)
    s.settles(s.one, 2)
    s.requeues(0, resubmit=True)
    s.settles(s.one, 4)
    opened = len(s.jobs) > 1 and not s.jobs[1].held
    if opened:
        s.moves_on(s.jobs[1])
    if late.request.can_land:  # type: ignore[attr-defined]
        s.lands(late)
    s.settles(s.one)
    s.looks()
    return s


def a_cancel_beside_a_requeue_on_its_way() -> Script:
    """A requeue lands after the first stop by name: the second stop must follow it."""
    s = running("slurm-plain")
    s.requeues(0)
    s.passes(s.one)
    late = s.sent("requeue")
    s.arrives(late)
    s.loses(late)
    s.rest()
    s.cancels()
    s.settles(s.one, 2)
    s.cluster.processes_stop(s.first)
    s.cluster.complete(s.first)
    s.settles(s.one, 2)
    if late.request.can_land:  # type: ignore[attr-defined]
        s.lands(late)
    s.looks()
    s.settles(s.one, 2)
    return s


def a_cancel_beside_a_start_on_its_way() -> Script:
    """A Start whose answer was lost lands late: the clean-up is not complete before it is over."""
    s = Script("slurm")
    s.passes(s.one)
    s.passes(s.one)
    late = s.sent("start")
    s.arrives(late)
    s.loses(late)
    s.rest()
    s.cancels()
    s.settles(s.one, 4)
    if late.request.can_land:  # type: ignore[attr-defined]
        s.lands(late)
    s.looks()
    s.settles(s.one)
    return s


def a_find_made_before_the_record_is_read() -> Script:
    """Another supervisor starts an object after this one's Find: what it decides must not rest on that Find."""
    s = Script("slurm")
    s.settles(s.one)
    first = s.wakes(s.one)
    open_intent = s.until(first, appends("CallCommitted", "open"))
    assert open_intent is not None
    s.ends(first)
    s.rest()
    return s


def a_hold_that_is_placed_while_an_open_is_on_its_way() -> Script:
    """Open on its way, hold asked: an object still at its gate is not yet held."""
    s = Script("slurm")
    s.settles(s.one)
    s.passes(s.one)
    late = s.sent("open")
    s.arrives(late)
    s.holds()
    s.passes(s.two)
    s.passes(s.two)
    s.lands(late)
    s.moves_on(s.first)
    s.looks()
    s.rest()
    return s


def an_open_while_a_hold_is_in_force() -> Script:
    """A held job is not opened, where gate and hold are one bit."""
    s = Script("slurm")
    s.settles(s.one)
    s.holds()
    s.settles(s.one, 3)
    s.moves_on(s.first)
    s.looks()
    return s


def a_release_at_the_gate() -> Script:
    """A hold asked and lifted before the first Open: a release sent then would open the gate."""
    s = Script("slurm")
    s.settles(s.one, 1)
    s.holds()
    s.settles(s.one)
    s.releases()
    s.passes(s.one)
    for task in list(s.world.tasks):
        s.ends(task)
    s.moves_on(s.first)
    s.looks()
    return s


def a_history_restored_from_before_the_start() -> Script:
    """The object is there, its attempt is not: nothing is decided."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    for process in s.world.processes:
        s.world.kill(process)
    s.settles(s.one, 2)
    return s


def a_history_restored_and_the_object_unseen() -> Script:
    """Neither the attempt nor its object is seen: the pair that the agent remembers tells of it."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.mishaps.hide(s.first)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    for process in s.world.processes:
        s.world.kill(process)
    s.settles(s.one, 2)
    return s


def a_history_restored_and_grown_past_the_loss() -> Script:
    """Others append past the lost revision: a number alone would hide the loss."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    s.world.ledger.noise(40)
    for process in s.world.processes:
        s.world.kill(process)
    s.holds()
    s.releases()
    s.settles(s.one, 2)
    return s


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


def two_supervisors_and_one_revision() -> Script:
    """Both decide from one revision: the store takes one."""
    s = Script("slurm")
    first, second = s.wakes(s.one), s.wakes(s.two)
    a = s.until(first, appends("SubmissionAuthorized"))
    b = s.until(second, appends("SubmissionAuthorized"))
    s.lands(a)
    s.lands(b)
    s.ends(first)
    s.ends(second)
    s.rest()
    return s


def word_on_processes_from_before_they_lived() -> Script:
    """`ceased` was asked while the run had not begun again: the word must not cover the run that came after."""
    s = running("slurm")
    ended(s)
    task = s.wakes(s.one)
    s.until(task, asks_for("ceased"))
    s.ends(task)
    s.rest()
    return s


STORIES: dict[str, tuple[Story, tuple[str, ...]]] = {
    story.__name__: (story, mutants)
    for story, mutants in (
        (an_open_that_is_late_meets_a_requeue, ("requeue-while-an-open-may-land",)),
        (an_object_seen_ended_runs_again_beside_the_next, ("gate-by-recorded-ends",)),
        (processes_live_on_a_lost_node, ("gate-ignores-processes", "unknown-processes-taken-as-gone")),
        (a_requeue_in_place_over_a_lost_node, ("gate-ignores-earlier-runs",)),
        (a_plain_requeue_lands_late_on_an_ended_object, ("gate-ignores-requeues-and-their-ends",)),
        (a_cancel_beside_a_requeue_on_its_way, ("cancel-without-second-stop",)),
        (a_cancel_beside_a_start_on_its_way, ("clean-up-complete-while-a-start-may-land",)),
        (a_find_made_before_the_record_is_read, ("find-before-read",)),
        (a_hold_that_is_placed_while_an_open_is_on_its_way, ("hold-judged-while-a-call-may-land",)),
        (an_open_while_a_hold_is_in_force, ("gate-opens-while-held",)),
        (a_release_at_the_gate, ("release-sent-at-the-gate",)),
        (a_history_restored_from_before_the_start, ("regression-guard-off",)),
        (a_history_restored_and_the_object_unseen, ("regression-judged-without-the-floor",)),
        (a_history_restored_and_grown_past_the_loss, ("regression-judged-by-number-alone",)),
        (a_jobset_goes_beside_the_next_submission, ("ended-object-not-stopped",)),
        (pods_that_come_between_the_list_and_the_write, ("write-without-the-version",)),
        (an_admission_on_its_way_when_the_job_is_cancelled, ("stop-that-leaves-the-version",)),
        (an_undecided_admission, ("admission-number-not-raised",)),
        (kueue_puts_an_old_ready_back, ("kueue-without-the-pod-fence",)),
        (two_supervisors_and_one_revision, ("append-without-expectation",)),
    )
}

__all__ = ["COMPLETED", "STORIES", "PodState", "word_on_processes_from_before_they_lived"]
