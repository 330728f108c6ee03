"""The gate: each condition of an Open blocks alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_fields
from datetime import timedelta

import pytest
from msgspec.structs import replace

from dispatch.next_steps import gate
from streams.messages import events
from streams.messages.calls import Capabilities
from streams.messages.events import Quarantined
from streams.messages.reasons import Reason
from streams.messages.values import (
    CessationAnswer,
    Disposition,
    HoldSeen,
    NodeState,
    ObjectRef,
    Phase,
    ReplyOutcome,
    Verb,
)
from tests.unit.dispatch.scene import KUEUE, LOCAL, PLAIN, REQUEUES_ENDED, SLURM, calls, opens, situation, told
from tests.unit.projections.story import (
    CALL_BOUND_S,
    CRASHED,
    NODES,
    PREEMPTED,
    STOPPED,
    Story,
    launched,
    next_submission,
    run_once,
)

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def two_attempts(*, retired: bool = True) -> tuple[Story, ObjectRef, ObjectRef]:
    """Both replies were lost, both Starts landed, and the lower attempt is canonical; the other is retired."""
    story = Story().submitted().later(1).authorized().attempt()
    story.later(30).replied(UNKNOWN).attempt(1, 2).later(2).replied(UNKNOWN)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.later(38).seen((one, Phase.GATED), (two, Phase.GATED)).canonical(one)
    return (story.retired(two, 1, 2) if retired else story), one, two


def second_submission() -> tuple[Story, ObjectRef, ObjectRef]:
    """Submission 1 ran and was preempted; submission 2 stands at its gate. What 1 left behind is not proven gone."""
    story, first = launched()
    story.opened(first).later(60).running(first).later(900).ended(first, cause=PREEMPTED, nodes=NODES)
    second = next_submission(story, 2, "preempted", PREEMPTED, "88600")
    return story, first, second


def requeued() -> tuple[Story, ObjectRef]:
    """Run 0 crashed; the object was requeued, and stands at its gate for run 1."""
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).later(30).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).replied()
    return story.later(15).seen((ref, Phase.GATED, 1)), ref


# it opens


def test_a_gate_opens_for_the_canonical_object_that_stands_alone() -> None:
    story, ref = launched()
    assert opens(story) == [(ref, 0)]
    assert told(story)[0] == ("open", Reason.GATE_FREE)


def test_the_first_run_on_kubernetes_is_number_one() -> None:
    story = Story().submitted().later(1).authorized().attempt()
    ref = story.ref("bert-s1a1")
    story.replied(object=ref).later(1).seen((ref, Phase.GATED, 1)).canonical(ref)
    assert opens(story, PLAIN) == [(ref, 1)]


def test_a_requeued_object_is_opened_for_its_next_run() -> None:
    story, ref = requeued()
    assert opens(story) == [(ref, 1)]


def test_an_open_carries_the_hosts_deadline_and_the_clusters_bound() -> None:
    story, _ = launched()
    (opening,) = calls(story, Verb.OPEN)
    assert opening.as_of == story.at
    assert opening.deadline_at == story.after(30)
    assert opening.over_at == story.after(30 + CALL_BOUND_S)


def test_a_calls_times_are_the_hosts_and_what_has_passed_since_the_find_only_stretches_them() -> None:
    """L10: our clock is an hour ahead of the host's; a pass that took nine seconds gives nine more."""
    story, _ = launched()
    ahead = story.at + timedelta(hours=1)
    there = with_fields(situation(story), asked_at=ahead, now=ahead + timedelta(seconds=9))
    (step,) = gate.open_gate(there)
    assert isinstance(step.event, events.CallCommitted)
    assert step.event.deadline_at == story.after(9 + 30)
    back = with_fields(there, now=ahead - timedelta(hours=2))
    (step,) = gate.open_gate(back)
    assert isinstance(step.event, events.CallCommitted)
    assert step.event.deadline_at == story.after(30), "a clock that was set back shortens nothing"


# each condition blocks alone


def held(story: Story, _: ObjectRef) -> None:
    story.hold_asked()


def cancelled(story: Story, _: ObjectRef) -> None:
    story.cancelled()


def failed(story: Story, _: ObjectRef) -> None:
    story.outcome()


def quarantined(story: Story, _: ObjectRef) -> None:
    story.strange(Quarantined(why="not JSON"))


def unknown_type(story: Story, _: ObjectRef) -> None:
    story.strange(events.UnknownEvent(type="JobPaused"))


def stranger(story: Story, _: ObjectRef) -> None:
    story.seen((story.foreign(), Phase.QUEUED))


def ignored(story: Story, ref: ObjectRef) -> None:
    story.disposed(ref, Disposition.IGNORE)


def admin_hold(story: Story, ref: ObjectRef) -> None:
    story.seen(story.look(ref, Phase.GATED, hold=HoldSeen.ADMIN))


