"""Ways to an end that is none: a call that lands after it, a run that follows it."""

from __future__ import annotations

from tests.simulator.moves import COMPLETED
from tests.simulator.scenarios.steps import running
from tests.simulator.script import Script


def an_end_seen_while_a_requeue_can_land() -> Script:
    """A requeue has passed its deadline check and not landed: until CallBound is over, an end that is seen is none."""
    s = running("slurm-plain")
    s.requeues(0)
    s.passes(s.one)
    late = s.sent("requeue")
    s.waits(25)
    s.arrives(late)
    s.loses(late)
    s.rest()
    s.cluster.exit_by_itself(s.first, COMPLETED)
    s.cluster.complete(s.first)
    s.cluster.write_row(s.first)
    s.settles(s.one, 2)
    s.waits(10)
    s.settles(s.one, 4)
    assert late.request.can_land
    s.lands(late)
    s.looks()
    s.waits(120)
    s.settles(s.one, 4)
    return s


def a_requeue_lands_in_the_gate() -> Script:
    """What was requeued waits at its gate until it is opened anew."""
    s = running("slurm")
    s.requeues(0)
    s.passes(s.one)
    s.lands(s.sent("requeue"))
    s.cluster.processes_stop(s.first)
    s.cluster.complete(s.first)
    s.moves_on(s.first)
    s.looks()
    s.rest()
    return s


def a_cancel_of_a_run_that_ends_slowly() -> Script:
    """Stopped twice, and still on its way out: the clean-up is not complete."""
    s = running("slurm")
    s.cancels()
    s.settles(s.one, 5)
    s.looks()
    s.cluster.processes_stop(s.first)
    s.cluster.complete(s.first)
    s.cluster.write_row(s.first)
    s.settles(s.one, 2)
    return s


def a_run_that_goes_on_after_word_on_its_processes() -> Script:
    """Out of sight a run is evicted, is told gone, and is admitted again under its number: the word covers it no more."""
    s = Script("kueue")
    s.settles(s.one)
    while not s.first.workload.ready:
        s.settles(s.one)
        s.cluster.reserve_quota(s.first)
    s.mishaps.hide(s.first)
    s.moves_on(s.first)
    s.moves_on(s.first)
    s.mishaps.preempt(s.first)
    s.cluster.observe(s.first)
    s.cluster.stop_pods(s.first)
    for pod in tuple(s.first.pods):
        s.cluster.pod_goes(pod)
    s.looks()
    s.settles(s.one, 2)
    s.mishaps.old_ready_returns(s.first)
    s.mishaps.show(s.first)
    s.moves_on(s.first)
    s.moves_on(s.first)
    s.looks()
    s.settles(s.one)
    return s
