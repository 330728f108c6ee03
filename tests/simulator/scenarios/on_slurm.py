"""Ways on a Slurm-shaped cluster: late calls, requeues, holds, lost nodes."""

from __future__ import annotations

from datetime import timedelta

from tests.simulator.flight import Flight
from tests.simulator.scenarios.steps import ended, next_gated, running
from tests.simulator.script import IN_PLACE, Script


def _start_on_its_way(s: Script) -> Flight:
    """The first Start has arrived at the scheduler's host."""
    s.passes(s.one)
    return s.on_its_way("start")


def an_open_that_is_late_meets_a_requeue() -> Script:
    """A person releases the object by hand while our Open is on its way; a requeue must wait for that Open."""
    s = Script("slurm")
    s.settles(s.one)
    s.passes(s.one)
    late = s.on_its_way("open")
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
    late = s.on_its_way("requeue")
    s.loses(late)
    s.rest()
    ended(s)
    s.settles(s.one, 2)
    s.requeues(0, resubmit=True)
    s.settles(s.one, 4)
    opened = len(s.jobs) > 1 and not s.jobs[1].held
    if opened:
        s.moves_on(s.jobs[1])
    if late.request.can_land:
        s.lands(late)
    s.settles(s.one)
    s.looks()
    return s


def a_cancel_beside_a_requeue_on_its_way() -> Script:
    """A requeue lands after the first stop by name: the second stop must follow it."""
    s = running("slurm-plain")
    s.requeues(0)
    s.passes(s.one)
    late = s.on_its_way("requeue")
    s.loses(late)
    s.rest()
    s.cancels()
    s.settles(s.one, 2)
    s.cluster.processes_stop(s.first)
    s.cluster.complete(s.first)
    s.settles(s.one, 2)
    if late.request.can_land:
        s.lands(late)
    s.looks()
    s.settles(s.one, 2)
    return s


def a_cancel_beside_a_start_on_its_way() -> Script:
    """A Start whose answer was lost lands late: the clean-up is not complete before it is over."""
    s = Script("slurm")
    s.passes(s.one)
    s.passes(s.one)
    late = s.on_its_way("start")
    s.loses(late)
    s.rest()
    s.cancels()
    s.settles(s.one, 4)
    if late.request.can_land:
        s.lands(late)
    s.looks()
    s.settles(s.one)
    return s


def a_hold_that_is_placed_while_an_open_is_on_its_way() -> Script:
    """Open on its way, hold asked: an object still at its gate is not yet held."""
    s = Script("slurm")
    s.settles(s.one)
    s.passes(s.one)
    late = s.on_its_way("open")
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


def a_hold_asked_anew_before_the_last_was_released() -> Script:
    """Held while it waits in the queue, released, held again before any call: the bit must stay on."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.holds()
    s.settles(s.one, 2)
    s.releases()
    s.holds()
    s.settles(s.one)
    s.moves_on(s.first)
    s.looks()
    return s


def a_start_without_an_answer_beside_a_clock_that_is_ahead() -> Script:
    """A supervisor ten minutes ahead must not give up a Start that can still land."""
    s = Script("slurm", attempts_max=1)
    s.two.skew = timedelta(minutes=10)
    late = s.loses(_start_on_its_way(s))
    s.rest()
    s.settles(s.two, 2)
    s.lands(late)
    s.settles(s.two, 2)
    return s


def a_start_that_never_lands() -> Script:
    """Its attempt is given up once it is over; the submission is closed, and the next one takes its place."""
    s = Script("slurm", attempts_max=1)
    s.loses(_start_on_its_way(s))
    s.rest()
    s.waits(300)
    s.comes_to_rest()
    return s


def a_hold_asked_anew_while_a_release_is_on_its_way() -> Script:
    """Held in the queue and released, then held again: the release that is on its way must not undo the second hold."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.holds()
    s.settles(s.one, 2)
    s.releases()
    s.passes(s.one)
    late = s.on_its_way("release")
    s.holds()
    s.passes(s.two)
    for task in [t for t in s.world.tasks if t.flight is not late]:
        s.ends(task)
    s.passes(s.two)
    s.lands(late)
    s.moves_on(s.first)
    s.looks()
    s.rest()
    return s


def a_release_asked_while_the_hold_is_on_its_way() -> Script:
    """A run in progress is held and released before the hold has landed: nothing is released while it still can."""
    s = running("slurm")
    s.holds()
    s.passes(s.one)
    late = s.on_its_way("hold")
    s.releases()
    s.passes(s.two)
    s.passes(s.two)
    s.lands(late)
    s.rest()
    s.settles(s.two, 3)
    return s
