"""Rules that runs of the seed seldom ask for: what a plan answers, holds that end a run, limits that pass."""

from __future__ import annotations

from msgspec.structs import replace

from streams.messages import commands
from streams.messages.plan import ANY, Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.values import CauseKind, Disposition, Outcome, Verb
from tests.simulator.scenarios.of_people import accepted
from tests.simulator.scenarios.steps import FAILED, ended, next_gated, running
from tests.simulator.script import IN_PLACE, Script

LATER = RecoveryPlan(
    rules=(PlanRule(name="retry", on=(ANY,), do=PlanAction.REQUEUE, budget=5, backoff=Backoff(first=60.0)),)
)


def sent(s: Script, verb: Verb) -> int:
    """How many calls of this verb the history holds."""
    return sum(call.verb is verb for call in s.world.watch.record.calls.values())


def gated_again(s: Script) -> None:
    """The run's processes stop, and a requeue is complete."""
    s.cluster.processes_stop(s.first)
    s.cluster.complete(s.first)
    s.settles(s.one)


def a_run_that_never_started() -> Script:
    """Opened, it waits for nodes past `start_within`: stopped, and its end says that it never started."""
    s = Script("slurm", start_within=120)
    s.settles(s.one, 3)
    s.waits(200)
    s.settles(s.one, 2)
    assert any(call.reason is Reason.START_WITHIN for call in s.world.watch.record.calls.values())
    s.cluster.write_row(s.first)
    s.waits(70)
    s.settles(s.one, 2)
    causes = [submission.cause for submission in s.world.watch.record.submissions if submission.cause is not None]
    assert [cause.kind for cause in causes] == [CauseKind.NEVER_STARTED]
    return s


def a_hold_that_ends_the_run() -> Script:
    """A requeue into the gate is authorized with the hold, once; then the job stands at its gate."""
    s = running("slurm")
    s.holds(now=True)
    s.settles(s.one, 2)
    gated_again(s)
    s.settles(s.one, 2)
    assert sent(s, Verb.REQUEUE) == 1
    s.releases()
    s.settles(s.one, 2)
    return s


def a_hold_that_meets_a_requeue_already_asked() -> Script:
    """The requeue ends the run; a second one is not authorized for the hold."""
    s = running("slurm")
    s.requeues(0)
    s.holds(now=True)
    s.settles(s.one, 2)
    assert len(s.world.watch.record.requeues) == 1
    return s


def a_hold_lifted_after_the_run_was_requeued() -> Script:
    """The object is back at its gate, which is the same bit: no release is sent."""
    s = running("slurm")
    s.holds()
    s.settles(s.one, 2)
    s.requeues(0)
    s.settles(s.one)
    gated_again(s)
    s.releases()
    s.settles(s.one, 2)
    assert sent(s, Verb.RELEASE) == 0
    return s


def a_release_that_begins_a_run() -> Script:
    """Plain Kubeflow: held once, opened in vain and held again, an object is let run by its release, as by an Open."""
    s = Script("kubeflow")
    s.settles(s.one, 3)
    s.holds()
    s.settles(s.one)
    s.cluster.observe(s.first)
    s.settles(s.one)
    s.releases()
    s.settles(s.one)
    s.waits(40)
    s.passes(s.one)
    for request in ("open: read", "open: list"):
        s.looks_through(request)
    s.world.orphans.remove(s.loses(s.sent("open")))
    s.rest()
    s.holds()
    s.waits(60)
    s.settles(s.one)
    stranger = s.people.submit(s.world.name)
    s.releases()
    s.settles(s.one, 2)
    assert sent(s, Verb.RELEASE) == 0
    accepted(s, commands.Dispose(**s.base(), target=stranger.ref, disposition=Disposition.IGNORE))
    s.settles(s.one)
    assert sent(s, Verb.RELEASE) == 1
    s.moves_on(s.first)
    s.settles(s.one)
    return s


def a_release_beside_an_administrators_hold() -> Script:
    """It is refused, and not asked again at once."""
    s = Script("slurm")
    s.settles(s.one, 3)
    s.holds()
    s.settles(s.one, 2)
    s.people.hold(s.first, admin=True)
    s.releases()
    s.settles(s.one, 4)
    assert sent(s, Verb.RELEASE) == 1
    return s


def an_end_while_retries_are_off() -> Script:
    """The plan has a rule for it; nothing follows until a person turns retries on again."""
    s = running("slurm")
    off = commands.SetControls(**s.base_of_controls(), retries=commands.Retries.OFF)
    accepted(s, off)
    ended(s)
    s.settles(s.one, 2)
    assert len(s.world.watch.record.submissions) == 1
    accepted(s, commands.SetControls(**s.base_of_controls(), retries=commands.Retries.ON))
    s.settles(s.one, 2)
    assert len(s.world.watch.record.submissions) == 2
    return s