def failed_launch(story: Story, ref: ObjectRef) -> None:
    story.seen(story.look(ref, Phase.GATED, hold=HoldSeen.LAUNCH_FAILED))


def retired(story: Story, ref: ObjectRef) -> None:
    story.retired(ref)


def already_open(story: Story, ref: ObjectRef) -> None:
    story.seen((ref, Phase.QUEUED))


def absent(story: Story, ref: ObjectRef) -> None:
    story.seen(missing=(ref,))


def in_flight(story: Story, ref: ObjectRef) -> None:
    story.call(Verb.OPEN, ref, run=0)


@pytest.mark.parametrize(
    "change",
    [
        held,
        cancelled,
        failed,
        quarantined,
        unknown_type,
        stranger,
        ignored,
        admin_hold,
        failed_launch,
        retired,
        already_open,
        absent,
        in_flight,
    ],
)
def test_the_gate_stays_shut(change: Callable[[Story, ObjectRef], None]) -> None:
    story, ref = launched()
    assert opens(story) == [(ref, 0)]
    change(story.later(1), ref)
    assert opens(story) == []


def test_a_read_only_cluster_is_never_opened() -> None:
    story, ref = launched()
    assert opens(story, replace(SLURM, read_only=True)) == []
    assert opens(story) == [(ref, 0)]


@pytest.mark.parametrize("able", [SLURM, LOCAL, KUEUE], ids=lambda able: able.kind)
def test_a_hold_in_force_keeps_the_gate_shut_on_every_kind_of_cluster(able: Capabilities) -> None:
    run = able.first_run
    story = Story().submitted().later(1).authorized().attempt()
    ref = story.ref("88213")
    story.replied(object=ref).later(1).seen((ref, Phase.GATED, run)).canonical(ref)
    assert opens(story, able) == [(ref, run)]
    assert opens(story.hold_asked(), able) == []
    assert opens(story.hold_lifted().later(1).seen(), able) == [(ref, run)]


def test_a_duplicate_is_retired_before_the_gate_opens() -> None:
    story = Story().submitted().later(1).authorized().attempt()
    story.later(30).replied(UNKNOWN).attempt(1, 2).later(2).replied(UNKNOWN)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.later(9).seen((one, Phase.GATED)).later(1).ended(two, cause=STOPPED).canonical(one)
    assert told(story) == [("ObjectRetired", Reason.DUPLICATE)]
    assert opens(story.retired(two, 1, 2)) == [(one, 0)]


def test_a_retired_duplicate_keeps_the_gate_shut_until_it_is_seen_ended() -> None:
    story, one, two = two_attempts()
    assert told(story) == [("stop", Reason.RETIRED)]
    story.call(Verb.STOP, two, Reason.RETIRED).replied().later(9)
    assert opens(story) == []
    assert opens(story.ended(two, cause=STOPPED)) == [(one, 0)]


def test_a_duplicate_that_a_person_ignores_does_not_keep_the_gate_shut() -> None:
    story, one, two = two_attempts(retired=False)
    story.seen(missing=(two,)).disposed(two, Disposition.IGNORE)
    assert opens(story) == [(one, 0)]


def test_an_absent_duplicate_is_no_ended_one() -> None:
    story, one, two = two_attempts()
    assert opens(story.seen(missing=(two,))) == []
    assert opens(story.disposed(two, Disposition.GONE)) == [(one, 0)]


def test_a_duplicate_verified_stopped_lets_the_gate_open() -> None:
    story, one, two = two_attempts()
    story.call(Verb.STOP, two, Reason.RETIRED).replied().later(9).seen(missing=(two,)).verified(two)
    assert opens(story) == [(one, 0)]


def test_the_gate_of_the_next_submission_waits_for_proof_that_the_earlier_is_gone() -> None:
    story, first, second = second_submission()
    assert opens(story) == []
    story.ceased(first, answer=CessationAnswer.MAY_RUN, nodes=(NodeState(node="n15", may_run=("88213.0",)),))
    assert opens(story) == []
    assert opens(story.ceased(first)) == [(second, 0)]


def test_a_proven_end_of_an_object_that_is_no_longer_shown_still_counts() -> None:
    story, first, second = second_submission()
    assert opens(story.ceased(first), hides=(first,)) == [(second, 0)]


def test_a_recorded_end_never_hides_what_this_find_shows_alive() -> None:
    story, first, second = second_submission()
    story.ceased(first)
    assert opens(story) == [(second, 0)]
    assert opens(story, shows=(story.look(first, Phase.QUEUED, 1),)) == []


def test_an_object_that_this_find_shows_and_nobody_recorded_keeps_the_gate_shut() -> None:
    story, ref = launched()
    assert opens(story, shows=(story.look(story.foreign(), Phase.GATED),)) == []
    assert opens(story) == [(ref, 0)]