def preempted(plan: RecoveryPlan) -> Script:
    """Kueue took its quota back while it ran; its pods have gone, and it stands at its gate again."""
    s = running("kueue", plan=plan)
    for _ in range(3):
        s.moves_on(s.first)
        s.settles(s.one)
    s.mishaps.preempt(s.first)
    for _ in range(4):
        s.moves_on(s.first)
        for pod in tuple(s.first.pods):
            s.cluster.pod_goes(pod)
        s.settles(s.one)
    return s


def a_preempted_object_that_came_back() -> Script:
    """Kueue suspends what it preempts: the plan's requeue needs no call, the next run opens at the gate."""
    s = preempted(IN_PLACE)
    assert len(s.world.watch.record.submissions) == 1
    assert len(s.world.watch.record.requeues) == 1
    return s


def a_requeue_that_comes_to_nothing() -> Script:
    """The object was purged meanwhile: the end that paid for it has a new submission instead."""
    s = running("slurm-plain", plan=IN_PLACE)
    ended(s)
    s.passes(s.one)
    s.passes(s.one)
    s.cluster.purge(s.first)
    s.rest()
    s.settles(s.one, 3)
    assert len(s.world.watch.record.submissions) == 2
    assert s.world.watch.record.outcome is None or s.world.watch.record.outcome.outcome is Outcome.FAILED
    return s


def a_retry_in_place_that_waits() -> Script:
    """Its rule has a backoff: the gate stays shut until it has passed."""
    s = preempted(LATER)
    opened = s.first.a
    for seconds, more in ((40, 0), (40, 1)):
        s.waits(seconds)
        s.settles(s.one, 2)
        s.moves_on(s.first)
        assert s.first.a == opened + more
    return s


def a_failed_launch_is_not_run_again_in_place() -> Script:
    """The object came back with the scheduler's own hold, which no Open of ours lifts: the plan's requeue is a resubmit."""
    s = running("slurm", plan=IN_PLACE)
    s.mishaps.launch_fails(s.first)
    s.settles(s.one, 2)
    assert len(s.world.watch.record.submissions) == 2
    return s


def a_hold_that_ended_a_run_meets_another_by_hand() -> Script:
    """Its requeue was carried out; what somebody releases at the scheduler is stopped, not requeued again."""
    s = running("slurm")
    s.holds(now=True)
    s.settles(s.one, 2)
    gated_again(s)
    s.people.release(s.first)
    s.moves_on(s.first)
    s.settles(s.one, 2)
    assert (sent(s, Verb.REQUEUE), sent(s, Verb.STOP)) == (1, 1)
    return s


def a_hold_lifted_on_an_object_that_came_back_held() -> Script:
    """The scheduler requeued it, our hold on it: gate and hold are one bit, so no release opens it, but its Open."""
    s = running("slurm")
    s.requeues(0)
    s.settles(s.one)
    gated_again(s)
    s.settles(s.one)
    s.moves_on(s.first)
    s.settles(s.one)
    s.holds()
    s.settles(s.one, 2)
    s.requeues(1)
    s.passes(s.one)
    late = s.on_its_way("requeue")
    s.world.orphans.remove(s.loses(late))
    s.rest()
    s.mishaps.own_requeue(s.first)
    gated_again(s)
    s.waits(90)
    s.settles(s.one)
    s.releases()
    s.settles(s.one, 3)
    assert sent(s, Verb.RELEASE) == 0
    return s


def two_ends_that_are_not_the_same_failure() -> Script:
    """Soon after the start, each with an exit of its own: the retries go on."""
    s = running("slurm")
    ended(s)
    next_gated(s)
    s.moves_on(s.jobs[1])
    s.settles(s.one)
    s.cluster.exit_by_itself(s.jobs[1], replace(FAILED, exit_code=2, nodes=("n2",)))
    s.cluster.complete(s.jobs[1])
    s.cluster.write_row(s.jobs[1])
    s.settles(s.one, 2)
    assert len(s.world.watch.record.submissions) == 3
    return s


TOLD = (
    a_run_that_never_started,
    a_hold_that_ends_the_run,
    a_hold_that_meets_a_requeue_already_asked,
    a_hold_lifted_after_the_run_was_requeued,
    a_release_that_begins_a_run,
    a_release_beside_an_administrators_hold,
    an_end_while_retries_are_off,
    a_preempted_object_that_came_back,
    a_requeue_that_comes_to_nothing,
    a_retry_in_place_that_waits,
    a_failed_launch_is_not_run_again_in_place,
    a_hold_that_ended_a_run_meets_another_by_hand,
    a_hold_lifted_on_an_object_that_came_back_held,
    two_ends_that_are_not_the_same_failure,
)