def test_only_the_newest_submission_is_opened() -> None:
    story, _ = launched()
    story.later(5).append(
        events.SubmissionAuthorized(submission=2, rule="person", budget_key="person/c-9", not_before_at=story.at)
    )
    assert opens(story) == []
    assert ("stop", Reason.PERSON_RESUBMIT) in told(story)


def test_a_foreign_object_that_ran_is_proven_gone_or_ignored_before_the_gate_opens() -> None:
    story, ref = launched()
    other = story.foreign()
    story.seen((other, Phase.RUNNING)).later(9).ended(other, nodes=("n14",))
    assert opens(story) == []
    assert opens(story.disposed(other, Disposition.IGNORE)) == [(ref, 0)]


def test_an_earlier_run_of_the_object_is_proven_gone_before_the_next_begins() -> None:
    story, ref = launched()
    story.opened(ref).later(30).running(ref).later(99).ended(ref, cause=CRASHED, nodes=NODES)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).replied()
    story.later(15).seen((ref, Phase.GATED, 1))
    assert opens(story, REQUEUES_ENDED) == []
    assert opens(story.ceased(ref), REQUEUES_ENDED) == [(ref, 1)]


def test_the_gate_waits_until_no_requeue_of_its_object_can_land_any_more() -> None:
    """A late one would end the run that the Open begins. This one has no reply, though its work is seen."""
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).later(15)
    story.seen((ref, Phase.GATED, 1)).ceased(ref)
    assert opens(story) == []
    assert opens(story.later(CALL_BOUND_S + 15)) == [(ref, 1)]


def test_the_gate_waits_until_no_requeue_of_another_object_can_land_any_more() -> None:
    """A late one would revive what was seen ended."""
    story, first, second = second_submission()
    story.ceased(first)
    assert opens(story) == [(second, 0)]
    story, first = launched()
    story.opened(first).later(60).running(first)
    story.requeue_authorized(first, 0, cause=None).call(Verb.REQUEUE, first, Reason.REQUEUE_DUE, run=0)
    story.later(9).ended(first, cause=PREEMPTED, nodes=NODES)
    second = next_submission(story, 2, "preempted", PREEMPTED, "88600")
    story.ceased(first)
    assert opens(story) == []
    story.later(CALL_BOUND_S + 60).seen()
    assert opens(story) == [], "an end seen while the requeue could land does not count"
    assert opens(story.ended(first, cause=PREEMPTED, nodes=NODES)) == [(second, 0)]


def test_a_lifted_hold_is_released_before_the_gate_opens() -> None:
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).hold_asked()
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",)).replied()
    story.later(5).seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER)).hold_lifted().later(3600)
    assert told(story) == [("release", Reason.HOLD_LIFTED)]


def test_a_lifted_hold_that_was_never_sent_needs_no_release() -> None:
    """The Open was lost, then a hold came and went: nothing of ours is on the object."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).later(CALL_BOUND_S + 31).seen().hold_asked().later(5).seen().hold_lifted()
    assert opens(story.later(30).seen()) == [(ref, 0)]


def test_on_kubernetes_an_ended_object_keeps_the_gate_shut_until_it_cannot_run_again() -> None:
    """A failed TrainJob whose JobSet goes runs again; suspended, with its controllers aware of it, it does not (L4)."""
    story = Story().submitted().later(1).authorized().attempt()
    first = story.ref("bert-s1a1")
    story.replied(object=first).later(1).seen((first, Phase.GATED, 1)).canonical(first).opened(first, 1)
    story.later(9).running(first, 1).later(99).ended(first, 1, PREEMPTED, nodes=NODES).ceased(first, 1)
    story.authorized(2, "preempted", "preempted/1.1", PREEMPTED).attempt(2)
    second = story.ref("bert-s2a1", 2)
    story.replied(object=second).later(1).seen((second, Phase.GATED, 1)).canonical(second, 2)
    assert opens(story, PLAIN) == []
    assert told(story, PLAIN) == [("stop", Reason.CAN_RUN_AGAIN)]
    story.call(Verb.STOP, first, Reason.CAN_RUN_AGAIN).replied()
    assert opens(story, PLAIN) == [], "the stop was done, and the controllers have not seen it yet"
    assert opens(story.later(2).ended(first, 1, PREEMPTED, nodes=NODES, end_final=True), PLAIN) == [(second, 1)]


# words


def test_every_condition_says_what_it_waits_for() -> None:
    story, _, _ = second_submission()
    story.hold_asked().outcome(submission=2)
    there = situation(story)
    assert there.canonical is not None
    waits = {c.name: c.waits_for for c in gate.conditions(there, there.canonical) if not c.holds}
    assert waits == {
        "the job is meant to run": ("the job has an outcome", "hold c-2h4w is in force"),
        "their processes are gone": ("1.0 may be alive on n14, n15",),
    }
